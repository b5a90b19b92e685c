"""The drawing of the page on the perceptron: one neuron with live numbers."""

from collections.abc import Sequence

from lamina.drawing.scene import Circle, Path, Scene, Shape, Stroke, Text


def live_neuron(
    inputs: Sequence[float], weights: Sequence[float], bias: float, total: float, answer: float, activation: str
) -> Scene:
    """Draw one neuron with its numbers: inputs on the left, weights on the arrows, the answer on the right.

    The width of an arrow grows with its weight; negative weights are blue, positive ones red.

    >>> live_neuron([1.0], [2.0], 0.5, 2.5, 2.5, "identity").title
    'one neuron'
    """
    height = 74.0 * len(inputs) + 16
    middle = height / 2
    shapes: list[Shape] = []
    for i, (u, w) in enumerate(zip(inputs, weights, strict=True)):
        y = 45 + 74.0 * i
        color = "positive" if w >= 0 else "negative"
        stroke = Stroke(color, 0.8 + 1.6 * min(3.0, abs(w)), opacity=0.9)
        shapes.append(Path(((64, y), (226, middle + (y - middle) * 0.18)), stroke, "end"))
        shapes.append(Circle((40, y), 24, "input!18", Stroke("input", 1.6)))
        shapes.append(Text((40, y), _number(u), 13, "ink", "middle"))
        shapes.append(Text((12, y - 26), f"$u_{{{i + 1}}}$", 12, "muted", "middle"))
        arrow = y + 0.82 * (middle - y) * (104 - 64) / (226 - 64)
        place = (104.0, arrow + (14 if y > middle else -14))
        shapes.append(Text(place, f"$W_{{{i + 1}}}$ = {_number(w)}", 12, color, "start"))
    shapes.append(Circle((262, middle), 36, "hidden!14", Stroke("hidden", 1.6)))
    shapes.append(Text((262, middle), f"$z$ = {_number(total)}", 12, "ink", "middle"))
    shapes.append(Text((262, middle - 50), f"$b$ = {_number(bias)}", 12, "muted", "middle"))
    shapes.append(Path(((298, middle), (378, middle)), Stroke("arrow", 1.6), "end"))
    shapes.append(Text((336, middle - 15), activation, 12, "activation", "middle"))
    shapes.append(Circle((406, middle), 28, "output!16", Stroke("output", 1.6)))
    shapes.append(Text((406, middle), _number(answer), 13, "ink", "middle"))
    shapes.append(Text((406, middle - 42), "$y$", 12, "muted", "middle"))
    words = f"inputs {inputs}, weights {weights}, bias {bias}, sum {total:.3g}, answer {answer:.3g}"
    return Scene(444.0, height, tuple(shapes), "one neuron", words)


def _number(value: float) -> str:
    """Write a number with at most two decimals.

    >>> _number(-1.5), _number(2.0), _number(0.001)
    ('−1.5', '2', '0')
    """
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return ("0" if text in ("-0", "") else text).replace("-", "−")
