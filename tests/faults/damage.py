"""Damage to single bytes of folders of runs and studies, and everything that readers make of such a folder."""

import random
import shutil
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import lamina
from lamina._errors import LaminaError, RunError
from lamina.report.render import render, write_report
from lamina.studies._keeping import Kept
from lamina.studies.study import Study
from lamina.training.manifest import NAME
from lamina.training.repair import repair
from lamina.training.run import Run

ROWS = lamina.load("iris").inputs[:5]
UNREAD = ("report.html",)
"""Files that only people and `lamina repair` read."""
WAYS = "one bit", "no text", "the next digit or letter", "the rest cut off"
NOTICED = "said", "repair", "nothing changed"
"""By a sentence, by `lamina repair` of what nobody reads, or everything that is read is as it was."""


def make_run(folder: Path) -> Path:
    """Train, judge and report, quickly."""
    net = lamina.build("fnn", inputs=4, outputs=3, hidden=2)
    made = lamina.fit(net, lamina.load("iris"), lamina.Recipe(epochs=2), folder=folder)
    made.evaluate()
    made.predict(ROWS, coverage=0.9)
    write_report(folder)
    return folder


def make_study(folder: Path) -> Path:
    """Search and report, quickly."""
    options = {"epochs": 2, "hidden": 2}
    found = lamina.search("fnn", lamina.load("iris"), {"learning_rate": [0.01, 0.02]}, options=options, folder=folder)
    Run.load(found.folder / "best").predict(ROWS, coverage=0.9)
    write_report(folder)
    return folder


def places(folder: Path) -> list[tuple[Path, int]]:
    """List every byte of every file."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [(path.relative_to(folder), place) for path in files for place in range(path.stat().st_size)]


def small(folder: Path) -> list[tuple[Path, int]]:
    """List the bytes that are neither of checkpoints and reports, which are large, nor of a study's best run."""
    return [
        (name, place)
        for name, place in places(folder)
        if name.parent.name != "checkpoints" and name.name not in UNREAD and name.parts[0] != "best"
    ]


def spoil(path: Path, place: int, how: int) -> None:
    """Change one byte in one of the `WAYS`."""
    content = bytearray(path.read_bytes())
    old = content[place]
    content[place] = (old ^ 1, 0xFF if old != 0xFF else 0, (old + 1) % 256, old)[how]
    path.write_bytes(content[:place] if how == 3 else content)


def said(folder: Path) -> object:
    """Give everything that readers make of a folder, without its name."""
    run = Run.load(folder)
    found = run.predict(ROWS, coverage=0.9)
    text = render(folder).replace(str(folder), "").replace(folder.name, "")
    return run.history, found.values.tolist(), str(found), str(run.evaluate()), run.reason, text


def said_of_study(folder: Path) -> object:
    """Give everything that readers make of the folder of a study, without its name."""
    study = Study.open(folder)
    kept = Kept.read(folder, study.best.number)
    if kept is None:
        raise RunError("the kept weights are damaged, and the search warns that it trains them again")
    weights = {name: tensor.tolist() for name, tensor in kept.weights.items()}
    text = render(folder).replace(str(folder), "").replace(folder.name, "")
    return study.description, study.results, study.test, weights, kept.rows, said(folder / "best"), text


def noticed(folder: Path, name: Path, known: object, read: Callable[[Path], object]) -> str:
    """Say how damage was noticed, in one of the words `NOTICED`; "silent" if not at all."""
    try:
        same = read(folder) == known
    except LaminaError:
        return "said"
    if not same:
        return "silent"
    if name.parts[0] == "best":
        folder, name = folder / "best", name.relative_to("best")
    if name.name in UNREAD or name.parent.name == "checkpoints":
        states = {each.file: each.state for each in repair(folder)}
        return "repair" if states.get(name.as_posix(), "removed") != "whole" else "silent"
    return "nothing changed" if name.name == NAME else "silent"


@dataclass
class Swept:
    """What came of damage: how often it was noticed in which way, and where it was not."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys((*NOTICED, "silent", "traceback"), 0))
    faults: list[str] = field(default_factory=list)


def sweep(home: Path, copy: Path, chosen: list[tuple[tuple[Path, int], int]], read: Callable[[Path], object]) -> Swept:
    """Damage a copy of a folder again and again, each time anew.

    Args:
        home: the whole folder.
        copy: where copies are made.
        chosen: file, byte and way.
        read: `said` or `said_of_study`.
    """
    shutil.copytree(home, copy)
    known, found = read(copy), Swept()
    for (name, place), how in chosen:
        shutil.rmtree(copy)
        shutil.copytree(home, copy)
        spoil(copy / name, place, how)
        try:
            word = noticed(copy, name, known, read)
        except Exception:
            word = "traceback"
            found.faults.append(traceback.format_exc())
        found.counts[word] += 1
        if word not in NOTICED:
            found.faults.append(f"{name} at byte {place}, {WAYS[how]}: {word}")
    shutil.rmtree(copy)
    return found


def sampled(home: Path, draw: random.Random, count: int) -> list[tuple[tuple[Path, int], int]]:
    """Choose places and ways: nine of ten in small files, the others anywhere."""
    few, every = small(home), places(home)
    return [(draw.choice(few if turn % 10 else every), draw.randrange(4)) for turn in range(count)]
