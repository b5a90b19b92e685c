"""`lamina search` as it is typed: words, samplers, exit codes, what is printed, what is left."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lamina.studies.study import Study

QUICK = ("--data", "iris", "--epochs", "2", "--threads", "1")


def test_a_grid_as_in_the_manual(typed):
    code, out, err = typed(
        "search",
        "fnn",
        *QUICK,
        "--grid",
        "learning_rate=1e-4,3e-2",
        "penalty=0,1e-5",
        "width=4,8",
        "--set",
        "dropout=0",
    )
    assert code == 0 and err == ""
    lines = out.splitlines()
    assert lines[0].startswith("iris: 102 training, 24 validation and 24 test examples")
    assert lines[1].endswith("; changed: dropout=0.0, epochs=2")
    assert lines[2] == "on the CPU, 1 thread"
    assert lines[3] == "grid: 8 configurations by validation accuracy, in studies/fnn-iris"
    assert lines[4].startswith("4/8 configurations  best 0.") and lines[5].startswith("8/8 configurations  best 0.")
    assert lines[6].startswith("best: learning_rate=0.03 penalty=") and "(validation accuracy 0." in lines[6]
    assert lines[7].startswith("test: loss ") and lines[7].endswith("on 24 test examples")
    assert lines[8] == "baseline, always 'setosa', the most frequent class in training: accuracy 0.3333"
    assert lines[9].startswith("The network ") and lines[10] == "report: studies/fnn-iris/report.html"
    assert Path("studies/fnn-iris/report.html").stat().st_size > 20_000
    assert Path("studies/fnn-iris/best/weights.safetensors").is_file()
    study = Study.open("studies/fnn-iris")
    assert {tuple(r.values) for r in study.results} == {("learning_rate", "penalty", "width")}


def test_json_and_resume_of_what_is_done(typed):
    words = (
        "search",
        "fnn",
        "learning_rate=1e-3,1e-2",
        *QUICK,
        "--folder",
        "a",
        "--metric",
        "loss",
        "--seeds",
        "2",
        "--json",
    )
    code, out, _ = typed(*words)
    first = json.loads(out)
    assert code == 0 and first["configurations"] == 2 and first["best"] == {"learning_rate": 0.01}
    assert set(first) == {"study", "configurations", "best", "validation_loss", "test", "baselines", "report"}
    assert first["baselines"][0]["metrics"].keys() == {"accuracy"}
    code, out, _ = typed("search", "--resume", "a", "--json")
    assert code == 0 and json.loads(out) == first  # the test split was not opened again
    code, out, _ = typed("search", "--resume", "a", "--again")
    assert code == 0 and Study.open("a").test["openings"] == 2
    code, out, _ = typed("report", "a", "--json")
    assert code == 0 and json.loads(out)["report"] == "a/report.html"
    code, out, _ = typed("report", "a", "-o", "-")
    assert code == 0 and out == Path("a/report.html").read_text()
    code, _, err = typed("report", "a", "--format", "md")
    assert code == 2 and "the report of a study is a web page: use --format html" in err


@pytest.mark.parametrize(
    ("words", "name", "count"),
    [
        (("--random", "3", "learning_rate=1e-4..1e-1:log", "dropout=0..0.5"), "random", 3),
        (("--one-at-a-time", "learning_rate=1e-3,1e-2", "penalty=0,1e-3"), "one-at-a-time", 3),
        (("--tpe", "3", "learning_rate=1e-4..1e-1:log"), "tpe", 3),
        (("--halving", "learning_rate=1e-5,1e-4,1e-3,1e-2"), "grid", 4),
        (("optimizer=adam,minibatch", "momentum=0,0.9 if optimizer=minibatch"), "grid", 3),
    ],
)
def test_every_way_to_choose(typed, words, name, count):
    code, out, err = typed("search", "fnn", *QUICK, "--epochs", "3", *words, "--json")
    assert code == 0, err
    assert json.loads(out)["configurations"] == count
    study = Study.open(json.loads(out)["study"])
    assert study.sampler.name == name and study.complete
    if "--halving" in words:
        assert sorted(r.outcome.epochs for r in study.results) == [1, 1, 3, 3]


def test_parts_are_typed_with_the_same_words(typed):
    words = ("search", "fnn", "learning_rate=1e-3,1e-2,3e-2", *QUICK, "--folder", "p")
    code, out, _ = typed(*words, "--part", "1/2")
    assert (
        code == 0
        and out.splitlines()[-1] == "part 1/2 is done. When all parts are done, run:  lamina search --resume p"
    )
    code, out, _ = typed(*words, "--part", "2/2", "--json")
    assert code == 0 and json.loads(out) == {"study": "p", "part": "2/2", "configurations": 3}
    code, out, _ = typed("search", "--resume", "p")
    assert code == 0 and "test: loss" in out
    code, _, err = typed(*words[:-2], "--folder", "p", "--part", "1/2", "--set", "hidden=3")
    assert code == 2 and "p holds another study: all parts of a study must be started with the same command" in err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "takes an architecture and values to try, got nothing"),
        (
            ("fnn",),
            "takes an architecture and values to try, got fnn: for example  lamina search fnn",
        ),
        (("fnn", "lenet5", "dropout=0"), "takes an architecture and values to try, got fnn lenet5 dropout=0"),
        (("fnm", "dropout=0"), "Did you mean 'fnn'?"),
        (("fnn", "dropuot=0"), "did you mean 'dropout'?"),
        (("fnn", "dropout="), "`dropout`: a list must have at least 1 value, got none"),
        (("fnn", "dropout=0..0.5"), "a grid cannot enumerate the range 0.0..0.5"),
        (("fnn", "dropout=0", "--grid", "--random", "3"), "a search has one strategy, got --grid and --random"),
        (("fnn", "dropout=0", "--part", "3/2"), "`part` must be from 1/2 to 2/2, got 3/2"),
        (("--resume", "nowhere"), "nowhere is not a folder: give the folder of a study"),
        (("--resume", "nowhere", "fnn"), "`--resume` takes the folder of a study and nothing that would change it"),
        (("fnn", "dropout=0", "--metric", "mse"), "`metric` must be one of 'accuracy', 'loss', got 'mse'"),
        (("fnn", "dropout=0", "--tpe", "3", "--halving"), "halving drops configurations of a stack"),
        (("fnn", "dropout=0", "--on", "processes:0"), "`on` must name from 1 to 1,024 processes, got 0"),
        (("fnn", "dropout=0", "--on", "dsak://a:1"), "`on` must be processes:N, dask://HOST:PORT, slurm or"),
        (("lenet5", "dropout=0", "--data", "iris"), "lenet5 reads pictures"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(typed, words, sentence):
    code, _, err = typed("search", *words)
    assert code == 2 and sentence in err and err.startswith("lamina: ") and err.count("\n") == 1


def test_a_search_in_which_everything_diverges_exits_with_1(typed):
    words = ("--set", "optimizer=minibatch", "learning_rate=1e15,1e16")
    code, _, err = typed("search", "fnn", "--data", "moons", "--epochs", "2", *words)
    assert code == 1 and "every configuration of studies/fnn-moons diverged: try smaller learning rates." in err


@pytest.mark.posix
def test_ctrl_c_leaves_a_study_that_goes_on(typed, tmp_path):
    words = ["search", "fnn", "learning_rate=1e-3,1e-2,3e-2,1e-1", "width=4,8", *QUICK, "--folder", "s"]
    # The second stack never ends by itself.
    slow = "import time, lamina.studies._trainer as t\nold, calls = t.train_together, []\n"
    slow += "def late(*a, **k):\n    calls.append(1)\n    return old(*a, **k) if len(calls) == 1 else time.sleep(600)\n"
    slow += "t.train_together = late\n"
    code = slow + f"import sys; sys.argv = ['lamina', *{words!r}]\nfrom lamina.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    journal = tmp_path / "s/journal.jsonl"
    while process.poll() is None and not (journal.exists() and '"result"' in journal.read_text()):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    assert (
        "lamina: interrupted after 4 configurations; they are saved.\nContinue with:  lamina search --resume s\n" in err
    )
    code, out, _ = typed("search", "--resume", "s", "--json")
    assert code == 0 and json.loads(out)["configurations"] == 8
