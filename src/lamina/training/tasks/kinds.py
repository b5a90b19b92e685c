"""What is learned from data of a kind, one file per kind; a new kind is a file, a row in `KINDS` and a test."""

from collections.abc import Mapping
from typing import Any

from lamina._errors import ArgumentError
from lamina.data.dataset import Spec
from lamina.data.load import load
from lamina.data.preprocess import Preprocess
from lamina.data.several import SeveralPreprocess
from lamina.data.splits import Split
from lamina.data.text.descriptions import DescriptionPreprocess
from lamina.data.text.tokens import TextPreprocess
from lamina.training.tasks._descriptions import Descriptions
from lamina.training.tasks._labels import Labels
from lamina.training.tasks._pairs import Pairs
from lamina.training.tasks._running import RunningText
from lamina.training.tasks.arrays import Arrays
from lamina.training.tasks.loaders import Loaded, LoadedLabels
from lamina.training.tasks.several import Several, SeveralLabels
from lamina.training.tasks.task import Task
from lamina.training.tasks.tokens import _Texts, _Tokens

KINDS: tuple[tuple[str | None, str | None, type[Task], Any], ...] = (
    (None, "description", Descriptions, DescriptionPreprocess),
    ("pairs", None, Pairs, TextPreprocess),
    ("text", "language", RunningText, TextPreprocess),
    ("text", None, _Texts, TextPreprocess),
    ("tokens", None, _Tokens, Preprocess),
    ("several", "multilabel", SeveralLabels, SeveralPreprocess),
    ("several", None, Several, SeveralPreprocess),
    ("batches", "multilabel", LoadedLabels, SeveralPreprocess),
    ("batches", None, Loaded, SeveralPreprocess),
    (None, "multilabel", Labels, Preprocess),
    (None, None, Arrays, Preprocess),
)
"""Kind and task of the data, what is learned from them, and how they are prepared; the first that fits counts."""


def _row(spec: Spec) -> tuple[type[Task], Any]:
    fitting = (row for row in KINDS if row[0] in (None, spec.kind) and row[1] in (None, spec.task))
    _, _, task, preprocess = next(fitting)
    return task, preprocess


def task_of(data: Any, *, preprocess: Any = None, seed: int = 0, **wording: Any) -> Task:
    """Say what is learned from data, and fit how they are prepared.

    Args:
        data: a dataset or what `lamina.load` reads, divided 4:1:1, or a split; a task stays what it is.
        preprocess: how examples are prepared, if that was fitted before.
        seed: of the division.
        **wording: how texts become tokens: `level`, `min_count`, `longest` and the like.

    >>> from lamina.data.synthetic import moons
    >>> type(task_of(moons(60))).__name__
    'Arrays'
    """
    if isinstance(data, Task):
        return data
    split = split_of(data, seed)
    kind, _ = _row(split.train.spec)
    for name in wording:
        if name not in kind.wording:
            known = f"there are {', '.join(kind.wording)}" if kind.wording else "they have no dictionary"
            raise ArgumentError(f"`{name}` is not an option for data of kind {split.train.spec.kind!r}: {known}.")
    return kind(preprocess, split) if preprocess is not None else kind.fit(split, **wording)


def split_of(data: Any, seed: int = 0) -> Split:
    """Divide data 4:1:1, unless they are divided already."""
    if isinstance(data, Task):
        return data.split
    return data if isinstance(data, Split) else load(data).split(seed=seed)  # type: ignore[attr-defined]


def _wording_of(data: Split) -> tuple[str, ...]:
    """Name the options that say how texts become tokens; none for data that are no texts."""
    return _row(data.train.spec)[0].wording


def read_task(values: Mapping[str, Any], split: Split | None = None) -> Task:
    """Make a task of what its `as_dict` gave."""
    kind, preprocess = _row(Spec.from_dict(values["spec"]))
    return kind(preprocess.from_dict(values), split)


def usable_task(values: Mapping[str, Any], split: Split | None = None) -> Task:
    """Make a task of what its `as_dict` gave, for somebody who computes with it: its numbers must fit its data."""
    task: Any = read_task(values, split)
    if type(task.preprocess) is Preprocess:
        task.preprocess.check()
    return task


def task_for(preprocess: Any) -> Task:
    """Make a task without data of how its examples are prepared.

    >>> from lamina.data.synthetic import moons
    >>> task_for(task_of(moons(60)).preprocess).spec.kind
    'vector'
    """
    return _row(preprocess.spec)[0](preprocess)


def metric_of(spec: Spec) -> str:
    """Name the score of a check on such data.

    >>> metric_of(Spec("pairs", "translation", (9,), 1))
    'token_accuracy'
    """
    return _row(spec)[0].score_of(spec)


def headline_of(spec: Spec) -> str:
    """Name the metric of the test split to look at first.

    >>> headline_of(Spec("pairs", "translation", (9,), 1))
    'exact'
    """
    return _row(spec)[0].headline_of(spec)
