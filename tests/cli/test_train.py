"""The verbs of a run as they are typed: train, resume, evaluate, predict, report; exit codes; bad input."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from PIL import Image

import lamina


def lamina_(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "lamina", *words], capture_output=True, text=True, cwd=cwd)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run made by the command, in a folder of its own."""
    home = tmp_path_factory.mktemp("home")
    words = (
        "train",
        "fnn",
        "--data",
        "digits",
        "--epochs",
        "3",
        "--set",
        "hidden=16",
        "--threads",
        "1",
        "--out",
        "runs/a",
    )
    done = lamina_(*words, cwd=home)
    assert done.returncode == 0, done.stderr
    return home, done


def test_training_says_what_it_does_and_where_the_report_is(trained):
    home, done = trained
    lines = done.stdout.splitlines()
    assert lines[0] == "digits: 1199 training, 299 validation and 299 test examples, stratified by class, seed 0."
    assert lines[1].startswith("recipe: Adam, rate up to 0.003 in one cycle; ") and lines[1].endswith(
        "changed: hidden=16, epochs=3"
    )
    assert [line.split()[1] for line in lines if line.startswith("epoch ")] == ["1/3", "2/3", "3/3"]
    assert lines[-5] == "ended: all 3 epochs were done"
    assert lines[-4].startswith("test: loss ") and lines[-4].endswith("on 299 test examples")
    assert lines[-3] == "baseline, always '1', the most frequent class in training: accuracy 0.1003"
    assert lines[-2] == "The network beats the baseline."
    assert lines[-1] == "report: runs/a/report.html" and (home / "runs/a/report.html").stat().st_size > 5000
    assert done.stderr == ""


def test_evaluate_shows_the_record_and_json_is_json(trained):
    home, _ = trained
    first = lamina_("evaluate", "runs/a", "--json", cwd=home)
    record = json.loads(first.stdout)
    assert record["openings"] == 1 and record["examples"] == 299 and 0 < record["accuracy"] <= 1


def test_predict_prints_labels_and_writes_csv(trained, tmp_path):
    home, _ = trained
    inputs, _ = lamina.load("digits").take(torch.arange(2))
    for i in range(2):
        Image.fromarray(inputs[i, 0].numpy()).save(home / f"d{i}.png")
    out = lamina_("predict", "runs/a", "d0.png", "d1.png", "--top", "2", cwd=home)
    lines = out.stdout.splitlines()
    assert len(lines) == 2 and lines[0].startswith("d0.png: ") and lines[0].count("%") == 2
    rows = json.loads(lamina_("predict", "runs/a", "d0.png", "--json", cwd=home).stdout)
    assert rows[0]["name"] == "d0.png" and len(rows[0]["top"]) == 5
    done = lamina_("predict", "runs/a", "d0.png", "d1.png", "-o", str(tmp_path / "p.csv"), cwd=home)
    assert done.stdout == f"2 predictions written to {tmp_path / 'p.csv'}\n"
    table = (tmp_path / "p.csv").read_text().splitlines()
    assert table[0].startswith("name,label,probability,p(0),p(1)") and len(table) == 3


def test_ctrl_c_leaves_a_run_that_resumes_to_the_same_result(trained, tmp_path):
    home, _ = trained
    words = ["train", "fnn", "--data", "digits", "--epochs", "3", "--set", "hidden=16", "--threads", "1", "--out", "b"]
    slow = "import time, lamina.cli._progress as p\nold = p._Plain.__call__\n"
    slow += "p._Plain.__call__ = lambda self, event: (time.sleep(0.03), old(self, event))[1]\n"
    code = slow + f"import sys; sys.argv = ['lamina', *{words!r}]\nfrom lamina.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not (tmp_path / "b/history.jsonl").exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "interrupted after step" in err and "Continue with:  lamina resume b" in err
    done = lamina_("resume", "b", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("history.jsonl", "weights.safetensors"):
        assert (tmp_path / "b" / name).read_bytes() == (home / "runs/a" / name).read_bytes()


def test_a_run_that_diverges_exits_with_1(typed):
    code, _, err = typed(
        "train",
        "fnn",
        "--data",
        "moons",
        "--set",
        "optimizer=minibatch",
        "--set",
        "learning_rate=1e15",
        "--epochs",
        "3",
    )
    assert code == 1 and err.startswith("lamina: the loss has not been finite since step")


def test_every_kind_of_data_trains(typed, tmp_path):
    for words in (
        ("perceptron", "--data", "or"),
        ("fnn", "--data", "iris"),
        ("dense-resnet", "--data", "moons"),
        ("neural-ode", "--data", "spirals"),
        ("fnn", "--data", "linear"),
        ("lenet5", "--data", "digits", "--set", "activation=relu", "--set", "pooling=max"),
    ):
        code, out, err = typed("train", *words, "--epochs", "1", "--json")
        assert code == 0, (words, err)
        assert json.loads(out)["stopped"] == "epochs"


def table(tmp_path, text, name="t.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return str(path)


def test_these_simply_work(typed, tmp_path):
    """Spaces and umlauts, a BOM, labels that are words or start at 1, odd kinds of images."""
    folder = tmp_path / "Meine Äpfel und Birnen"
    folder.mkdir()
    g = torch.Generator().manual_seed(0)
    values = torch.randn(60, 2, generator=g).tolist()
    rows = "".join(f"{a:.4f},{b:.4f},{1 + (a > 0)}\n" for a, b in values)
    path = table(folder, "\ufeffgröße,weite,klasse\n" + rows, "Tabelle eins.csv")
    assert typed("train", "fnn", "--data", path, "--epochs", "1", "--json")[0] == 0
    photos = tmp_path / "Fotos ü"
    for name, mode in (("rot", "CMYK"), ("grün", "P"), ("blau", "I;16")):
        (photos / name).mkdir(parents=True)
        for i in range(12):
            pixels = torch.randint(256, (9 + i % 3, 12), generator=g, dtype=torch.uint8).numpy()
            image = Image.fromarray(pixels)
            image = image.convert(mode) if mode != "I;16" else Image.fromarray(pixels.astype("uint16") * 257)
            image.save(photos / name / f"bild {i}.{'tif' if mode == 'CMYK' else 'png'}")
    code, out, err = typed("train", "lenet5", "--data", str(photos), "--epochs", "1", "--json")
    assert code == 0, err
    run = json.loads(out)["run"]
    code, out, _ = typed("predict", run, str(photos / "rot" / "bild 0.tif"))
    assert code == 0 and "%" in out


RAGGED = "a,b,label\n1,2,x\n3,4\n5,6,y\n"
GOOD = "a,b,label\n" + "".join(f"{i},{i * 7 % 11},{'xy'[i % 2]}\n" for i in range(30))
BAD = {
    "unknown architecture": (("train", "lenet"), "`name` must be one of .*Did you mean 'lenet5'"),
    "unknown data": (("train", "fnn", "--data", "mnst"), "there is no data set named 'mnst'.*did you mean 'mnist'"),
    "setting without =": (("train", "fnn", "--set", "hidden"), "`--set` takes key=value, got 'hidden'"),
    "unknown setting": (
        ("train", "fnn", "--set", "hiden=3"),
        "fnn has no option 'hiden'.*did you mean 'hidden'.*The recipe's options are",
    ),
    "rate below zero": (
        ("train", "fnn", "--set", "learning_rate=-1"),
        "`learning_rate` must be greater than 0, got -1",
    ),
    "no epochs": (("train", "fnn", "--epochs", "0"), "`epochs` must be at least 1, got 0"),
    "no batch": (("train", "fnn", "--set", "batch_size=0"), "`batch_size` must be at least 1, got 0"),
    "word for a number": (("train", "fnn", "--set", "activation=swish"), "`activation` must be one of .*got 'swish'"),
    "gate": (("train", "logic-gate"), "logic-gate has fixed weights and cannot be trained"),
    "sequence network": (("train", "many-to-one"), "many-to-one reads sequences, but the data are of kind 'image'"),
    "pictures wanted": (
        ("train", "lenet5", "--data", "iris"),
        "lenet5 reads pictures, but the data are of kind 'table'",
    ),
    "wrong loss": (("train", "fnn", "--set", "loss=mse"), "`loss` 'mse' does not fit a classification task"),
    "augmented table": (("train", "fnn", "--data", "iris", "--set", "flip=true"), "`augment` changes pictures"),
    "device": (("train", "fnn", "--device", "cuda:7"), "`device` 'cuda:7' is not available"),
    "kind of step": (("train", "fnn", "--step", "quick"), "`step` must be one of .*got 'quick'"),
    "step of another device": (
        ("train", "fnn", "--step", "captured"),
        "a captured step needs device='cuda', got 'cpu': use step='auto' or 'eager'",
    ),
    "run that is none": (("resume", "nowhere"), "nowhere is not a folder: give the folder of a run"),
    "evaluate nothing": (("evaluate", "nowhere"), "nowhere is not a folder"),
    "predict nothing": (("predict", "nowhere", "x.png"), "nowhere is not a folder"),
    "report nothing": (("report", "nowhere"), "nowhere"),
    "data show nothing": (("data", "show", "nowhere"), "there is no data set named 'nowhere'"),
    "data get nothing": (("data", "get", "nowhere"), "nowhere"),
    "freezing nothing": (
        ("train", "fnn", "--freeze", "layers.0"),
        "`--freeze` keeps loaded weights as they are: name them with --weights",
    ),
    "weights that are none": (("train", "fnn", "--weights", "no.safetensors"), "no.safetensors"),
}
TABLES = {
    "ragged": (RAGGED, (), "2|3|row|line"),
    "empty": ("", (), "empty"),
    "only a head": ("a,b,label\n", (), "row"),
    "one row": ("a,b,label\n1,2,x\n", (), "row|example"),
    "one class": ("a,b,label\n" + "1,2,x\n" * 3 + "3,4,x\n" * 20, (), "every row: it needs at least 2"),
    "unknown target": (GOOD, ("--target", "lable"), "label"),
    "all missing": ("a,b,label\n" + "".join(f"{i},,{'xy'[i % 2]}\n" for i in range(30)), (), "b"),
    "infinite": (GOOD + "inf,3,x\n", (), "inf"),
    "wrong delimiter": ("".join(f"{i}/{i}/{'xy'[i % 2]}\n" for i in range(30)), (), "column|delimiter"),
    "twice the same name": (GOOD.replace("a,b,label", "a,a,label"), (), "a"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_words_get_one_sentence_and_exit_code_2(typed, tmp_path, name):
    words, sentence = BAD[name]
    code, out, err = typed(*words)
    assert code == 2, (out, err)
    assert err.count("\n") == 1 and err.startswith("lamina: "), err
    import re

    assert re.search(sentence, err), err
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").glob("*/weights.safetensors"))


@pytest.mark.parametrize("name", TABLES)
def test_bad_tables_get_one_sentence_and_exit_code_2(typed, tmp_path, name):
    import re

    text, words, sentence = TABLES[name]
    code, _, err = typed("train", "fnn", "--data", table(tmp_path, text), *words)
    assert code == 2 and err.startswith("lamina: ") and re.search(sentence, err), err
    assert not (tmp_path / "runs").exists()


def test_bad_files_at_prediction(typed, trained, tmp_path):
    home, _ = trained
    shutil.copytree(home / "runs/a", tmp_path / "a")
    (tmp_path / "zero.png").write_bytes(b"")
    (tmp_path / "text.png").write_text("no picture")
    for name in ("zero.png", "text.png", "missing.png"):
        code, _, err = typed("predict", "a", name)
        assert code == 2 and name in err and err.count("\n") == 1, err


def test_an_unseen_category_at_prediction(typed, tmp_path):
    rows = "".join(f"{i % 9},{'rgb'[i % 3]},{'xy'[i % 2]}\n" for i in range(60))
    path = table(tmp_path, "n,color,label\n" + rows)
    code, out, err = typed("train", "fnn", "--data", path, "--epochs", "1", "--json")
    assert code == 0, err
    new = table(tmp_path, "n,color\n3,violet\n", "new.csv")
    code, _, err = typed("predict", json.loads(out)["run"], new)
    assert code == 2 and "'violet'" in err and "color" in err


def test_a_folder_that_cannot_be_written(typed, tmp_path):
    if os.geteuid() == 0:
        (tmp_path / "file").write_text("")
        code, _, err = typed("train", "fnn", "--data", "moons", "--epochs", "1", "--out", "file/run")
    else:
        (tmp_path / "locked").mkdir(mode=0o500)
        code, _, err = typed("train", "fnn", "--data", "moons", "--epochs", "1", "--out", "locked/run")
    assert code == 2 and "Choose another with --out" in err


def test_a_full_disk_ends_with_a_sentence_and_the_last_checkpoint_intact(typed, tmp_path, monkeypatch):
    from lamina.training import checkpoint, files, fit

    monkeypatch.setattr(fit, "CHECKPOINT_SECONDS", 0.0)
    real, count = os.fsync, [0]

    def full(handle):
        count[0] += 1
        if count[0] > 40:
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr(files.os, "fsync", full)
    code, _, err = typed("train", "fnn", "--data", "digits", "--epochs", "9", "--out", "r")
    assert code == 2 and "the disk is full: free some space. What was saved before is intact." in err
    assert checkpoint.load(tmp_path / "r/checkpoints").plain["step"] > 0
    monkeypatch.setattr(files.os, "fsync", real)
    assert typed("resume", "r", "--json")[0] == 0


def test_new_labeled_data_are_scored(typed, tmp_path):
    rows = [f"{x},{'high' if x > 14 else 'low'}" for x in range(30)]
    (tmp_path / "data.csv").write_text("x,kind\n" + "\n".join(rows) + "\n")
    (tmp_path / "new.csv").write_text("kind,x\nlow,1\nlow,2\nhigh,29\n")
    assert typed("train", "fnn", "--data", "data.csv", "--epochs", "40", "--out", "run")[0] == 0
    record = (tmp_path / "run/evaluation.json").read_bytes()
    code, out, err = typed("evaluate", "run", "new.csv")
    lines = out.splitlines()
    assert code == 0 and err == "" and lines[0].startswith("new.csv: loss ") and lines[0].endswith("on 3 examples")
    assert lines[1].startswith("baseline, always '") and "3 examples are too few to tell" in lines[2]
    assert [line.split()[:2] for line in lines[3:]] == [["class", "examples"], ["high", "1"], ["low", "2"]]
    said = json.loads(typed("evaluate", "run", "new.csv", "--json")[1])
    assert said["examples"] == 3 and said["data"] == "new.csv" and said["beaten"] is None
    assert said["baselines"][0]["metrics"].keys() == {"accuracy"} and len(said["per_class"]) == 2
    assert (tmp_path / "run/evaluation.json").read_bytes() == record
    for text, sentence in (
        ("kind,x\nmiddle,3\n", "has the class 'middle', which the run was not trained on"),
        ("x\n3\n", "one column only"),
        ("x,y\n3,4\n", "has no column 'kind' for `target`"),
        ("kind,x\n", "has no rows: there is nothing to score"),
    ):
        (tmp_path / "bad.csv").write_text(text)
        code, _, err = typed("evaluate", "run", "bad.csv")
        assert code == 2 and sentence in err, err
    code, _, err = typed("evaluate", "run", "nowhere.csv")
    assert code == 2 and "nowhere.csv" in err
    code, _, err = typed("evaluate", "run", "new.csv", "--again")
    assert code == 2 and "`again` opens the test split, but other data are given" in err
