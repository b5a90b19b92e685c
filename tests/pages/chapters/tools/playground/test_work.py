"""The work of the page tools/playground: numbers by hand, and what the notes say of them."""

import json
import math
import os
import zipfile
from pathlib import Path

import pytest

from lamina.pages.chapters.tools.playground._own_data import NEW, columns, store
from lamina.pages.chapters.tools.playground._work import Order, ask, learn
from lamina.pages.kit import _keeping as keeping
from safety import changes, state
from uploads import File, packed, png, table


def last(order, shelf):
    before, folder = state(), os.getcwd()
    rows = [(row, changes(before, state()), os.getcwd()) for row in learn(order, str(shelf))]
    assert all(changed == [] and there == folder for _, changed, there in rows)  # nothing is held between two rows
    return rows[-1][0]


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (Order("fnn", "nowhere.csv"), r"^`nowhere\.csv` does not exist: check the path\.$"),
        (Order("lenet5", "iris"), "lenet5 reads pictures, but the data are of kind 'table': use fnn"),
        (Order("fnn", "iris", options=(("hiden", 3),)), "hiden"),
        (Order("fnn", "iris", options=(("dropout", 2.0),)), r"`dropout` must be in \[0"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(tmp_path, order, words):
    import re

    found = last(order, tmp_path)
    assert (
        found["stage"] == "refused" and re.search(words, found["sentence"]) and str(tmp_path) not in found["sentence"]
    )


def test_a_loss_that_is_not_finite_ends_with_a_diagnosis(tmp_path):
    order = Order("fnn", "iris", options=(("optimizer", "minibatch"), ("learning_rate", 1e30)), epochs=3)
    found = last(order, tmp_path)
    assert found["stage"] == "failed" and found["run"] and "step" in found["sentence"]


@pytest.mark.notes("N1.67")
def test_a_run_of_the_page_equals_that_of_its_command(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from lamina.cli import app

    kept = store(File("rows.csv", table().encode()), tmp_path / "shelf")
    order = Order("fnn", kept.name, kept.folder, "kind", options=(("hidden", (6,)), ("learning_rate", 0.02)), epochs=4)
    found = last(order, tmp_path / "shelf")
    assert (found["stage"], found["openings"], found["tested"], len(found["history"])) == ("done", 1, 10, 4)
    monkeypatch.chdir(kept.folder)
    words = order.command.replace("\\\n", " ").split()[1:]
    said = CliRunner().invoke(app, [*words, "--threads", "1", "--out", str(tmp_path / "run"), "--json"])
    assert said.exit_code == 0, said.output
    assert json.loads(said.stdout.splitlines()[-1])["test"] == found["metrics"]


def test_the_report_names_no_folder_of_this_machine_and_the_archive_holds_the_run(tmp_path, monkeypatch):
    shelf = keeping.Shelf()
    monkeypatch.setattr(keeping.tempfile, "gettempdir", lambda: str(tmp_path))
    kept = store(File("rows.csv", table().encode()), shelf.mine)
    found = last(Order("fnn", kept.name, kept.folder, epochs=1), shelf.mine)
    report = shelf.report(found["run"])
    assert "rows.csv" in report and str(tmp_path) not in report and "<script" not in report
    with zipfile.ZipFile(shelf.packed(found["run"])) as archive:
        names = archive.namelist()
        assert str(tmp_path).encode() not in b"".join(archive.read(name) for name in names)
    assert {"fnn-rows/weights.safetensors", "fnn-rows/report.html"} <= set(names)
    assert not any("checkpoints" in name for name in names)
    shelf.clear()
    assert shelf.report(found["run"]) is None


def test_folders_of_pictures_train_and_a_picture_is_asked_about(tmp_path):
    members = {
        f"shades/{kind}/{i}.png": png(base + 3 * i) for kind, base in (("dark", 0), ("light", 180)) for i in range(12)
    }
    kept = store(File("shades.zip", packed(members)), tmp_path)
    assert kept.name == "./shades" and columns(kept) == ()
    order = Order("fnn", kept.name, kept.folder, options=(("hidden", (4,)), ("learning_rate", 0.05)), epochs=30)
    found = last(order, tmp_path)
    assert found["metrics"]["accuracy"] == 1.0 and found["kind"] == "image"
    assert {each["answer"] for each in found["examples"]} == {"dark", "light"}
    new = store(File("new.png", png(5)), tmp_path, NEW)
    row = next(ask(str(tmp_path / found["run"] / found["folder"]), "", new.folder, new.name, 1))
    assert row["rows"][0][0] == "dark" and math.isclose(
        sum(float(p.rstrip("%")) for _, p in row["rows"]), 100, abs_tol=0.2
    )


@pytest.mark.slow
def test_pairs_texts_and_a_running_text_train_and_answer(tmp_path):
    nouns, verbs = ("cat Tier", "dog Hund", "cow Rind"), ("sleeps ruht", "runs rennt", "eats frisst", "sings singt")
    both = [(*noun.split(), *verb.split()) for noun in nouns for verb in verbs]
    pairs = "".join(f"the {a} {b}\tdas {x} {y}\n" for a, x, b, y in both)
    texts = "text,label\n" + "".join(
        f"a {w} film {i},{k}\n" for i in range(20) for w, k in (("good", "yes"), ("bad", "no"))
    )
    running = "the cat sat on the mat. the dog sat on the log.\n" * 60
    cases = (("seq2seq", "pairs.tsv", pairs, "translation"), ("many-to-one", "films.csv", texts, "classification"),
             ("many-to-many", "story.txt", running, "language"))  # fmt: skip
    for network, name, contents, task in cases:
        kept = store(File(name, contents.encode()), tmp_path)
        found = last(Order(network, kept.name, kept.folder, epochs=2), tmp_path)
        assert (found["stage"], found["task"]) == ("done", task), found.get("sentence")
        assert found["examples"][0]["answer"]
        run = str(tmp_path / found["run"] / found["folder"])
        # A text is never taken for the name of a file.
        row = next(ask(run, str(Path(kept.folder, kept.name)), "", "", 1))
        assert row["rows"] and contents.splitlines()[0] not in str(row["rows"])


def test_asking_without_a_file_says_so(tmp_path):
    found = last(Order("fnn", "iris", epochs=1), tmp_path)
    run = str(tmp_path / found["run"] / found["folder"])
    assert next(ask(run, "", "", "", 1))["rows"] == [
        ("a file is missing", "choose one with rows or a picture as in training")
    ]
    new = store(File("new.csv", b"a,b\n1,2\n"), tmp_path)
    said = next(ask(run, "", new.folder, new.name, 2))["sentence"]
    assert str(tmp_path) not in said
