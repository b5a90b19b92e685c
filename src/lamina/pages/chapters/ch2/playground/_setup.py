"""The choices of the playground: data in the plane, a small network and how it is trained."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import cast

import torch

from lamina._errors import DataError
from lamina._types import Float, Tensor
from lamina.architectures.build import build
from lamina.architectures.fnn import FNN
from lamina.data.dataset import ArrayDataset, Spec
from lamina.data.load import load
from lamina.data.preprocess import Preprocess
from lamina.data.splits import Split
from lamina.pages.kit._hands import moved
from lamina.pages.kit._uploads import File, Upload, read_table
from lamina.training.recipe import Adam, MiniBatch, Penalty, Recipe

MOST_ROWS, MOST_CLASSES = 5000, 8
"""Of a table: rows that are read, and classes that have a color."""
_NOISE = {"blobs": ("spread", 5.0), "spirals": ("noise", 0.2)}
"""What `load` calls the noise of a set, and a factor that makes 0.1 a moderate value of all of them."""
DATA = {
    "two moons": "moons",
    "ring around a disk": "rings",
    "quadrants (XOR)": "quadrants",
    "two spirals": "spirals",
    "four clouds": "blobs",
    "my table": "",
}
"""Names of data sets, and what `load` calls them; none for an uploaded table."""
OPTIMIZERS = {"Adam": "adam", "mini batches": "minibatch", "momentum 0.9": "momentum"}
STARTS = {
    "what suits the activation": (None, 1.0),
    "Xavier": ("xavier", 1.0),
    "He": ("he", 1.0),
    "Gaussian, small (0.01)": ("gaussian", 0.01),
    "Gaussian, large (1)": ("gaussian", 1.0),
    "all weights 0.5": ("constant", 0.5),
}
"""Rules for the initial weights: the name of a rule and its scale."""


@dataclass(frozen=True)
class Table:
    """Two columns and the target of an uploaded table.

    Args:
        name: of the file.
        contents: its bytes.
        target: the column to predict.
        across: the column along the horizontal axis.
        up: the column along the vertical axis.
    """

    name: str
    contents: bytes = field(repr=False)
    target: str
    across: str
    up: str


@dataclass(frozen=True)
class Setup:
    """All choices of the playground.

    >>> Setup().hidden
    (6, 6)
    """

    data: str = "moons"
    count: int = 300
    noise: float = 0.1
    table: Table | None = None
    moved: str = ""
    hidden: tuple[int, ...] = (6, 6)
    activation: str = "tanh"
    start: str = "what suits the activation"
    batch_norm: bool = False
    dropout: float = 0.0
    optimizer: str = "Adam"
    learning_rate: float = 0.01
    batch_size: int = 30
    penalty: float = 0.0
    norm: int = 2
    epochs: int = 300
    seed: int = 0


@dataclass(frozen=True)
class Problem:
    """Data that are divided and prepared, and the part of the plane that is drawn.

    Args:
        split: training and validation part.
        prepare: fitted on the training part.
        x_range: the ends of the horizontal axis, those of the points before any was moved.
        y_range: the ends of the vertical axis.
        note: what was left out.
    """

    split: Split
    prepare: Preprocess
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    note: str = ""

    @property
    def spec(self) -> Spec:
        """What the data are."""
        return self.split.train.spec

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes; () for numbers as targets."""
        return self.spec.classes

    @property
    def outputs(self) -> int:
        """How many outputs the network needs: one for two classes."""
        return 1 if len(self.classes) == 2 else self.spec.outputs

    def grid(self, side: int) -> Float[Tensor, "place 2"]:
        """Give the centers of a grid of cells over the drawn part of the plane, row by row from the bottom."""
        (a, b), (c, d) = self.x_range, self.y_range
        share = (torch.arange(side, dtype=torch.float64) + 0.5) / side
        y, x = torch.meshgrid(c + (d - c) * share, a + (b - a) * share, indexing="ij")
        return torch.stack([x.flatten(), y.flatten()], 1)


def problem(setup: Setup) -> Problem:
    """Make or read the data of a setup and divide them: three parts for training, one for validation.

    >>> made = problem(Setup(count=40))
    >>> len(made.split.train), len(made.split.validation), made.outputs
    (30, 10, 1)
    """
    return _problem(setup.data, setup.count, setup.noise, setup.table, setup.seed, setup.moved)


@lru_cache(maxsize=24)
def _problem(name: str, count: int, noise: float, table: Table | None, seed: int, moves: str) -> Problem:
    note = ""
    if table is None:
        word, value = _noise(name, noise)
        data = cast(ArrayDataset, load(name, count=count, seed=seed, **{word: value}))
    else:
        data, note = _two_columns(table)
    split = ArrayDataset(moved(data.inputs, moves), data.targets, data.spec).split(seed=seed, ratios=(3, 1, 0))
    low, high = data.inputs.min(0).values.tolist(), data.inputs.max(0).values.tolist()
    (a, b), (c, d) = ((x - 0.12 * (y - x or 1), y + 0.12 * (y - x or 1)) for x, y in zip(low, high, strict=True))
    return Problem(split, Preprocess.fit(split.train), (a, b), (c, d), note)


def read_columns(upload: Upload) -> tuple[tuple[str, ...], str]:
    """Read the names of the columns of numbers of an uploaded table, and the target that its names suggest.

    Raises:
        DataError: the file is no table, or has fewer than two columns of numbers.
    """
    spec = read_table(upload).spec
    numbers = tuple(name for name, levels in zip(spec.features, _levels(spec), strict=True) if not levels)
    if len(numbers) < 2:
        raise DataError(
            f"{upload.name} has {len(numbers)} column(s) of numbers besides the target {spec.target!r}, but the plane "
            "needs 2: add a column, or use the playground for your data, which takes any table."
        )
    return numbers, spec.target


def _levels(spec: Spec) -> tuple[tuple[str, ...], ...]:
    return spec.levels or ((),) * len(spec.features)


def _two_columns(table: Table) -> tuple[ArrayDataset, str]:
    """Take two columns of an uploaded table; rows with a missing value and classes without a color are refused."""
    data = cast(ArrayDataset, read_table(File(table.name, table.contents), target=table.target))
    spec = data.spec
    if table.across == table.up:
        raise DataError(f"both axes show the column {table.up!r}: choose two different ones.")
    if len(spec.classes) > MOST_CLASSES:
        raise DataError(f"{table.target!r} has {len(spec.classes)} classes, at most {MOST_CLASSES} have a color here.")
    places = [spec.features.index(name) for name in (table.across, table.up)]
    inputs = data.inputs[:, places].double()
    whole = inputs.isfinite().all(1).nonzero()[:, 0]
    kept = whole[:MOST_ROWS]
    if len(kept) < 8:
        raise DataError(f"{table.name} has {len(kept)} rows with both numbers, at least 8 are needed.")
    left = len(inputs) - len(kept)
    note = f"{left} of {len(inputs)} rows were left out: a number is missing, or there are too many." if left else ""
    made = Spec(
        "vector", spec.task, (2,), spec.outputs, spec.classes, (table.across, table.up), table.target, table.name
    )
    return ArrayDataset(inputs[kept].float(), data.targets[kept], made), note


def first_network(setup: Setup, outputs: int) -> FNN:
    """Make the network of a setup with its initial weights.

    >>> first_network(Setup(hidden=(3,)), 1).config.widths
    (2, 3, 1)
    """
    rule, scale = STARTS[setup.start]
    network = build(
        "fnn", inputs=2, outputs=outputs, hidden=setup.hidden, activation=setup.activation, initialization=rule,
        scale=scale, batch_norm=setup.batch_norm, dropout=setup.dropout, seed=setup.seed,
    )  # fmt: skip
    return cast(FNN, network)


def recipe(setup: Setup) -> Recipe:
    """Make the recipe of a setup.

    >>> recipe(Setup(optimizer="mini batches")).optimizer
    MiniBatch(learning_rate=0.01, momentum=0.0, nesterov=False)
    """
    kind = OPTIMIZERS[setup.optimizer]
    rate = setup.learning_rate
    optimizer = Adam(rate) if kind == "adam" else MiniBatch(rate, 0.9 if kind == "momentum" else 0.0)
    penalty = Penalty(setup.penalty, setup.norm)
    return Recipe(optimizer, setup.epochs, setup.batch_size, penalty=penalty, seed=setup.seed)


def load_arguments(setup: Setup) -> str:
    """Write the arguments of `lamina.load` for the data of a setup.

    >>> load_arguments(Setup())
    "'moons', count=300, noise=0.1, seed=0"
    """
    if setup.table is not None:
        return f"{setup.table.name!r}, target={setup.table.target!r}"
    word, value = _noise(setup.data, setup.noise)
    return f"{setup.data!r}, count={setup.count}, {word}={value!r}, seed={setup.seed}"


def _noise(name: str, noise: float) -> tuple[str, float]:
    """Give the word and the value of the noise of a set.

    >>> _noise("spirals", 0.1)
    ('noise', 0.02)
    """
    word, factor = _NOISE.get(name, ("noise", 1.0))
    return word, round(factor * max(noise, 0.01), 6)
