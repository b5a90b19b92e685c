"""The work of the playground for your data: what `lamina train` does, step by step."""

import contextlib
import time
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from lamina._errors import DataWarning, LaminaError
from lamina._types import Num, Tensor
from lamina.data.describe import describe
from lamina.pages.chapters.tools.playground._own_data import without
from lamina.pages.kit._keeping import ZIP, entry
from lamina.pages.kit._races import Kept, paced
from lamina.report import spell, write_report
from lamina.training.fit import fitting
from lamina.training.folder import slug
from lamina.training.loop import Event
from lamina.training.plan import Plan, plan
from lamina.training.predictions import Predictions
from lamina.training.run import Run
from lamina.training.runtime import Runtime
from lamina.training.tasks.arrays import numbers

EVERY = 0.15
"""Seconds between two words about the same epoch."""
SHOWN, CHARACTERS = 8, 160
"""How many examples are shown at the end, and how much of a text."""
LARGEST_RUN = 200_000_000
"""Bytes of a run that can still be taken away as one file."""


@dataclass(frozen=True)
class Order:
    """What is to be trained on what, in the words of the command line.

    Args:
        architecture: a name from `lamina list`.
        data: a name from `lamina data list`, or the name of an upload.
        folder: where the upload lies; "" for a name.
        target: the target column; "" for the usual one.
        kind: how to read a file; "" to decide by looking at it.
        options: options of network and recipe.
        epochs: how many; None for a sensible number.
        seed: of the split, the weights, the order and all masks.
    """

    architecture: str
    data: str
    folder: str = ""
    target: str = ""
    kind: str = ""
    options: tuple[tuple[str, Any], ...] = ()
    epochs: int | None = None
    seed: int = 0

    @property
    def reading(self) -> dict[str, Any]:
        """How the data are read."""
        chosen = {"kind": self.kind, "target": self.target}
        return {key: value for key, value in chosen.items() if value}

    @property
    def command(self) -> str:
        """The same as a command line.

        >>> Order("fnn", "my table.csv", options=(("hidden", (32, 16)),), epochs=5).command
        "lamina train fnn --data 'my table.csv' --epochs 5 --set hidden=32,16 --seed 0"
        """
        words = ["lamina", "train", self.architecture, "--data", self.data]
        words += ["--target", self.target] if self.target else []
        words += ["--read", f"kind={self.kind}"] if self.kind else []
        words += ["--epochs", str(self.epochs)] if self.epochs is not None else []
        for name, value in self.options:
            words += ["--set", f"{name}={_word(value)}"]
        return spell([*words, "--seed", str(self.seed)])


def _word(value: Any) -> str:
    """Write a value as `--set` reads it.

    >>> _word((32, 16)), _word((32,)), _word(True), _word(None)
    ('32,16', '32,', 'true', 'none')
    """
    if isinstance(value, list | tuple):
        return ",".join(map(_word, value)) + ("," if len(value) < 2 else "")
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def learn(order: Order, shelf: str) -> Iterator[dict[str, Any]]:
    """Train as ordered and tell how it goes; what cannot be done is told in one sentence.

    Yields:
        The state of the run: its `stage`, what was read and chosen, the history, and at the end the test result.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as shelf:
    ...     last, bad = (list(learn(Order("fnn", name, epochs=2), shelf))[-1] for name in ("xor", "nowhere.csv"))
    >>> last["stage"], last["epoch"], last["metrics"]["accuracy"] <= 1, bad["stage"]
    ('done', 2, True, 'refused')
    """
    home, notes = entry(shelf), list[str]()
    state: dict[str, Any] = {"stage": "reading", "about": [], "notes": [], "history": []}
    yield dict(state)
    rows = _train(order, home, state)
    try:
        while (row := _next(rows, order.folder or home, notes)) is not None:
            yield {**row, "notes": [*row["notes"], *dict.fromkeys(notes)]}
    except LaminaError as error:
        yield {**state, "stage": "refused", "sentence": without(str(error), order.folder)}


def _next(rows: Iterator[dict[str, Any]], folder: str | Path, notes: list[str]) -> dict[str, Any] | None:
    """Take the next row, in a folder and with one thread, since pages share the machine; take note of warnings."""
    with contextlib.chdir(folder), Runtime("cpu", threads=1).applied(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        row = next(rows, None)
    notes += [str(each.message) for each in caught if issubclass(each.category, DataWarning)]
    return row


def _train(order: Order, home: Path, state: dict[str, Any]) -> Iterator[dict[str, Any]]:
    job = plan(
        order.architecture, order.data, data_options=order.reading, options=dict(order.options), epochs=order.epochs,
        seed=order.seed, out=home / slug(f"{order.architecture}-{Path(order.data).stem}"),
    )  # fmt: skip
    state |= {"stage": "training", "about": _about(job), "parameters": _count(job), "notes": list(job.notes)}
    state |= {"epochs": job.recipe.epochs, "batches": job.batches, "target": job.split.train.spec.target}
    watch = _Watch(job, state)
    yield dict(state)
    training = Kept(fitting(job.model, job.task, job.recipe, every=1, folder=job.folder,
                            runtime=Runtime("cpu", threads=1, step="eager")))  # fmt: skip
    for event, due in paced(training, EVERY):
        watch(event)
        if due:
            yield dict(state)
    run = training.value
    yield dict(state)
    if run.reason.failed:
        write_report(run.folder)
        yield {**state, "stage": "failed", "sentence": f"{run.reason.sentence}.", "run": home.name}
        return
    yield {**state, "stage": "judging"}
    found = run.evaluate()
    write_report(run.folder)
    spec = run.preprocess.spec
    state |= {"stage": "done", "sentence": run.reason.sentence, "task": spec.task, "kind": spec.kind}
    state |= {"metrics": found.metrics, "tested": found.examples, "openings": found.openings, "examples": examples(run)}
    yield {**state, "run": home.name, "folder": run.folder.name, "packed": pack(run.folder, home / ZIP)}


def _about(job: Plan) -> list[str]:
    """Say what the data are: the first lines of `lamina data show`."""
    return describe(job.split.train, samples=0)[:3]


def _count(job: Plan) -> int:
    return sum(parameter.numel() for parameter in job.model.parameters())


class _Watch:
    """Writes into a state where a run stands, how fast it is and how long it will take."""

    def __init__(self, job: Plan, state: dict[str, Any]) -> None:
        self._state, self._total, self._begun = state, job.batches * job.recipe.epochs, time.monotonic()
        state |= {"epoch": 0, "step": 0, "steps": self._total, "rate": None, "left": None, "score": ""}

    def __call__(self, event: Event) -> None:
        """Take note of an update or a check."""
        now, state = time.monotonic(), self._state
        state |= {"epoch": event.epoch, "step": event.step}
        if event.step == 1 and event.row is None:  # the first update is slower than the rest
            self._begun = now
        elif event.step > 1 and now > self._begun:
            rate = (event.step - 1) / (now - self._begun)
            state |= {"rate": rate, "left": max(0.0, (self._total - event.step) / rate)}
        if event.row is not None:
            names = [name for name in event.row if name.startswith("validation_") and name != "validation_loss"]
            state["score"] = names[0].removeprefix("validation_") if names else ""
            columns = ("loss", "validation_loss", state["score"], f"validation_{state['score']}")
            state["history"] = [*state["history"], (event.epoch, *(event.row.get(name) for name in columns))]


def pack(folder: Path, output: Path) -> bool:
    """Put a run into one archive, without its checkpoints, unless it is too large; say whether it was."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and "checkpoints" not in path.parts]
    if sum(path.stat().st_size for path in files) > LARGEST_RUN:
        return False
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files:
            archive.write(path, path.relative_to(folder.parent).as_posix())
    return True


def examples(run: Run, count: int = SHOWN) -> list[dict[str, Any]]:
    """Show what a network says about a few validation examples, which had no part in the test.

    Returns:
        For each what it is (`picture` or `values`), the `truth`, the `answer` and, for classes, how `sure` it is.
    """
    assert run.split is not None
    if run.task.writes:
        return [{"values": {"begins with": "a new line"}, "truth": "", "answer": run.write("", 240, temperature=0.7)}]
    part = run.split.validation if len(run.split.validation) else run.split.train
    places = torch.linspace(0, len(part) - 1, min(count, len(part))).round().long()
    inputs, targets = part.take(places)
    answers = _answers(run.task.answers(run, inputs))
    return [
        {**run.task.shown(seen), "truth": _short(run.task.truth(target)), **answer}
        for seen, target, answer in zip(inputs, targets, answers, strict=True)
    ]


def _answers(found: Predictions) -> list[dict[str, Any]]:
    if found.classes:
        return [{"answer": label, "sure": share} for ((label, share),) in found.top(1)]
    texts = found.texts or tuple(numbers(row) for row in found.values.tolist())
    return [{"answer": _short(text)} for text in texts]


def _short(text: str) -> str:
    return text if len(text) <= CHARACTERS else text[: CHARACTERS - 1] + "…"


def ask(run: str, text: str, folder: str, file: str, count: int) -> Iterator[dict[str, Any]]:
    """Let a trained network answer: about a text, or about a file that was uploaded.

    Yields:
        One row with a `table` of answers, or the `sentence` why there is none.
    """
    try:
        trained = Run.load(run)
        rows = _about_text(trained, text) if trained.task.reads_texts else _about_file(trained, folder, file)
        yield {"rows": rows, "count": count}
    except LaminaError as error:
        yield {"sentence": without(without(str(error), folder), run), "count": count}


def _about_text(trained: Run, text: str) -> list[tuple[str, str]]:
    if trained.task.writes:
        return [("continuation", trained.write(text, 300, temperature=0.7))]
    found = trained.task.say(trained, [text], beams=3)
    if found.classes:
        return _ranked(found.classes, found.values[0])
    if found.texts:
        return [("translation", found.texts[0])]
    return [(trained.task.spec.target or "answer", numbers(found.values[0].tolist()))]


def _about_file(trained: Run, folder: str, file: str) -> list[tuple[str, str]]:
    if not file:
        return [("a file is missing", "choose one with rows or a picture as in training")]
    with contextlib.chdir(folder):
        found = trained.predict(file)
    if found.classes and len(found) == 1:
        return _ranked(found.classes, found.values[0])
    if found.classes:
        best = [ranking[0] for ranking in found.top(1)]
        return [(name, f"{label}, {share:.1%}") for name, (label, share) in zip(found.names, best, strict=True)][:20]
    texts = found.texts or tuple(numbers(row) for row in found.values.tolist())
    return list(zip(found.names, texts, strict=True))[:20]


def _ranked(classes: Sequence[str], shares: Num[Tensor, " label"]) -> list[tuple[str, str]]:
    best = shares.topk(min(5, len(classes)))
    return [(classes[i], f"{share:.1%}") for share, i in zip(best.values.tolist(), best.indices.tolist(), strict=True)]
