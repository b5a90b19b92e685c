"""The verbs of a run as they are typed: train, resume, evaluate, predict, report; exit codes; bad input."""

import csv
import json
import os
import random
import re
import shlex
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
from lamina.data.pictures import _reads_heif
from scripts import command


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
    done = subprocess.run([sys.executable, "-m", "lamina", *words], capture_output=True, text=True, cwd=home)
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
    assert lines[2] == "on the CPU, 1 thread"
    assert lines[-6] == "ended: all 3 epochs were done"
    assert lines[-5].startswith("test: loss ") and lines[-5].endswith("on 299 test examples")
    assert lines[-4] == "baseline, always '1', the most frequent class in training: accuracy 0.1003"
    assert lines[-3] == "The network beats the baseline."
    assert lines[-2] == "report: runs/a/report.html" and (home / "runs/a/report.html").stat().st_size > 5000
    assert lines[-1] == "next: lamina predict runs/a photo.png"
    assert done.stderr == ""


def test_evaluate_shows_the_record_and_json_is_json(trained):
    home, _ = trained
    record = json.loads(command("evaluate", home / "runs/a", "--json").stdout)
    assert record["openings"] == 1 and record["examples"] == 299 and 0 < record["accuracy"] <= 1


def test_predict_prints_labels_and_writes_csv(trained, tmp_path, monkeypatch):
    home, _ = trained
    monkeypatch.chdir(home)
    inputs, _ = lamina.load("digits").take(torch.arange(2))
    for i in range(2):
        Image.fromarray(inputs[i, 0].numpy()).save(home / f"d{i}.png")
    out = command("predict", "runs/a", "d0.png", "d1.png", "--top", "2")
    lines = out.stdout.splitlines()
    assert len(lines) == 2 and lines[0].startswith("d0.png: ") and lines[0].count("%") == 2
    rows = json.loads(command("predict", "runs/a", "d0.png", "--json").stdout)
    assert rows[0]["name"] == "d0.png" and len(rows[0]["top"]) == 5
    done = command("predict", "runs/a", "d0.png", "d1.png", "-o", tmp_path / "p.csv")
    assert done.stdout == f"2 predictions written to {tmp_path / 'p.csv'}\nnext: lamina report runs/a\n"
    table = (tmp_path / "p.csv").read_text().splitlines()
    assert table[0].startswith("name,predicted,probability,p(0),p(1)") and len(table) == 3


@pytest.mark.faults("SIGTERM")
@pytest.mark.posix
def test_ctrl_c_leaves_a_run_that_resumes_to_the_same_result(trained, tmp_path):
    home, _ = trained
    words = ["train", "fnn", "--data", "digits", "--epochs", "3", "--set", "hidden=16", "--threads", "1", "--out", "b"]
    slow = "import time, lamina._screen as p\nold = p._Plain.__call__\n"
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
    done = command("resume", tmp_path / "b")
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


KINDS = ("jpg", "png", "gif", "bmp", "tif", "webp", "ppm", "avif", "jp2", "ico", "heic")


def test_photos_of_eleven_kinds_with_damaged_ones(typed, tmp_path):
    """Bright and dark photos, of which each kind has three; two are cut off, one is a web page, one is empty."""
    assert _reads_heif()
    g = torch.Generator().manual_seed(0)
    for label, low in (("hell & groß", 170), ("dunkel", 0)):
        for number in range(33):
            width, height = torch.randint(24, 60, (2,), generator=g).tolist()
            pixels = torch.randint(low, low + 80, (height, width, 3), generator=g, dtype=torch.uint8).numpy()
            path = (
                tmp_path / "photos" / label / ("deeper" if number % 4 == 0 else "") / f"{number}.{KINDS[number % 11]}"
            )
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(path)
    new = tmp_path / "new"
    shutil.copytree(tmp_path / "photos", new)
    for place, content in (("7.avif", None), ("11.jpg", None), ("page.png", b"<html>"), ("empty.jpg", b"")):
        path = tmp_path / "photos" / "dunkel" / place
        path.write_bytes(path.read_bytes()[:300] if content is None else content)
    code, out, err = typed("train", "lenet5", "--data", "photos", "--epochs", "12", "--json")
    assert code == 0 and "4 of 68 pictures cannot be read and are left out: " in err, err
    assert json.loads(out)["test"]["accuracy"] == 1.0
    (new / "dunkel" / "13.gif").write_bytes(b"GIF89a")
    code, out, err = typed("predict", json.loads(out)["run"], "new", "-o", "predictions.csv")
    assert (code, out) == (0, "65 predictions written to predictions.csv\nnext: lamina report runs/lenet5-photos\n")
    assert re.fullmatch(r"note: 1 of 66 pictures cannot be read and is left out: 1 .* \(dunkel/13\.gif\)\.\n", err), err
    with open(tmp_path / "predictions.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == sorted(row["name"] for row in rows)
    assert rows[0]["name"] == "dunkel/1.png" and rows[-1]["name"] == "hell & groß/deeper/8.jp2"
    assert all(row["predicted"] == row["name"].split("/")[0] for row in rows)


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
    "misspelt setting of the recipe": (
        ("train", "lenet5", "--set", "learning_rat=1"),
        "lenet5 has no option 'learning_rat'.*The recipe's options are .*Did you mean 'learning_rate'",
    ),
    "rate below zero": (
        ("train", "fnn", "--set", "learning_rate=-1"),
        "`learning_rate` must be greater than 0, got -1",
    ),
    "no epochs": (("train", "fnn", "--epochs", "0"), "`--epochs` must be a whole number of at least 1, got 0"),
    "no batch": (("train", "fnn", "--set", "batch_size=0"), "`batch_size` must be at least 1, got 0"),
    "word for a number": (("train", "fnn", "--set", "activation=swish"), "`activation` must be one of .*got 'swish'"),
    "gate": (("train", "logic-gate"), "logic-gate has fixed weights and cannot be trained"),
    "sequence network": (("train", "many-to-one"), "many-to-one reads sequences, but the data are of kind 'image'"),
    "pictures wanted": (
        ("train", "lenet5", "--data", "iris"),
        "lenet5 reads pictures, but the data are of kind 'table'",
    ),
    "wrong loss": (("train", "fnn", "--set", "loss=mse"), "`loss` 'mse' does not fit a classification task"),
    "augmented table": (("train", "fnn", "--data", "iris", "--set", "flip=true"), "`flip` changes pictures"),
    "device": (("train", "fnn", "--device", "cuda:7"), "`device` 'cuda:7' is not available"),
    "gpu": (("train", "fnn", "--device", "gpu"), "`device` must be one of .*, got 'gpu'. Did you mean 'cuda'?"),
    "rate with a comma": (("train", "fnn", "--set", "learning_rate=0,01"), "must be a number, got '0,01': write 0.01"),
    "half an example": (("train", "fnn", "--set", "batch_size=1.5"), "must be a whole number, got '1.5': write 2"),
    "seed": (("train", "fnn", "--set", "seed=3"), "`--set seed=3` must be written `--seed 3`"),
    "threads": (("train", "fnn", "--threads", "-3"), "`--threads` must be a whole number from 0 to 1024, got -3"),
    "truth": (("train", "fnn", "--set", "flip=maybe"), "`--set flip` must be true or false, got 'maybe'"),
    "too many epochs": (("train", "fnn", "--epochs", "9" * 12), "`epochs` must be at most 1,000,000, got 999,999"),
    "horizon": (
        ("train", "many-to-one", "--data", "wave", "--read", "horizon=abc"),
        "`--read horizon` must be a whole number, got 'abc'",
    ),
    "reading option": (
        ("train", "fnn", "--data", "moons", "--read", "nois=1"),
        "'moons' has no option 'nois'.*'noise'",
    ),
    "verb": (("trian", "fnn"), "`lamina` has no command 'trian'. Did you mean 'train'?"),
    "verb of data": (("data", "shwo"), "`lamina data` has no command 'shwo'. Did you mean 'show'?"),
    "flag": (("train", "fnn", "--epcohs", "3"), "`lamina train` has no option '--epcohs'. Did you mean '--epochs'?"),
    "inputs of inspect": (("inspect", "lenet5", "--inputs", "3"), "`inputs` must be 3 sizes such as 8,8,8, got"),
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
    "all missing": ("a,b,label\n" + "".join(f",,{'xy'[i % 2]}\n" for i in range(30)), (), "no column to learn from"),
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


def test_a_folder_with_a_bad_file_at_prediction(typed, trained, tmp_path):
    home, _ = trained
    shutil.copytree(home / "runs/a", tmp_path / "a")
    (tmp_path / "new" / "deep").mkdir(parents=True)
    Image.new("L", (8, 8), 9).save(tmp_path / "new" / "deep" / "b.png")
    (tmp_path / "new" / "a.png").write_bytes(b"")
    code, out, err = typed("predict", "a", "new", "--top", "1")
    assert code == 0 and re.fullmatch(r"deep/b\.png: \d [\d.]+%\n", out)
    assert err == "note: 1 of 2 pictures cannot be read and is left out: 1 empty (a.png).\n"


def test_an_unseen_category_at_prediction(typed, tmp_path):
    rows = "".join(f"{i % 9},{'rgb'[i % 3]},{'xy'[i % 2]}\n" for i in range(60))
    path = table(tmp_path, "n,color,label\n" + rows)
    code, out, err = typed("train", "fnn", "--data", path, "--epochs", "1", "--json")
    assert code == 0, err
    new = table(tmp_path, "n,color\n3,violet\n", "new.csv")
    code, out, err = typed("predict", json.loads(out)["run"], new)
    assert code == 0 and out.startswith("1: ")
    said = "note: categories that no training row has count as other: 'color' in 1 of 1 rows.\n"
    assert err == said
    labeled = table(tmp_path, "n,color,label\n3,violet,x\n", "labeled.csv")
    code, _, err = typed("evaluate", "runs/fnn-t", labeled)
    assert code == 0 and err == said
    code, out, _ = typed("train", "fnn", "--data", path, "--epochs", "1", "--read", "unknown=error", "--json")
    code, _, err = typed("predict", json.loads(out)["run"], new)
    assert code == 2 and "column 'color' holds 'violet', which is not in the training data" in err


def test_a_passenger_list_trains_and_predicts_without_an_option(typed, tmp_path):
    head = "PassengerId,Survived,Pclass,Name,Sex,Age,Ticket,Cabin,Embarked\n"
    cells = (
        lambda i: f'{i + 1},{int(i % 3 == 0)},{i // 5 % 3 + 1},"N{i}, Mr. A",{"male" if i % 3 else "female"}',
        lambda i: f"{'' if i % 5 == 0 else 20 + i % 40},{'A/5 ' * (i % 2)}{1000 + i // 3}",
        lambda i: f"{f'C{i}' if i % 8 == 0 or i < 9 else ''},{'SCQ'[i // 4 % 3]}",
    )
    lines = (",".join(cell(i) for cell in cells) + "\n" for i in range(300))
    path = table(tmp_path, head + "".join(lines))
    code, out, err = typed("train", "fnn", "--data", path, "--target", "Survived", "--epochs", "60")
    assert code == 0, err
    assert "categories that no training example has count as other: 'Ticket' in " in out
    assert "training rows (in a small table, 1 % of them) share one input per column with unknown ones: " in out
    left = [line.split(":")[0] for line in out.splitlines() if "left out" in line]
    assert left == [f"Column '{name}' is left out" for name in ("PassengerId", "Name", "Cabin")] and not err
    assert float(out.split("test: ")[1].split("accuracy ")[1].split(",")[0]) > 0.95  # the sex says it
    new = table(tmp_path, head.replace("Survived,", "") + '9,3,"X, Mrs. Y",female,,NEW 7,,\n', "new.csv")
    code, out, err = typed("predict", "runs/fnn-t", new)
    assert code == 0 and out.startswith("1: 1 ") and "count as other: 'Ticket' in 1 of 1 rows" in err


def test_dates_order_the_split_on_request(typed, tmp_path):
    days = [f"{1 + i % 28}.{1 + i // 28 % 12}.{2022 + i // 336}" for i in range(600)]
    rows = "".join(f"{day},{i % 7}.5,{10 + i // 28 % 12}.5\n" for i, day in enumerate(days))
    path = table(tmp_path, "sold,x,price\n" + rows)
    code, out, err = typed("train", "fnn", "--data", path, "--epochs", "40", "--read", "time=sold")
    assert code == 0, err
    assert "400 training, 100 validation and 100 test examples, in order of time." in out
    assert "The date 'sold' becomes year, days, month, weekday; days are counted from 2022-01-01." in out
    new = table(tmp_path, "x,sold\n1.5,5.3.2023\n1.5,2023-09-05\n", "new.csv")
    code, out, err = typed("predict", "runs/fnn-t", new)
    spring, autumn = (float(line.split(": ")[1]) for line in out.splitlines())
    assert code == 0 and autumn - spring > 3  # the price follows the month: 12.5 in March, 18.5 in September


def test_a_folder_that_cannot_be_written(typed, tmp_path):
    if not hasattr(os, "geteuid") or os.geteuid() == 0:
        (tmp_path / "file").write_text("")
        code, _, err = typed("train", "fnn", "--data", "moons", "--epochs", "1", "--out", "file/run")
    else:
        (tmp_path / "locked").mkdir(mode=0o500)
        code, _, err = typed("train", "fnn", "--data", "moons", "--epochs", "1", "--out", "locked/run")
    assert code == 2 and "Choose another with --out" in err


@pytest.mark.faults("full disk")
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


def test_a_german_bank_export_needs_a_target_only(typed):
    kinds = {"Miete": "-950,00", "Lebensmittel": "-61,35", "Gehälter": "3.200,10", "Übertrag": "1.500,00"}
    rows = [
        f'{kind};"Müller, {i % 3}";{i % 9 + 1}.{i:03},50 €;{i} %;{kinds[kind]}' for i in range(60) for kind in kinds
    ]
    names = "Kategorie;Empfänger;Kontostand;Anteil;Betrag"
    Path("bank.csv").write_bytes("\r\n".join([names, *rows, ""]).encode("cp1252"))
    Path("neu.csv").write_bytes("\r\n".join([names, *rows[120:124], ""]).encode("cp1252"))
    code, out, err = typed("train", "fnn", "--data", "bank.csv", "--target", "Betrag", "--epochs", "60")
    assert code == 0 and not err, err
    told = out.splitlines()
    code, out, _ = typed("predict", "runs/fnn-bank", "neu.csv")
    found = [float(line.split(": ")[1]) for line in out.splitlines()]
    assert code == 0 and found == pytest.approx([-950, -61.35, 3200.1, 1500], abs=300)
    spec = lamina.Run.load("runs/fnn-bank").task.spec
    assert spec.features == ("Kategorie", "Empfänger", "Kontostand", "Anteil")
    assert spec.levels[0] == ("Gehälter", "Lebensmittel", "Miete", "Übertrag")
    assert spec.reading == (("delimiter", ";"), ("encoding", "cp1252"), ("decimal", ","))
    assert spec.notes[:3] == (
        "The file is not UTF-8; it is read as cp1252 (give `encoding` if letters look wrong).",
        "The comma is the decimal mark in the columns 'Kontostand', 'Betrag'.",
        "The percent sign is dropped in the column 'Anteil': 62 % is read as 62.",
    )
    assert told[: len(spec.notes)] == list(spec.notes) and told[len(spec.notes)].startswith("bank.csv: 160 training")


def test_forecasts_with_intervals(typed):
    rows = "".join(f"2024-{1 + i // 28:02}-{1 + i % 28:02},{i % 7}.5,{i % 5}\n" for i in range(120))
    Path("s.csv").write_text("date,sales,visits\n" + rows)
    words = ("train", "many-to-one", "--data", "s.csv", "--read", "window=6", "--epochs", "1", "--out", "r")
    assert typed(*words, "--read", "kind=series")[0] == 0
    (row,) = json.loads(typed("predict", "r", "s.csv", "--coverage", "0.5", "--json")[1])
    (a, (a0, a1)), (b, (b0, b1)) = zip(row["outputs"], row["intervals"], strict=True)
    code, out, _ = typed("predict", "r", "s.csv", "--coverage", "0.5")
    assert code == 0 and out == f"2024-05-09: {a:.6g} [{a0:.6g}, {a1:.6g}], {b:.6g} [{b0:.6g}, {b1:.6g}]\n"
    assert a0 < a < a1 and b0 < b < b1
    assert typed("predict", "r", "s.csv")[1] == f"2024-05-09: {a:.6g}, {b:.6g}\n"
    assert typed("predict", "r", "s.csv", "-o", "o.csv")[1].splitlines()[0] == "1 prediction written to o.csv"


def test_what_was_decided_about_a_table_is_told_once(typed):
    rows = "".join(f"{i},same,{i * 7 % 40}.5,{'' if i == 3 else i % 2}\n" for i in range(40))
    Path("t.csv").write_text("id,flat,x,y\n" + rows)
    words, sentence = ("--data", "t.csv", "--target", "y"), "Column 'flat' is left out: it is 'same' in every row."
    for line in (
        ("train", "fnn", *words, "--epochs", "1"),
        ("search", "fnn", "hidden=4,8", *words, "--epochs", "1", "--grid"),
        ("cross-validate", "fnn", *words, "--epochs", "1", "--folds", "2"),
        ("data", "show", *words[1:]),
    ):
        code, out, err = typed(*line)
        assert code == 0 and err == "", line
        for note in (sentence, "1 row without the target 'y' is left out.", "Insist with `keep`."):
            assert out.splitlines().count(note) == 1, line
    code, out, err = typed("train", "fnn", *words, "--epochs", "1", "--json")
    assert code == 0 and len(out.splitlines()) == 1 and err.count(sentence) == 1
    assert typed("train", "fnn", *words, "--epochs", "1", "--quiet")[2] == ""


_DAYS = [(i % 9, i % 5, 1 + i % 3, i % 5 > 2, i % 9 < 4) for i in range(45)]
WEATHER = "warm,wet,days,rain,snow,weather\n" + "".join(
    f"{warm},{wet},{days},{int(rain)},{int(snow)},{';'.join(['rain'] * rain + ['snow'] * snow)}\n"
    for warm, wet, days, rain, snow in _DAYS
)


def test_several_labels_are_trained_and_predicted(typed, tmp_path):
    (tmp_path / "w.csv").write_text(WEATHER)
    train = ("train", "fnn", "--data", "w.csv", "--epochs", "2", "--read", "weight=days")
    code, out, _ = typed(*train, "--read", "drop=rain,snow", "--out", "lists")
    assert code == 0 and "stratified by label, weighted by 'days', seed 0." in out
    assert "The cells of 'weather' are read as lists of 2 labels separated by ';': rain, snow (task='classif" in out
    code, _, err = typed(*train, "--target", "rain,snow", "--read", "drop=weather,", "--out", "columns")
    assert code == 0, err
    weights = [(tmp_path / run / "weights.safetensors").read_bytes() for run in ("lists", "columns")]
    assert weights[0] == weights[1]
    (tmp_path / "new.csv").write_text("wet,warm\n4,1\n0,8\n")
    values = lamina.Run.load(tmp_path / "lists").predict(tmp_path / "new.csv")
    code, out, _ = typed("predict", "lists", "new.csv")
    first = ", ".join(f"{name} {p:.1%}" for name, p in zip(("rain", "snow"), values.values[0].tolist(), strict=True))
    assert out.splitlines()[0] == f"1: {values.texts[0]} ({first})"
    typed("predict", "lists", "new.csv", "-o", "p.csv")
    with (tmp_path / "p.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[0][-3:] == ["predicted", "p(rain)", "p(snow)"]
    assert rows[2][-3:] == [values.texts[1], *map(str, values.values[1].tolist())]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--target", "rain,wet,fog"), "has no column 'fog' for `target`"),
        (("--read", "weight=weight"), "has no column 'weight' for `weight`"),
        (("--read", "group=house"), "has no column 'house' for `group`"),
        (("--set", "loss=nll"), "`loss` 'nll' does not fit a multilabel task: use 'bce' or leave it out"),
    ],
)
def test_targets_and_weights_that_are_not_there(typed, tmp_path, words, sentence):
    (tmp_path / "w.csv").write_text(WEATHER)
    code, _, err = typed("train", "fnn", "--data", "w.csv", *words)
    assert code == 2 and sentence in err and err.count("\n") == 1


def test_coverage_adds_intervals_or_sets(typed, tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(f"{i},{2 * i + (i % 3)}\n" for i in range(90)))
    common = ("--epochs", "5", "--set", "hidden=8", "--threads", "1")
    assert typed("train", "fnn", "--data", "t.csv", "--target", "y", "--out", "runs/n", *common)[0] == 0
    code, out, err = typed("predict", "runs/n", "t.csv", "--coverage", "0.8", "--json")
    first = json.loads(out)[0]
    (low, high), found = first["intervals"][0], lamina.Run.load("runs/n").predict("t.csv", coverage=0.8)
    assert code == 0 and low == pytest.approx(found.lower[0, 0].item()) and low < first["outputs"][0] < high
    out = typed("predict", "runs/n", "t.csv", "--coverage", "0.8")[1].splitlines()[0]
    assert out == f"1: {first['outputs'][0]:.6g} [{low:.6g}, {high:.6g}]"
    typed("predict", "runs/n", "t.csv", "--coverage", "0.8", "-o", "p.csv")
    head, row = (line.split(",") for line in Path("p.csv").read_text().splitlines()[:2])
    assert head[-3:] == ["predicted", "lower", "upper"] and float(row[-1]) == pytest.approx(high)
    assert typed("train", "fnn", "--data", "iris", "--out", "runs/c", *common)[0] == 0
    names = ("sepal length (cm)", "sepal width (cm)", "petal length (cm)", "petal width (cm)")
    Path("m.csv").write_text(f"{','.join(names)}\n6,3,5,1.7\n")
    names = lamina.Run.load("runs/c").predict("m.csv", coverage=0.95).sets[0]
    assert json.loads(typed("predict", "runs/c", "m.csv", "--coverage", "0.95", "--json")[1])[0]["set"] == list(names)
    assert typed("predict", "runs/c", "m.csv", "--coverage", "0.95")[1].startswith(f"1: {{{', '.join(names)}}}; ")
    typed("predict", "runs/c", "m.csv", "--coverage", "0.95", "-o", "p.csv")
    head, row = (line.split(",") for line in Path("p.csv").read_text().splitlines()[:2])
    assert head[-1] == "set" and row[-1] == "; ".join(names)
    code, out, err = typed("predict", "runs/n", "t.csv", "--coverage", "0.99")
    assert code == 2 and "`coverage` 0.99 needs at least 99 calibration examples" in err and "got 15" in err


def test_a_linear_model_that_does_as_well_is_named_with_the_command_that_trains_it(typed, tmp_path):
    draw = random.Random(0)
    rows = [(draw.gauss(0, 1), draw.gauss(0, 1)) for _ in range(180)]
    lines = [f"{a},{b},{3 * a - b + draw.gauss(0, 2)},{abs(a) * 10}" for a, b in rows]
    (tmp_path / "my table.csv").write_text("a,b,line,bend\n" + "\n".join(lines) + "\n")
    words = ("train", "fnn", "--data", "my table.csv", "--epochs", "30", "--seed", "1")
    code, out, _ = typed(*words, "--read", "drop=bend", "--target", "line", "--out", "run")
    said = next(line for line in out.splitlines() if line.startswith("A linear model does "))
    command = said.partition("Train one with:  lamina ")[2]
    assert code == 0 and command == "train perceptron --data 'my table.csv' --target line --read drop=bend, --seed 1"
    linear = json.loads((tmp_path / "run/evaluation.json").read_text())["linear"]
    assert f"(R² {linear['linear']:.2f} against {linear['network']:.2f} on 30 validation examples)" in said
    code, out, _ = typed(*shlex.split(command), "--json")
    best = json.loads((tmp_path / json.loads(out)["run"] / "evaluation.json").read_text())
    assert code == 0 and best["linear"] is None and 0.4 < best["metrics"]["r2"] < 0.95
    bent = json.loads(typed(*words, "--read", "drop=line", "--target", "bend", "--out", "bend", "--json")[1])
    assert bent["linear"]["linear"] < 0.3 < 0.9 < bent["linear"]["network"]
    assert "A linear model" not in (tmp_path / "bend/report.html").read_text(encoding="utf-8")


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
        ("x\n3\n", "has no column 'kind' for `target`: it has the column 'x'"),
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


def test_a_run_is_trained_longer_and_a_taken_name_is_refused(typed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("train", "fnn", "--data", "moons", "--epochs", "1", "--out", "r", "-q")
    assert typed(*words)[:2] == (0, "r\n")
    code, _, err = typed(*words)
    assert code == 2 and "`--out` r exists, and no run overwrites another: choose another name, or add --again" in err
    assert typed(*words, "--again")[:2] == (0, "r-2\n")
    assert typed("resume", "r", "--epochs", "3", "--set", "learning_rate=1e-4", "-q")[:2] == (0, "r\n")
    report = typed("report", "r", "--format", "md", "-o", "-")[1]
    assert "lamina resume RUN --epochs 3 --set learning_rate=0.0001" in " ".join(report.replace("\\", "").split())
    assert "RUN is the folder of the new run" in report and "up to update" in report
    code, _, err = typed("train", "--config", "r", "fnn")
    assert code == 2 and "was continued with another recipe, which takes more than one command to repeat" in err
    code, _, err = typed("resume", "r", "--epochs", "1")
    assert code == 2 and "`epochs` must be at least 3" in err


def test_units_are_read_as_numbers_kept_for_reports_and_expected_again(typed):
    rows = "".join(f"{30 + i * 7 % 90} m²,{90 + i * 21 % 270}.5 kg\n" for i in range(60))
    Path("t.csv").write_text("area,mass\n" + rows)
    code, out, err = typed("train", "fnn", "--data", "t.csv", "--epochs", "2", "--out", "r")
    assert code == 0 and "Units behind numbers are dropped: m² in 'area', kg in 'mass'." in out.splitlines(), err
    assert "epoch 2/2  rmse " in out and "(mass in kg)" in out.split("test: ")[1]
    assert "mass in kg" in Path("r/report.html").read_text(encoding="utf-8")
    Path("new.csv").write_text("area\n55 m²\n55\n")
    first, second = typed("predict", "r", "new.csv")[1].splitlines()
    assert first.split(": ")[1] == second.split(": ")[1]
    Path("feet.csv").write_text("area\n55 ft\n")
    code, _, err = typed("predict", "r", "feet.csv")
    assert code == 2 and "column 'area' must hold numbers as in training, got '55 ft' in row 1" in err
