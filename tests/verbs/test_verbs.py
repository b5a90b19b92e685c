"""Every architecture with every verb, as a user types them; see `table.py` for the rows and what a cell promises."""

import contextlib
import io
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

import lamina
from lamina import _screen as progress
from lamina._errors import ArgumentError
from lamina.architectures.adapt import changed_tensors, weight_layers
from lamina.architectures.table import TABLE
from lamina.cli import main
from lamina.data.text.texts import answers_of, texts_of
from lamina.functional.translation_metrics import chrf
from lamina.layers.rbf import RadialBasis
from lamina.report import _commands as commands
from lamina.report import _record as record
from lamina.report._formatting import number
from verbs import files, table
from verbs.table import ROWS, SENTENCES, VERBS


class Desk:
    """A folder with the small files, in which commands about one row are typed; what is trained is trained once."""

    def __init__(self, home: Path, name: str, full: bool) -> None:
        self.home, self.name, self.row, self.full = home, name, ROWS[name], full
        files.write(home)

    def type(self, *words: object) -> tuple[int, str, str]:
        """Type a command in the folder; return exit code, output and errors."""
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["lamina", *map(str, words)])
            with contextlib.chdir(self.home), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                try:
                    main()
                    code = 0
                except SystemExit as end:
                    code = int(end.code or 0)
        return code, out.getvalue(), err.getvalue()

    def type_apart(self, *words: object) -> subprocess.CompletedProcess:
        """Type a command that starts processes of its own, in another process."""
        paths = os.pathsep.join([str(Path(lamina.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        settings = os.environ | {"PYTHONPATH": paths, "LAMINA_DEVICE": "cpu"}
        command = [sys.executable, "-m", "lamina", *map(str, words)]
        return subprocess.run(command, cwd=self.home, env=settings, capture_output=True, text=True)

    def done(self, *words: object) -> str:
        """Type a command that must succeed; return its output."""
        code, out, err = self.type(*words)
        assert code == 0, err
        return out

    def of(self, verb: str, *more: object, epochs: int | None = None) -> tuple[object, ...]:
        """Give the words of `train` and `search`: which network on which data, with which options."""
        options = (*(() if self.full else self.row.network), "batch_size=8", *self.row.recipe)
        sets = [word for option in options for word in ("--set", option)]
        reads = [word for option in self.row.read for word in ("--read", option)]
        words = (verb, self.row.architecture, "--data", self.row.data, *reads)
        return *words, "--epochs", epochs or self.epochs, *sets, *more

    @property
    def epochs(self) -> int:
        return 2 if self.full else self.row.epochs

    @property
    def folder(self) -> Path:
        """The folder of the run, which is trained when it is first asked for."""
        folder = self.home / self.run
        if not folder.is_dir():
            self.done(*self.of("train", "--out", self.run))
        return folder

    @property
    def run(self) -> str:
        return f"runs/{self.row.architecture}-{self.row.data}"

    def loaded(self) -> lamina.Run:
        return lamina.Run.load(self.folder)

    def test_part(self) -> lamina.data.dataset.Dataset:
        return lamina.training.fit.reload(json_of_config(self.folder)["data"]).open_test()


def json_of_config(folder: Path) -> dict:
    return lamina.training.folder.RunFolder(folder).config()


@pytest.fixture(scope="module")
def desks(tmp_path_factory):
    made: dict[tuple[str, bool], Desk] = {}

    def desk(name: str, full: bool = False) -> Desk:
        if (name, full) not in made:
            made[name, full] = Desk(tmp_path_factory.mktemp("desk"), name, full)
        return made[name, full]

    return desk


def trains(desk: Desk) -> None:
    rows = [json.loads(line) for line in (desk.folder / "history.jsonl").read_text().splitlines()]
    losses = [row["loss"] for row in rows]
    assert all(map(math.isfinite, losses)) and len(losses) == desk.epochs
    assert desk.full or losses[-1] < 0.99 * losses[0]
    assert all(t.isfinite().all() for t in desk.loaded().model.state_dict().values())


def resumes(desk: Desk) -> None:
    """Stop in the middle of the second epoch, as Ctrl-C does, and go on."""
    steps = [json.loads(line)["step"] for line in (desk.folder / "history.jsonl").read_text().splitlines()]
    moment = steps[0] + max(1, (steps[1] - steps[0]) // 2)
    assert steps[0] < moment < steps[1]
    shown = progress._Plain.__call__

    def stop(plain: progress._Plain, event: lamina.training.loop.Event) -> None:
        shown(plain, event)
        if event.step == moment and event.row is None:
            signal.raise_signal(signal.SIGINT)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress._Plain, "__call__", stop)
        code, _, err = desk.type(*desk.of("train", "--out", "runs/stopped"))
    assert code == 1 and f"interrupted after step {moment}" in err and "lamina resume runs/stopped" in err
    desk.done("resume", "runs/stopped")
    for name in ("weights.safetensors", "history.jsonl"):
        assert (desk.home / "runs/stopped" / name).read_bytes() == (desk.folder / name).read_bytes(), name
    shutil.rmtree(desk.home / "runs/stopped")  # an AlexNet with its checkpoints takes two gigabytes


def shares(desk: Desk) -> None:
    """Train in one process and on two ranks, with 64 bits: batch normalization of few values enlarges the last ones.

    In 34 and 50 layers that normalize 8 values, rounding of the last bit becomes 1e-6 in an epoch and 1 in two; of 32
    values it stays below 1e-8.
    """
    deep = desk.row.architecture in ("resnet34", "resnet50")
    more, epochs = (("--set", "batch_size=32"), 2) if deep else ((), None)
    words = desk.of("train", "--set", "precision=float64", *more, epochs=epochs)
    desk.done(*words, "--out", "runs/one")
    done = desk.type_apart(*words, "--ranks", 2, "--out", "runs/two")
    assert done.returncode == 0 and "2 ranks" in done.stdout, done.stderr
    one, two = (lamina.training.folder.RunFolder(desk.home / f"runs/{name}") for name in ("one", "two"))
    assert (one.json("environment").get("ranks", 1), two.json("environment")["ranks"]) == (1, 2)
    for mine, wanted in zip(two.rows(), one.rows(), strict=True):
        near = {"rel": 1e-6, "abs": 1e-9}
        assert mine.pop("gradients") == pytest.approx(wanted.pop("gradients"), **near)
        assert mine == pytest.approx(wanted, **near)
    weights = [lamina.Run.load(run.path).model.state_dict() for run in (one, two)]
    for name, tensor in weights[0].items():
        torch.testing.assert_close(weights[1][name], tensor, rtol=1e-5, atol=1e-6, msg=name)
    tests = [run.json("evaluation")["metrics"] for run in (one, two)]
    assert tests[1] == pytest.approx(tests[0], rel=1e-6, abs=1e-9)
    for run in (one, two):
        shutil.rmtree(run.path)


@torch.no_grad()
def by_hand(desk: Desk) -> dict[str, float]:
    """Compute from predictions for the test examples what `evaluate` says."""
    run, test = desk.loaded(), desk.test_part()
    task = run.preprocess.spec.task
    if task == "language":
        tokens = run.preprocess.stream(test)
        outputs = run.model(tokens[None, :-1])[0]
        return {"loss": float(torch.nn.functional.cross_entropy(outputs, tokens[1:]))}
    inputs = texts_of(test) if test.spec.kind in ("text", "pairs") else test.take(torch.arange(len(test)))[0]
    found = run.predict(inputs)
    if task in ("translation", "description"):
        exact = {"exact": sum(map(str.__eq__, found.texts, answers_of(test))) / len(test)}
        assert desk.name != "one-to-many on digit-words" or exact["exact"] > 0.2
        return exact | ({"chrf": chrf(found.texts, answers_of(test)).score} if task == "translation" else {})
    targets = test.take(torch.arange(len(test)))[1]
    if task == "tagging":
        names = run.preprocess.spec.classes
        tags = [
            (tag, label)
            for text, row in zip(found.texts, targets, strict=True)
            for tag, label in zip(text.split(), row, strict=True)
        ]
        judged = [tag == names[label] for tag, label in tags if label >= 0]
        return {"token_accuracy": sum(judged) / len(judged)}
    if task == "multilabel":
        right, weights = (found.values >= 0.5) == (targets > 0.5), test.weights / test.weights.sum()
        return {"accuracy": float(weights @ right.double().mean(1)), "exact": float(weights @ right.all(1).double())}
    if task == "classification":
        return {"accuracy": float((found.values.argmax(1) == targets).double().mean())}
    return {"mse": float((found.values.double() - targets.double().reshape(found.values.shape)).square().mean())}


def evaluates(desk: Desk) -> None:
    said = json.loads(desk.done("evaluate", desk.folder, "--json"))
    assert said["openings"] == 1
    for name, value in by_hand(desk).items():
        assert said[name] == pytest.approx(value, rel=1e-5, abs=1e-12), name


def predicts(desk: Desk) -> None:
    run, test = desk.loaded(), desk.test_part()
    spec = run.preprocess.spec
    if spec.task == "language":
        text = desk.done("predict", desk.folder, "--prompt", "the cat", "--length", 20, "--temperature", 0)
        assert text == run.write("the cat", 20, temperature=0) + "\n" and len(text) == len("the cat") + 20 + 1
        return
    texts = spec.kind in ("text", "pairs")
    inputs = texts_of(test) if texts else test.take(torch.arange(len(test)))[0]
    found = run.predict(inputs)
    assert len(found) == len(test) and found.values.isfinite().all()
    if spec.task == "multilabel":
        rows = json.loads(desk.done("predict", desk.folder, desk.row.data, "--json"))
        again = run.predict(desk.home / desk.row.data)
        assert [row["labels"] for row in rows] == list(again.texts) == again.labels
        assert [list(row["probabilities"].values()) for row in rows] == again.values.tolist()
    elif found.classes:
        torch.testing.assert_close(found.values.sum(1), torch.ones(len(test)))
        assert found.labels == [found.classes[row.argmax()] for row in found.values]
    elif found.texts:
        assert len(found.texts) == len(test)
    if not texts and desk.row.data != "pictures":
        return
    some = texts_of(test)[:3] if texts else sorted(desk.home.glob("pictures/3/*.png"))[:3]
    rows = json.loads(desk.done("predict", desk.folder, *some, "--json"))
    again = run.predict([str(path) for path in some] if not texts else some)
    said = [row["text"] if again.texts else row["label"] for row in rows]
    assert said == list(again.texts or again.labels)


def reports(desk: Desk) -> None:
    run = desk.loaded()
    page = (desk.folder / "report.html").read_text()
    name, data = desk.row.called or desk.row.architecture, desk.row.data
    if desk.full and desk.row.called == "cifar-resnet":
        name = desk.row.architecture
    assert f"<h1>{name} on {data}</h1>" in page
    assert f"with {sum(p.numel() for p in run.model.parameters()):,} parameters" in page
    assert number(json.loads((desk.folder / "evaluation.json").read_text())["metrics"]["loss"]) in page
    words, remarks = commands.train(record.read(desk.folder))
    assert words[:3] == ["lamina", "train", name] and remarks == []
    desk.done(*words[1:], "--out", "runs/again")
    for file in ("weights.safetensors", "history.jsonl"):
        assert (desk.home / "runs/again" / file).read_bytes() == (desk.folder / file).read_bytes(), file
    shutil.rmtree(desk.home / "runs/again")


def exports(desk: Desk) -> None:
    said = json.loads(desk.done("export", desk.folder, "-o", "model.safetensors", "--json"))
    assert said["files"] == ["model.safetensors"]
    run, packed, test = desk.loaded(), lamina.Run.load(desk.home / "model.safetensors"), desk.test_part()
    spec = run.preprocess.spec
    if spec.task == "language":
        words = ("--prompt", "the cat", "--length", 20, "--temperature", 0)
        assert desk.done("predict", "model.safetensors", *words) == desk.done("predict", desk.folder, *words)
    else:
        texts = spec.kind in ("text", "pairs")
        inputs = texts_of(test) if texts else test.take(torch.arange(len(test)))[0]
        found, wanted = packed.predict(inputs), run.predict(inputs)
        assert found.values.equal(wanted.values) and found.answers == wanted.answers
        if texts or desk.row.data == "pictures":
            some = texts_of(test)[:3] if texts else sorted(desk.home.glob("pictures/3/*.png"))[:3]
            assert desk.done("predict", "model.safetensors", *some) == desk.done("predict", desk.folder, *some)
    if desk.full:
        said = json.loads(desk.done("export", desk.folder, "-o", "model.onnx", "--json"))  # it compares by itself
        assert said["files"][0] == "model.onnx" and "onnxruntime agrees" in said["facts"][1]
    for file in desk.home.glob("model*"):
        file.unlink()


def searches(desk: Desk) -> None:
    # Batch normalization of few values enlarges last bits so much that float32 agrees in the first digits alone.
    normalized = any(isinstance(part, torch.nn.BatchNorm2d) for part in desk.loaded().model.modules())
    exact = ("--set", "precision=float64") if normalized else ()
    words = desk.of("search", "--folder", "study", "--metric", "loss", "--json", *exact, epochs=2)
    said = json.loads(desk.done(*words, "learning_rate=1e-6,0.001"))
    with contextlib.chdir(desk.home):
        study = lamina.Study.open("study")
    values = {result.values["learning_rate"]: result.outcome.value for result in study.results}
    assert set(values) == {1e-6, 0.001} and all(map(math.isfinite, values.values()))
    best = min(values, key=values.__getitem__)
    assert said["best"] == study.best.values == {"learning_rate": best}
    assert said["validation_loss"] == values[best]
    desk.done(*desk.of("train", *exact, "--set", f"learning_rate={best}", "--out", "runs/alone", epochs=2))
    rows = [json.loads(line) for line in (desk.home / "runs/alone/history.jsonl").read_text().splitlines()]
    curve = next(result.outcome.curve for result in study.results if result.values["learning_rate"] == best)
    assert rows[0]["validation_loss"] == pytest.approx(curve[0], rel=1e-3)
    assert said["test"] == study.test["metrics"] and all(map(math.isfinite, said["test"].values()))
    assert json.loads(desk.done("search", "--resume", "study", "--json")) == said
    assert "learning_rate" in (desk.home / "study/report.html").read_text()
    for folder in ("study", "runs/alone"):
        shutil.rmtree(desk.home / folder)


def adapts(desk: Desk) -> None:
    trained = desk.loaded().model
    before = {name: t.clone() for name, t in trained.state_dict().items()}
    network = lamina.adapt(trained, classes=trained.config.outputs + 1)
    changed = changed_tensors(trained, network)
    assert {name.rpartition(".")[0] for name in changed} == set(desk.row.adapted)
    old, new = trained.state_dict(), network.state_dict()
    for name, tensor in before.items():
        assert torch.equal(old[name], tensor)
        assert name in changed or torch.equal(new[name], tensor)
    last = new[f"{desk.row.adapted[-1]}.weight"]
    assert len(last) == trained.config.outputs + 1 and last.isfinite().all()


def parameters(desk: Desk) -> tuple[str, int]:
    """Give what inspect and draw are asked about, and how many parameters it has."""
    what = desk.row.architecture
    if (desk.name, "train") in SENTENCES:
        return what, sum(p.numel() for p in lamina.build(what).parameters())
    return str(desk.folder), sum(p.numel() for p in desk.loaded().model.parameters())


def layers(model: torch.nn.Module) -> int:
    """Count the layers with weights, learned or given; a residual block is one."""
    given = [name for name, part in model.named_modules() if isinstance(part, RadialBasis)]
    names = [*weight_layers(model), *given]
    blocks = [name for name, part in model.named_modules() if type(part).__name__.endswith(("Block", "Bottleneck"))]
    return len({next((block for block in blocks if name.startswith(f"{block}.")), name) for name in names})


def described(model: torch.nn.Module, description: str) -> None:
    """Compare the words of a drawing with the network: its cells, the nodes of its layers, or how many layers."""
    config = model.config
    if hasattr(config, "cell"):
        many = "layer" if config.layers == 1 else "layers"
        start = f"{config.cell.upper()} cells unrolled in time, {config.layers} {many} of {config.hidden} units, "
        assert description.startswith(start)
    elif (widths := getattr(config, "widths", (2, 2, 1) if config.inputs == 2 else None)) is not None:
        if type(model).__name__ == "NeuralODE":
            widths = (*widths[:1][: widths[0] != widths[1]], widths[1], widths[1], widths[2])
        nodes = f"{', '.join(map(str, widths[:-1]))} and {widths[-1]} nodes"
        assert description.startswith(f"Layers of {nodes}, {sum(a * b for a, b in pairwise(widths)):,} arrows, ")
    else:
        kinds = re.findall(r"(\d+ )?(?:convolution|fully connected|residual block)", description)
        assert sum(int(count or 1) for count in kinds) == layers(model)


def inspects(desk: Desk) -> None:
    what, count = parameters(desk)
    found = json.loads(desk.done("inspect", what, "--json"))["summary"]
    assert found["parameters"] == count == sum(row["own_parameters"] for row in found["rows"])
    assert f"{count:,} parameters" in desk.done("inspect", what)


def draws(desk: Desk) -> None:
    what, count = parameters(desk)
    said = json.loads(desk.done("draw", what, "-o", "network.svg", "--json"))
    svg = "{http://www.w3.org/2000/svg}"
    root = ElementTree.parse(desk.home / "network.svg").getroot()
    assert root.tag == f"{svg}svg" and len(list(root.iter())) > 10
    assert root.findtext(f"{svg}title") == said["title"] and root.findtext(f"{svg}desc") == said["description"]
    assert said["description"].endswith(f", {count:,} parameters.")
    described(lamina.build(what) if what == desk.row.architecture else desk.loaded().model, said["description"])


CHECKS: dict[str, Callable[[Desk], None]] = {
    "train": trains,
    "resume": resumes,
    "ranks": shares,
    "evaluate": evaluates,
    "predict": predicts,
    "report": reports,
    "export": exports,
    "search": searches,
    "adapt": adapts,
    "inspect": inspects,
    "draw": draws,
}


def answer(desk: Desk, verb: str) -> str:
    """Ask for what does not apply; return the sentence."""
    if verb == "adapt":
        model = lamina.build(desk.row.architecture)
        with pytest.raises(ArgumentError) as error:
            lamina.adapt(model, classes=model.config.outputs + 1)
        return str(error.value)
    if verb == "ranks":
        done = desk.type_apart(*desk.of("train", "--ranks", 2))
        assert done.returncode == 2 and done.stdout == ""
        return done.stderr.removeprefix("lamina: ").removesuffix("\n")
    words = {
        "train": desk.of("train"),
        "search": desk.of("search", "learning_rate=1e-6,0.001"),
        "predict": ("predict", desk.run, "rows.csv"),
        "export": ("export", desk.run, "-o", "model.onnx"),
    }
    code, out, err = desk.type(*words.get(verb, (verb, desk.run)))
    assert code == 2 and out == ""
    return err.removeprefix("lamina: ").removesuffix("\n")


def check(desk: Desk, verb: str) -> None:
    """Check a cell in the folder of its files, which some data are read from all the time."""
    with contextlib.chdir(desk.home):
        if (desk.name, verb) in SENTENCES:
            assert answer(desk, verb) == SENTENCES[desk.name, verb]
        else:
            CHECKS[verb](desk)


def cell(name: str, verb: str) -> object:
    return pytest.param(name, verb, marks=[pytest.mark.slow] * table.slow(name, verb))


@pytest.mark.parametrize(("name", "verb"), [cell(name, verb) for name in ROWS for verb in VERBS])
def test_cell(desks, name, verb, request):
    if verb in ("resume", "report") and (name, verb) not in SENTENCES and desks(name).folder:
        request.getfixturevalue("as_user")  # they train as `train` does: shapes were checked there
    check(desks(name), verb)


@pytest.mark.slow
@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "ranks"])
@pytest.mark.parametrize("name", [name for name in ROWS if (name, "train") not in SENTENCES])
def test_cell_in_full_size(desks, name, verb):
    check(desks(name, full=(name, verb) not in SENTENCES), verb)


def test_every_architecture_has_a_row_and_every_verb_a_check():
    assert {row.architecture for row in ROWS.values()} == set(TABLE)
    assert list(CHECKS) == list(VERBS)
    for name, verb in SENTENCES:
        assert name in ROWS and verb in VERBS


def test_the_page_of_the_docs_is_the_table():
    assert table.PAGE.read_text(encoding="utf-8") == table.page(), "run python tests/verbs/table.py --write"
