"""Damage to any byte of a run or study folder is said, or changes nothing; nothing that is read ever traces back."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import lamina
from lamina._errors import LaminaError, RunError
from lamina.report.render import render, write_report
from lamina.studies._keeping import Kept
from lamina.studies.study import Study
from lamina.training.fit import resume
from lamina.training.manifest import NAME, Manifest
from lamina.training.repair import repair
from lamina.training.run import Run

pytestmark = pytest.mark.faults("damaged bytes")
ROWS = lamina.load("iris").inputs[:5]
UNREAD = ("report.html",)
"""Files that only people and `lamina repair` read."""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "iris"
    net = lamina.build("fnn", inputs=4, outputs=3, hidden=2)
    made = lamina.fit(net, lamina.load("iris"), lamina.Recipe(epochs=2), folder=folder)
    made.evaluate()
    made.predict(ROWS, coverage=0.9)
    write_report(folder)
    return folder


def places(folder: Path) -> list[tuple[Path, int]]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [(path.relative_to(folder), place) for path in files for place in range(path.stat().st_size)]


def spoil(path: Path, place: int, how: int) -> None:
    """Change one byte: a bit, to what is no text, to the next digit or letter, or cut everything behind it."""
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


def noticed(folder: Path, name: Path, known: object, read: Callable[[Path], object] = said) -> str:
    """Say how damage was noticed: by a sentence, by a repair, or because nothing changed; "" if not at all."""
    try:
        same = read(folder) == known
    except LaminaError:
        return "said"
    if not same:
        return ""
    if name.parts[0] == "best":
        folder, name = folder / "best", name.relative_to("best")
    if name.name in UNREAD or name.parent.name == "checkpoints":
        states = {each.file: each.state for each in repair(folder)}
        return "repair" if states.get(name.as_posix(), "removed") != "whole" else ""
    return "nothing changed" if name.name == NAME else ""


def sweep(run: Path, tmp_path: Path, chosen: list[tuple[tuple[Path, int], int]], read=said) -> dict[str, int]:
    reference = Path(shutil.copytree(run, tmp_path / "run"))
    known, counts = read(reference), dict.fromkeys(("said", "repair", "nothing changed"), 0)
    for (name, place), how in chosen:
        shutil.rmtree(reference)
        shutil.copytree(run, reference)
        spoil(reference / name, place, how)
        found = noticed(reference, name, known, read)
        assert found, f"{name} damaged at byte {place} in way {how} went unnoticed"
        counts[found] += 1
    return counts


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr("lamina.training.manifest._PAUSE", 0.0)


def test_sampled_bytes(run, tmp_path, quick):
    draw = random.Random(0)
    small = [place for place in places(run) if place[0].parent.name != "checkpoints" and place[0].name not in UNREAD]
    chosen = draw.sample(small, 32) + draw.sample(places(run), 8)
    counts = sweep(run, tmp_path, [(place, draw.randrange(4)) for place in chosen])
    assert counts["said"] >= 30


@pytest.mark.slow
def test_five_thousand_bytes(run, tmp_path, quick):
    draw = random.Random(1)
    small = [place for place in places(run) if place[0].parent.name != "checkpoints" and place[0].name not in UNREAD]
    chosen = draw.sample(small, min(4500, len(small))) + draw.sample(places(run), 500)
    print(sweep(run, tmp_path, [(place, draw.randrange(4)) for place in chosen]))


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studies") / "iris"
    options = {"epochs": 2, "hidden": 2}
    found = lamina.search("fnn", lamina.load("iris"), {"learning_rate": [0.01, 0.02]}, options=options, folder=folder)
    Run.load(found.folder / "best").predict(ROWS, coverage=0.9)
    write_report(folder)
    return folder


def of_study(folder: Path) -> list[tuple[Path, int]]:
    """Give the places of the study itself; those of the best run are those of a run."""
    return [place for place in places(folder) if place[0].parts[0] != "best" and place[0].name not in UNREAD]


def test_sampled_bytes_of_a_study(study, tmp_path, quick):
    draw = random.Random(4)
    chosen = draw.sample(of_study(study), 24) + draw.sample(places(study), 4)
    sweep(study, tmp_path, [(place, draw.randrange(4)) for place in chosen], said_of_study)


@pytest.mark.slow
def test_five_thousand_bytes_of_a_study(study, tmp_path, quick):
    draw = random.Random(5)
    chosen = [(place, how) for place in of_study(study) for how in range(4)]
    chosen = draw.sample(chosen, min(4500, len(chosen))) + [(each, 0) for each in draw.sample(places(study), 500)]
    print(sweep(study, tmp_path, chosen, said_of_study))


@pytest.mark.parametrize(("name", "words"), [
    ("manifest.jsonl", "manifest.jsonl is missing: the digests of files are lost, not the files. Run  lamina repair"),
    ("study.toml", "is not the folder of a study: it has no study.toml"),
    ("journal.jsonl", "journal.jsonl is missing. Restore it from a copy, or run  lamina repair"),
])  # fmt: skip
def test_a_file_of_a_study_that_is_gone_is_missed(study, tmp_path, quick, name, words):
    folder = Path(shutil.copytree(study, tmp_path / "study"))
    (folder / name).unlink()
    with pytest.raises(RunError, match=words):
        Study.open(folder)
    if name == "manifest.jsonl":
        repair(folder)
        assert said_of_study(folder)[1] == Study.open(study).results


def test_a_result_that_is_gone_is_missed(study, tmp_path, quick):
    folder = Path(shutil.copytree(study, tmp_path / "study"))
    lines = (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "journal.jsonl").write_bytes(b"".join(lines[:-1]))
    with pytest.raises(RunError, match="journal.jsonl is damaged: it is not what the study wrote. Restore it from a"):
        Study.open(folder)
    states = {each.file: each.state for each in repair(folder)}
    assert states["journal.jsonl"] == "shortened" and Study.open(folder).test is None


OLD = Path(__file__).parents[1] / "runs_of_0_1"


def unproven(folder: Path, name: Path, place: int, how: int) -> str:
    """Damage what has no digest, or one that was accepted; say what readers made of it, but never a traceback."""
    spoil(folder / name, place, how)
    if (folder / NAME).is_file() and name.name != NAME:
        Manifest(folder).take(name.name) if len(name.parts) == 1 else None
    for read in (Run.load, render, lambda path: Run.load(path).evaluate(), resume):
        try:
            read(folder)
        except LaminaError as error:
            return str(error)
    return ""


def survive(cases, tmp_path, draw, count):
    for _ in range(count):
        folder = Path(shutil.copytree(draw.choice(cases), tmp_path / "old"))
        files = [path for path in sorted(folder.iterdir()) if path.suffix in (".toml", ".json", ".jsonl")]
        path = draw.choice(files)
        unproven(folder, path.relative_to(folder), draw.randrange(path.stat().st_size), draw.randrange(4))
        shutil.rmtree(folder)


@pytest.mark.filterwarnings("ignore::lamina._errors.DataWarning")
def test_folders_without_digests_get_sentences(run, tmp_path, quick, monkeypatch):
    monkeypatch.chdir(OLD)
    survive([run, OLD / "table", OLD / "series"], tmp_path, random.Random(2), 24)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::lamina._errors.DataWarning")
def test_all_kinds_of_folders_without_digests_get_sentences(run, tmp_path, quick, monkeypatch):
    monkeypatch.chdir(OLD)
    cases = [run, *(path for path in sorted(OLD.iterdir()) if path.is_dir() and path.name != "__pycache__")]
    survive(cases, tmp_path, random.Random(3), 600)
