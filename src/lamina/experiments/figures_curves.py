"""Figures of the notes that show functions: activations, a loss with two minima, OR and XOR, cross entropy."""

from itertools import islice

import torch

from lamina._types import Float, Tensor
from lamina.architectures.logic import logic_gate
from lamina.architectures.perceptron import Perceptron
from lamina.data.synthetic import truth_table
from lamina.drawing.charts import Band, Note, Series, chart
from lamina.drawing.panels import lettered, panels
from lamina.drawing.scene import Scene, beside
from lamina.functional import optimizers
from lamina.functional.activations import heaviside, leaky_relu, relu, sigmoid, tanh
from lamina.functional.losses import cross_entropy_cases

F64 = torch.float64


def activation_panels() -> Scene:
    """Draw the five activation functions of the notes on [-5, 5]; the jump of the first one is left open.

    Notes: N1.09 (§1, Fig. 3).
    """
    left, right = torch.linspace(-5, -1e-9, 2, dtype=F64), torch.linspace(0, 5, 2, dtype=F64)
    whole = torch.linspace(-5, 5, 201, dtype=F64)
    cases = (
        ("Heaviside", heaviside, (left, right)),
        ("sigmoid", sigmoid, (whole,)),
        ("tanh", tanh, (whole,)),
        ("ReLU", relu, (whole,)),
        (r"leaky ReLU, $\alpha = 0.1$", leaky_relu, (whole,)),
    )
    scenes = []
    for number, (name, function, pieces) in enumerate(cases):
        lines = [Series("", part.tolist(), function(part).tolist(), "line1", size=2.4) for part in pieces]
        marks = (
            [Series("", [0.0], [0.0], "line1", "ring", size=3.4), Series("", [0.0], [1.0], "line1", size=3.8)]
            if function is heaviside
            else []
        )
        scenes.append(
            chart(
                lines, marks, title=lettered(number, name), x_range=(-5, 5), y_range=(-1.5, 1.5),
                x_label="$y$", y_label=r"$\sigma(y)$", width=270, height=210,
            )
        )  # fmt: skip
    return panels(scenes, 3, title="Popular activation functions")


def sigmoid_plot() -> Scene:
    """Draw the sigmoid as the output activation of two classes: it stays between 0 and 1.

    Notes: N2.48 (§2.4).
    """
    y = torch.linspace(-5, 5, 201, dtype=F64)
    return chart(
        [Series("", y.tolist(), sigmoid(y).tolist(), "line1", size=2.4)],
        x_range=(-5, 5),
        y_range=(-0.25, 1.25),
        x_label="$y$",
        y_label=r"$\sigma(y) = 1 / (1 + e^{-y})$",
        description="The sigmoid rises from 0 to 1 and has the value one half at 0.",
        width=460,
        height=280,
    )


def two_minima_loss(theta: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    r"""Compute $\theta^4 - 2 \theta^2 + \theta / 2$, a loss with a local and a global minimum.

    >>> two_minima_loss(torch.tensor([0.0, 1.0])).tolist()
    [0.0, -0.5]
    """
    return theta**4 - 2 * theta**2 + theta / 2


def descents(starts: tuple[float, ...] = (-1.5, 1.5), steps: int = 300) -> Float[Tensor, "step start"]:
    """Follow gradient descent with step size 0.02 on `two_minima_loss` from several starts.

    Notes: N1.51 (§1.3, Fig. 5).

    >>> [round(end, 4) for end in descents()[-1].tolist()]
    [-1.0575, 0.9304]
    """
    row, hyper = optimizers.OPTIMIZERS["gd"], optimizers.GradientDescent(0.02)

    def gradient(params: optimizers.Params) -> optimizers.Params:
        t = params["t"]
        return {"t": 4 * t**3 - 4 * t + 0.5}

    path = optimizers.iterates(gradient, {"t": torch.tensor(starts, dtype=F64)}, row, hyper)
    return torch.stack([params["t"] for params in islice(path, steps + 1)])


def local_minimum() -> Scene:
    """Draw a loss with a local and a global minimum, and two descents that end in one of them each.

    Notes: N1.51 (§1.3, Fig. 5).
    """
    theta = torch.linspace(-1.65, 1.65, 201, dtype=F64)
    path = descents()
    ends = path[-1].tolist()
    heights = two_minima_loss(path)
    points = [
        Series(
            f"gradient descent from {_minus(start, 'g')}",
            path[:40, i].tolist(),
            heights[:40, i].tolist(),
            color,
            size=2.6,
        )
        for i, (start, color) in enumerate(((-1.5, "line3"), (1.5, "line5")))
    ]
    points.append(Series("", ends, heights[-1].tolist(), "line2", size=4.5))
    notes = [
        Note(end, height, f"{kind} ({_minus(end, '.2f')}, {_minus(height, '.2f')})", (0, 17))
        for end, height, kind in zip(ends, heights[-1].tolist(), ("global minimum", "local minimum"), strict=True)
    ]
    return chart(
        [Series("", theta.tolist(), two_minima_loss(theta).tolist(), "line1", size=2.2)],
        points,
        notes=notes,
        x_label=r"$\theta$",
        y_label=r"$\mathscr{L}(\theta) = \theta^4 - 2 \theta^2 + \theta / 2$",
        x_range=(-1.7, 1.7),
        y_range=(-2, 2),
        description="A curve with two valleys; descents from both sides end in the valley that is nearer.",
        width=520,
        height=320,
    )


def _minus(value: float, form: str) -> str:
    return format(value, form).replace("-", "−")


def separability() -> Scene:
    """Draw the truth tables of OR and XOR as points: one line separates the values of OR, none those of XOR.

    Notes: N1.79 (§1.6, Fig. 9).
    """
    return beside(_gate("or", lettered(0, "OR")), _gate("xor", lettered(1, "XOR")), title="OR and XOR")


def _or_line() -> tuple[tuple[float, float], float]:
    """Give weights and bias of a neuron that computes OR and keeps away from all four points."""
    gate = logic_gate("or", robust=True)
    assert isinstance(gate, Perceptron)
    first, second = gate.affine.weight.detach()[0].tolist()
    return (first, second), gate.affine.bias.detach().item()


def _gate(name: str, title: str) -> Scene:
    table = truth_table(name)
    groups = [table.inputs[table.targets == value] for value in (0, 1)]
    marks = [
        Series(f"value {value}", points[:, 0].tolist(), points[:, 1].tolist(), color, style, size=7.0)
        for value, points, color, style in zip((0, 1), groups, ("line1", "line2"), ("ring", "dot"), strict=True)
    ]
    lines, bands, ends = [], [], [-0.5, 1.5]
    if name == "or":
        (first, second), bias = _or_line()
        heights = [-(bias + first * x) / second for x in ends]
        lines = [Series("separating line", ends, heights, "line3", size=2.2)]
        bands = [
            Band("", ends, heights, [1.5, 1.5], "line2", 0.10),
            Band("", ends, [-0.5, -0.5], heights, "line1", 0.10),
        ]
    return chart(
        lines, marks, bands=bands, title=title, x_label="$u_1$", y_label="$u_2$", x_range=(-0.4, 1.4),
        y_range=(-0.4, 1.4), width=300, height=320,
    )  # fmt: skip


def cross_entropy() -> Scene:
    """Draw binary cross entropy over the predicted probability for both labels, each other's mirror image.

    Notes: N2.53 (§2.4, Fig. 13).
    """
    y = torch.linspace(0.005, 0.995, 199, dtype=F64)
    scenes = []
    for number, (label, color) in enumerate(((1, "line1"), (0, "line2"))):
        losses = cross_entropy_cases(y, torch.full_like(y, label))
        scenes.append(
            chart(
                [Series("", y.tolist(), losses.tolist(), color, size=2.4)],
                title=lettered(number, f"label $S(u) = {label}$"), x_label="$y$", y_label="loss", x_range=(0, 1),
                y_range=(0, 5), width=310, height=250,
            )
        )  # fmt: skip
    return beside(*scenes, gap=16, title="Binary cross entropy")
