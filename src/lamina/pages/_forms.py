"""Which form of a drawing a page shows, the wide or the narrow one: by the size of its place, in the style sheet."""

from lamina.drawing.scene import Scene
from lamina.drawing.svg import svg

STEPS = range(140, 841, 20)
"""The widths and heights in CSS pixels below which the narrow form can be shown."""


def _below(length: float) -> int:
    """Choose the step nearest to a length.

    >>> _below(371.0), _below(10.0)
    (380, 140)
    """
    return min(STEPS, key=lambda step: abs(step - length))


def drawn(scene: Scene) -> str:
    """Write a scene for a page, in both forms where it can be drawn narrower.

    >>> from lamina.drawing.charts import Series, chart
    >>> drawn(chart([Series("", [0, 1], [0, 1])], width=430, height=240)).count("<svg")
    2
    """
    wide = svg(scene, theme="page")
    if scene.narrower is None:
        return wide
    steps = f"data-wide='{_below(0.88 * scene.width)}' data-high='{_below(0.82 * scene.height)}'"
    forms = (("wide", wide), ("narrow", svg(scene.narrower(), theme="page")))
    return "".join(text.replace("<svg", f"<svg class='{name}' {steps}", 1) for name, text in forms)


def rules() -> str:
    """Write the rules that show the narrow form of a drawing where its place is smaller than its step.

    >>> rules().splitlines()[0][:74]
    "@container (max-width: 140px) { .wide[data-wide='140'] { display: none !im"
    """
    return "\n".join(
        f"@container (max-{side}: {step}px) {{ .wide[data-{kind}='{step}'] {{ display: none !important; }} "
        f".narrow[data-{kind}='{step}'] {{ display: block !important; }} }}"
        for side, kind in (("width", "wide"), ("height", "high"))
        for step in STEPS
    )
