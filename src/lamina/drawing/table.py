"""The one table of drawings with a name: what `lamina draw NAME` knows besides models and runs. Imports no maker."""

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lamina._declared import check
from lamina._errors import ArgumentError, nearest
from lamina.drawing.scene import Scene


@dataclass(frozen=True)
class Drawing:
    """One drawing: its name, what it shows, the figure of the notes, and the function that makes it.

    Args:
        name: what the user types.
        title: what it shows.
        place: the figure or example of the notes; empty where there is none.
        module: the module of its maker.
        maker: the name of the function there.
        options: what this name sets.
    """

    name: str
    title: str
    place: str
    module: str
    maker: str
    options: dict[str, Any] = field(default_factory=dict)

    def load(self) -> Callable[..., Scene]:
        """Import the maker."""
        maker: Callable[..., Scene] = getattr(importlib.import_module(self.module), self.maker)
        return maker

    def make(self, **options: Any) -> Scene:
        """Draw it, with other options where given."""
        known = self.option_types()
        for option, value in options.items():
            if option not in known:
                listed = f"its options are {', '.join(known)}{nearest(option, known)}" if known else "it has none."
                raise ArgumentError(f"the drawing {self.name!r} has no option {option!r}: {listed}")
            check(option, value, known[option])
        return self.load()(**(self.options | options))

    def option_types(self) -> dict[str, Any]:
        """Say what each option of the maker is declared to be."""
        parameters = inspect.signature(self.load()).parameters.values()
        return {p.name: p.annotation for p in parameters if p.name != "kind"}  # which the name says


def _drawing(name: str, title: str, place: str, home: str, **options: Any) -> Drawing:
    module, maker = home.split(":")
    return Drawing(name, title, place, f"lamina.drawing.{module}", maker, options)


_CHAIN = {"widths": (1, 1, 1, 1), "weight_names": True, "loss": True}
_SHAPES = [
    {"inputs": i, "cells": c, "outputs": o} for i, c, o in ((1, 3, 3), (3, 3, 1), (3, 5, 2), (3, 3, 3))
]  # fmt: skip
TABLE: dict[str, Drawing] = {
    drawing.name: drawing
    for drawing in (
        _drawing("neuron", "biological neuron", "Fig. 1, N1.01", "neuron:neuron"),
        _drawing("perceptron", "perceptron with 3 inputs", "Fig. 2, N1.03", "network:network", widths=(3, 1)),
        _drawing("gate", "perceptron with 2 inputs", "Fig. 8, N1.72", "network:network", widths=(2, 1)),
        _drawing("xor", "network 2-2-1", "Fig. 10, N2.08", "network:network", widths=(2, 2, 1)),
        _drawing("fnn", "network of any widths", "Fig. 11, N2.13", "network:network", widths=(3, 5, 5, 5, 1)),
        _drawing(
            "wide-fnn", "network with dots for most nodes", "Fig. 15, N2.59", "network:network",
            widths=(784, None, None, None, 10), drawn=(5, 4, 3, 2, 2),
        ),
        _drawing("chain", "chain of nodes up to the loss", "Fig. 16, N2.66", "network:network", **_CHAIN),
        _drawing("residual-chain", "chain with skips", "Fig. 27, N4.07", "network:network", **_CHAIN, skip=True),
        _drawing("lenet5", "LeNet-5", "Fig. 17, N3.06", "famous:lenet5"),
        _drawing("alexnet", "AlexNet", "Fig. 24, N3.49", "famous:alexnet"),
        _drawing("resnet18", "ResNet18", "Fig. 31, N4.30", "famous:resnet18"),
        _drawing("dice", "two dice that add to 9", "Ex. 3.4, N3.16", "dice:dice_rows"),
        _drawing(
            "dice-probabilities", "two dice, probabilities", "Ex. 3.4, N3.17", "dice:dice_rows", probabilities=True
        ),
        _drawing("two-views", "a convolutional layer in two views", "Fig. 18, N3.10", "views:two_views"),
        _drawing("windows", "windows of a convolution", "Fig. 19, N3.24", "windows:convolution_windows"),
        _drawing(
            "stride", "windows with stride 2", "Fig. 20, N3.28", "windows:convolution_windows",
            height=7, width=7, stride=2,
        ),
        _drawing("rgb", "convolution of a color picture", "Fig. 21, N3.34", "cubes:rgb_convolution"),
        _drawing("receptive-field", "receptive field", "Fig. 22, N3.37", "windows:receptive_field_nodes"),
        _drawing("response-norm", "local response normalization", "Fig. 25, N3.53", "cubes:response_norms"),
        _drawing("residual-layer", "residual layer", "Fig. 26, N4.05", "blocks:residual_block", block="residual-layer"),
        _drawing("block", "residual block", "Fig. 28, N4.18", "blocks:residual_block"),
        _drawing("original-block", "original residual block", "Fig. 28, N4.18", "blocks:residual_block"),
        _drawing(
            "pre-activation-block", "full pre-activation block", "Fig. 29, N4.22", "blocks:residual_block",
            block="pre-activation",
        ),
        _drawing(
            "bottleneck", "original bottleneck block", "§4.1", "blocks:residual_block", block="original-bottleneck"
        ),
        _drawing(
            "pre-activation-bottleneck", "full pre-activation bottleneck", "§4.1", "blocks:residual_block",
            block="pre-activation-bottleneck",
        ),
        _drawing(
            "projection-block", "block with a projection shortcut", "§4.1", "blocks:residual_block", block="projection"
        ),
        _drawing("transfer", "transfer learning", "Fig. 32, N4.42", "transfer:transfer_learning"),
        _drawing("fnn-and-rnn", "FNN, RNN and RNN unrolled", "Fig. 33, N5.04", "unrolled:fnn_and_rnn"),
        _drawing("unrolled", "RNN unrolled in time", "Fig. 33, N5.04", "unrolled:unrolled", dots=True),
        _drawing("rnn", "RNN cell", "Fig. 34, N5.06", "cells:cell", kind="rnn"),
        _drawing("four-shapes", "four shapes of RNNs", "Fig. 35, N5.13", "unrolled:four_shapes"),
        _drawing("one-to-many", "one input, many outputs", "Fig. 35, N5.13", "unrolled:sequence_shape", **_SHAPES[0]),
        _drawing("many-to-one", "many inputs, one output", "Fig. 35, N5.13", "unrolled:sequence_shape", **_SHAPES[1]),
        _drawing("seq2seq", "encoder and decoder", "Fig. 35, N5.13", "unrolled:sequence_shape", **_SHAPES[2]),
        _drawing("many-to-many", "an output each time", "Fig. 35, N5.13", "unrolled:sequence_shape", **_SHAPES[3]),
        _drawing("bidirectional", "bidirectional RNN", "Fig. 36, N5.23", "unrolled:bidirectional"),
        _drawing("deep", "deep RNN", "Fig. 36, N5.23", "unrolled:deep"),
        _drawing("variants", "bidirectional and deep RNN", "Fig. 36, N5.23", "unrolled:variants"),
        _drawing(
            "vanishing", "sensitivity to the first input", "Fig. 37, N5.29", "unrolled:shaded",
            sensitivities=(1.0, 0.7, 0.5, 0.3, 0.1, 0.0, 0.0),
        ),
        _drawing("gru", "gated recurrent unit", "Fig. 38, N5.36", "cells:cell", kind="gru"),
        _drawing("lstm", "long short-term memory", "Fig. 39, N5.40", "cells:cell", kind="lstm"),
    )
}  # fmt: skip
"""All drawings by name, in the order of the notes."""


def drawing(name: str, **options: Any) -> Scene:
    """Make the drawing of a name.

    Args:
        name: a name of `TABLE`.
        options: arguments of its maker.

    >>> drawing("dice", total=7).title
    'Two dice that add to 7'
    """
    if name not in TABLE:
        hint = nearest(name, TABLE, " Did", "")
        raise ArgumentError(f"`name` must be one of {', '.join(TABLE)}, got {name!r}.{hint}")
    return TABLE[name].make(**options)
