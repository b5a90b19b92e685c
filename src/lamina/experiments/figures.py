"""All figures of the notes by number, each made by running code: 39 with a number and three without.

from lamina.experiments.figures import FIGURES
from lamina.drawing.save import save
save(FIGURES["6"].make(), "figure-06.svg")
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import geometric_mean

import torch

from lamina._errors import ArgumentError
from lamina.drawing import blocks, cells, cubes, famous, unrolled, views, windows
from lamina.drawing.dice import dice_rows
from lamina.drawing.network import network
from lamina.drawing.neuron import neuron
from lamina.drawing.scene import Scene
from lamina.drawing.transfer import transfer_learning
from lamina.experiments import block_histories, figures_curves, figures_data
from lamina.experiments.sensitivity_time import plain_cell, sensitivities


@dataclass(frozen=True)
class Figure:
    """A figure of the notes.

    Args:
        name: its number, or a word for those without one.
        title: what it shows.
        ids: the rows of the catalogue it belongs to.
        make: computes and draws it.
    """

    name: str
    title: str
    ids: tuple[str, ...]
    make: Callable[[], Scene]

    @property
    def label(self) -> str:
        """The name as a caption says it."""
        return f"Fig. {self.name}" if self.name.isdigit() else "Drawing"

    @property
    def file(self) -> str:
        """The name of its files, without a suffix."""
        return f"figure-{int(self.name):02d}" if self.name.isdigit() else self.name


def fading_memory() -> Scene:
    """Draw an unrolled network shaded by how much each state still depends on the first input, as measured.

    Notes: N5.29 (§5.2, Fig. 37).
    """
    return unrolled.shaded(first_input_shares())


def first_input_shares(steps: int = 7, seeds: int = 5) -> tuple[float, ...]:
    """Measure the norms of the derivatives of the states by the first input, as shares of the first one.

    A plain cell with spectral radius 0.5, as in the experiment of N5.26; geometric means over the seeds.

    Notes: N5.29 (§5.2, Fig. 37).

    Args:
        steps: how many states.
        seeds: how many random cells and inputs.

    >>> shares = first_input_shares()
    >>> shares[0], list(shares) == sorted(shares, reverse=True)
    (1.0, True)
    """
    generators = [torch.Generator().manual_seed(seed) for seed in range(seeds)]
    curves = [sensitivities(*plain_cell(0.5, g), steps, g) for g in generators]
    means = [geometric_mean(column) for column in zip(*curves, strict=True)]
    return tuple(value / means[0] for value in means)


_CHAIN = partial(network, (1, 1, 1, 1), weight_names=True, loss=True)
_OPEN = (784, None, None, None, 10)
_STRIDE_TWO = partial(windows.convolution_windows, 7, 7, stride=2)

FIGURES = {
    figure.name: figure
    for figure in (
        Figure("1", "A biological neuron", ("N1.01",), neuron),
        Figure("2", "The perceptron with three inputs", ("N1.03",), partial(network, (3, 1))),
        Figure("3", "Five activation functions", ("N1.09",), figures_curves.activation_panels),
        Figure("4", "k-means with two clusters, step by step", ("N1.34",), figures_data.kmeans_panels),
        Figure("5", "A loss with a local and a global minimum", ("N1.51",), figures_curves.local_minimum),
        Figure("6", "Polynomials that fit too little, well, and too much", ("N1.54",), figures_data.polynomial_panels),
        Figure("7", "The trade-off between bias and variance", ("N1.60",), figures_data.bias_variance),
        Figure("8", "The perceptron with two inputs", ("N1.72",), partial(network, (2, 1))),
        Figure("9", "OR can be separated by a line, XOR cannot", ("N1.79",), figures_curves.separability),
        Figure("10", "A feedforward network for XOR", ("N2.08",), partial(network, (2, 2, 1))),
        Figure("11", "A network with three hidden layers", ("N2.13",), partial(network, (3, 5, 5, 5, 1))),
        Figure("12", "Batch normalization of three nodes", ("N2.41",), figures_data.batch_norm_histograms),
        Figure("13", "Binary cross entropy for both labels", ("N2.53",), figures_curves.cross_entropy),
        Figure("14", "Handwritten digits", ("N2.58",), figures_data.handwritten_digits),
        Figure("15", "A network for MNIST", ("N2.59",), partial(network, _OPEN, drawn=(5, 4, 3, 2, 2))),
        Figure("16", "A chain of nodes and its loss", ("N2.66",), partial(_CHAIN, skip=False)),
        Figure("17", "LeNet-5", ("N3.06",), famous.lenet5),
        Figure("18", "A convolutional layer in two views", ("N3.10",), views.two_views),
        Figure("19", "Windows of a convolution", ("N3.24",), windows.convolution_windows),
        Figure("20", "Windows of a convolution with stride 2", ("N3.28",), _STRIDE_TWO),
        Figure("21", "A convolution of a picture with three channels", ("N3.34",), cubes.rgb_convolution),
        Figure("22", "The receptive field of a node", ("N3.37",), windows.receptive_field_nodes),
        Figure("23", "A picture and its blur by average pooling", ("N3.44",), figures_data.blur),
        Figure("24", "AlexNet", ("N3.49",), famous.alexnet),
        Figure("25", "Neighborhoods of local response normalization", ("N3.53",), cubes.response_norms),
        Figure("26", "A simplified residual layer", ("N4.05",), partial(blocks.residual_block, "residual-layer")),
        Figure("27", "A chain of residual layers", ("N4.07",), partial(_CHAIN, skip=True)),
        Figure("28", "The original residual block", ("N4.18",), partial(blocks.residual_block, "original")),
        Figure("29", "The full pre-activation block", ("N4.22",), partial(blocks.residual_block, "pre-activation")),
        Figure("30", "Both blocks in a deep network while it learns", ("N4.27",), block_histories.deep_blocks),
        Figure("31", "ResNet18", ("N4.30",), famous.resnet18),
        Figure("32", "Transfer learning", ("N4.42",), transfer_learning),
        Figure("33", "Feedforward and recurrent, rolled up and unrolled", ("N5.04",), unrolled.fnn_and_rnn),
        Figure("34", "A recurrent cell", ("N5.06",), partial(cells.cell, "rnn")),
        Figure("35", "Four shapes of recurrent networks", ("N5.13",), unrolled.four_shapes),
        Figure("36", "Bidirectional and deep recurrent networks", ("N5.23",), unrolled.variants),
        Figure("37", "How the influence of the first input fades", ("N5.29", "N5.26"), fading_memory),
        Figure("38", "A gated recurrent unit", ("N5.36",), partial(cells.cell, "gru")),
        Figure("39", "A long short-term memory cell", ("N5.40",), partial(cells.cell, "lstm")),
        Figure("sigmoid", "The sigmoid as output activation", ("N2.48",), figures_curves.sigmoid_plot),
        Figure("dice-values", "Two dice that show nine", ("N3.16",), dice_rows),
        Figure("dice-probabilities", "The same as a convolution", ("N3.17",), partial(dice_rows, probabilities=True)),
    )
}
"""Every figure by its number as a word; those without a number by a name."""


def chosen(only: str | None = None, history: Sequence[str | Path] | None = None) -> list[Figure]:
    """Choose figures by numbers, ranges and names.

    Args:
        only: words with commas, such as "6,30,33-39,sigmoid"; None takes all.
        history: two runs for Fig. 30, the original block first.

    >>> [figure.name for figure in chosen("37-39,3")]
    ['37', '38', '39', '3']
    """
    table = FIGURES
    if history:
        runs = tuple(history)
        table = table | {"30": replace(table["30"], make=partial(block_histories.deep_blocks, runs))}
    if only is None:
        return list(table.values())
    names = [name for word in only.split(",") if word.strip() for name in _named(word.strip().lower())]
    if not names:
        raise ArgumentError(f"`--only` must name at least 1 figure, got {only!r}: for example --only 6,30.")
    return [table[name] for name in dict.fromkeys(names)]


def _named(word: str) -> list[str]:
    first, dash, last = word.partition("-")
    if dash and first.strip().isdigit() and last.strip().isdigit():
        found = [str(number) for number in range(int(first), int(last) + 1)]
    else:
        found = [str(int(word)) if word.isdigit() else word]
    unknown = [name for name in found if name not in FIGURES]
    if unknown or not found:
        others = [name for name in FIGURES if not name.isdigit()]
        raise ArgumentError(f"`--only` must name figures from 1 to 39 or {', '.join(others)}, got {word!r}.")
    return found
