"""The curves of Fig. 30: both residual blocks in a very deep network (§4.1 of the notes).

The notes show ResNet-1001 on CIFAR-10. Here a network of 110 = 6 · 18 + 2 layers learns the embedded digits, in about a
minute a block. Its curves lie in `block_histories.json`, and this command writes them anew:

python -m lamina.experiments.block_histories
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from lamina._errors import RunError
from lamina.architectures.build import build
from lamina.data.load import digits
from lamina.experiments.trained import parts, train
from lamina.training.folder import RunFolder
from lamina.training.recipe import MiniBatch, Recipe
from lamina.training.stopping import Row

STORED = Path(__file__).with_name("block_histories.json")
DEPTH, WIDTH, EPOCHS, BATCH = 110, 0.5, 30, 128


@dataclass(frozen=True)
class BlockHistory:
    """How a network with one kind of residual block learned.

    Args:
        name: what the legend calls it.
        steps: the number of updates at each check.
        losses: the mean training loss of the epoch before.
        errors: the share of wrong answers on unseen pictures, in percent.
    """

    name: str
    steps: tuple[int, ...]
    losses: tuple[float, ...]
    errors: tuple[float, ...]


def compute(
    block: str, *, depth: int = DEPTH, width: float = WIDTH, epochs: int = EPOCHS, seed: int = 0
) -> BlockHistory:
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
    return history(block, train(network, parts(split.train, split.open_test()), recipe, watch=True).rows)


def history(name: str, rows: Sequence[Row]) -> BlockHistory:
    """Take the curves out of the rows of a run: its training loss, and the error on its validation part.

    >>> history("a", [{"step": 5, "loss": 1.25, "validation_accuracy": 0.75}])
    BlockHistory(name='a', steps=(5,), losses=(1.25,), errors=(25.0,))
    """
    known = [row for row in rows if row.get("loss") is not None and row.get("validation_accuracy") is not None]
    if not known:
        raise RunError(
            f"the history of {name} has 0 rows with a loss and an accuracy: Fig. 30 needs a run on labeled pictures "
            "with a validation part."
        )
    return BlockHistory(
        name,
        tuple(row["step"] for row in known),
        tuple(round(row["loss"], 6) for row in known),
        tuple(round(100 * (1 - row["validation_accuracy"]), 4) for row in known),
    )


def from_run(path: str | Path) -> BlockHistory:
    """Read the curves of a stored run; its name is its kind of block, else that of its folder."""
    folder = RunFolder.open(path)
    block = folder.config().get("architecture", {}).get("config", {}).get("block")
    return history(str(block or folder.path.resolve().name), folder.rows())


@cache
def stored() -> tuple[BlockHistory, ...]:
    """Read the curves that were computed before, the original block first."""
    records = json.loads(STORED.read_text(encoding="utf-8"))["histories"]
    return tuple(BlockHistory(r["name"], tuple(r["steps"]), tuple(r["losses"]), tuple(r["errors"])) for r in records)


def main() -> None:
    """Compute both curves and store them."""
    histories = [asdict(compute(block)) for block in ("original", "preactivation")]
    settings = {"data": "digits", "depth": DEPTH, "width": WIDTH, "epochs": EPOCHS, "batch_size": BATCH, "seed": 0}
    STORED.write_text(json.dumps({"settings": settings, "histories": histories}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
