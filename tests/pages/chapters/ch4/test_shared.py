"""Networks that learn side by side, drawn over their steps."""

import pytest

from lamina.drawing.scene import Path, Text
from lamina.pages.chapters.ch4._shared import race_chart


def test_only_what_was_measured_is_drawn():
    rows = [
        {"plain": {"step": 0, "loss": 1.0}, "residual": {"step": 0, "loss": 0.5}},
        {"plain": {"step": 10, "loss": 0.0}, "residual": {"step": 10}},
        {"plain": {"step": 20, "loss": 0.5}},
    ]
    drawn = race_chart(rows, {"plain": "line1", "residual": "line2"}, "loss", until=40, y_label="loss", y_range=(0, 1))
    lines = {shape.title: shape for shape in drawn.shapes if isinstance(shape, Path) and shape.title}
    at = {shape.content: shape.at for shape in drawn.shapes if isinstance(shape, Text)}
    steps, losses = lines["plain"].points, [at[name][1] for name in ("1.00", "0.00", "0.50")]
    assert [x for x, _ in steps] == pytest.approx([at[name][0] for name in ("0", "10", "20")])
    assert [y for _, y in steps] == pytest.approx(losses)
    assert lines.keys() == {"plain"}  # one measurement of the other is no line
    assert lines["plain"].stroke.color == "line1" and {"plain", "residual"} <= at.keys()
