"""Fig. 30: both residual blocks in a very deep network while it learns (§4.1 of the notes).

The notes show ResNet-1001 on CIFAR-10. Here a network of 110 = 6 · 18 + 2 layers learns the embedded digits, in about a
minute per block. Its curves lie in `block_histories.json`, and this command writes them anew:

python -m lamina.experiments.block_histories
"""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from lamina._errors import ArgumentError, RunError
from lamina.architectures.build import build
from lamina.data.load import digits
from lamina.drawing.charts import Series, chart
from lamina.drawing.scene import Scene
from lamina.experiments.trained import parts, train
from lamina.training.folder import RunFolder
from lamina.training.recipe import MiniBatch, Recipe
from lamina.training.stopping import Row

STORED = Path(__file__).with_name("block_histories.json")
DEPTH, WIDTH, EPOCHS, BATCH = 110, 0.5, 30, 128


class _History(NamedTuple):
    """How a network with one kind of residual block learned: losses of the epochs and test errors in percent."""

    name: str
    steps: tuple[int, ...]
    losses: tuple[float, ...]
    errors: tuple[float, ...]


def compute(block: str, *, depth: int = DEPTH, width: float = WIDTH, epochs: int = EPOCHS, seed: int = 0) -> _History:
    """Train a deep residual network on the digits and follow its loss and its error on the test part.

    Nothing is chosen by the test part: it is only watched, as in the notes.

    Notes: N4.27 (§4.1, Fig. 30).

    Args:
        block: "original" or "preactivation".
        depth: the number 6n+2 of layers.
        width: a factor on the numbers of channels 16, 32 and 64.
        epochs: passes through the training part.
        seed: of weights and order.
    """
    split = digits().split()
    network = build("cifar-resnet", inputs=(1, 8, 8), depth=depth, width=width, block=block, seed=seed)
    recipe = Recipe(MiniBatch(0.1, momentum=0.9), epochs=epochs, batch_size=BATCH, seed=seed)
    return _history(block, train(network, parts(split.train, split.open_test()), recipe, watch=True).rows)


def _history(name: str, rows: Sequence[Row]) -> _History:
    """Take the curves out of the rows of a run: its training loss, and the error on its validation part.

    >>> _history("a", [{"step": 5, "loss": 1.25, "validation_accuracy": 0.75}])
    _History(name='a', steps=(5,), losses=(1.25,), errors=(25.0,))
    """
    known = [row for row in rows if row.get("loss") is not None and row.get("validation_accuracy") is not None]
    if not known:
        raise RunError(
            f"the history of {name} has 0 rows with a loss and an accuracy: Fig. 30 needs a run on labeled pictures "
            "with a validation part."
        )
    return _History(
        name,
        tuple(row["step"] for row in known),
        tuple(round(row["loss"], 6) for row in known),
        tuple(round(100 * (1 - row["validation_accuracy"]), 4) for row in known),
    )


def _from_run(path: str | Path) -> _History:
    """Read the curves of a stored run; its name is its kind of block, else that of its folder."""
    folder = RunFolder.open(path)
    block = folder.config().get("architecture", {}).get("config", {}).get("block")
    return _history(str(block or folder.path.resolve().name), folder.rows())


@cache
def stored() -> tuple[_History, ...]:
    """Read the curves that were computed before, the original block first."""
    records = json.loads(STORED.read_text(encoding="utf-8"))["histories"]
    return tuple(_History(r["name"], tuple(r["steps"]), tuple(r["losses"]), tuple(r["errors"])) for r in records)


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
    histories = [_from_run(run) for run in runs] or list(stored())
    lines = []
    for item, color in zip(histories, ("line1", "line3"), strict=True):
        name = {"original": "original block", "preactivation": "pre-activation block"}.get(item.name, item.name)
        lines += [
            Series(f"{name}: training loss", item.steps, item.losses, color, "dashed", size=2.0),
            Series(f"{name}: test error", item.steps, item.errors, color, axis="right", size=2.4),
        ]
    return chart(
        lines,
        title="" if runs else f"{DEPTH} layers on the digits",
        x_label="iterations",
        y_label="training loss (dashed)",
        right_label="test error in % (solid)",
        right_range=(0.0, max(100.0 if max(i.errors) > 50 else 50.0 for i in histories)),
        log_y=True,
        description="The network of pre-activation blocks learns faster and ends with a smaller error.",
        width=560,
        height=340,
    )


if __name__ == "__main__":
    histories = [compute(block)._asdict() for block in ("original", "preactivation")]
    settings = {"data": "digits", "depth": DEPTH, "width": WIDTH, "epochs": EPOCHS, "batch_size": BATCH, "seed": 0}
    STORED.write_text(
        json.dumps({"settings": settings, "histories": histories}, indent=1) + "\n", encoding="utf-8", newline="\n"
    )
