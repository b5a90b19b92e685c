"""Fig. 30 of the notes: two deep residual networks while they learn, from stored runs or from the small experiment."""

from collections.abc import Sequence
from pathlib import Path

from lamina._errors import ArgumentError
from lamina.drawing.charts import Series, chart
from lamina.drawing.scene import Scene
from lamina.experiments.block_histories import DEPTH, BlockHistory, from_run, stored

NAMES = {"original": "original block", "preactivation": "pre-activation block"}


def deep_blocks(runs: Sequence[str | Path] = ()) -> Scene:
    """Draw training loss (dashed, left) and test error (solid, right) of both residual blocks over the iterations.

    Notes: N4.27 (§4.1, Fig. 30).

    Args:
        runs: the folders of two runs, the original block first; without them the stored experiment is drawn.
    """
    if len(runs) not in (0, 2):
        raise ArgumentError(
            f"Fig. 30 compares 2 runs, the original and the pre-activation block, got {len(runs)}: name both folders."
        )
    histories = [from_run(run) for run in runs] or list(stored())
    words = "" if runs else f"{DEPTH} layers on the digits"
    return compared(histories, words)


def compared(histories: Sequence[BlockHistory], words: str = "") -> Scene:
    """Draw the curves of two histories on two vertical axes, the first one blue, the second one green.

    Args:
        histories: what is compared.
        words: what was trained on what.
    """
    lines = []
    for item, color in zip(histories, ("line1", "line3"), strict=True):
        name = NAMES.get(item.name, item.name)
        lines += [
            Series(f"{name}: training loss", item.steps, item.losses, color, "dashed", size=2.0),
            Series(f"{name}: test error", item.steps, item.errors, color, axis="right", size=2.4),
        ]
    return chart(
        lines,
        title=words,
        x_label="iterations",
        y_label="training loss (dashed)",
        right_label="test error in % (solid)",
        right_range=(0.0, max(100.0 if max(i.errors) > 50 else 50.0 for i in histories)),
        log_y=True,
        description="The network of pre-activation blocks learns faster and ends with a smaller error.",
        width=560,
        height=340,
    )
