"""The playground for own data: uploads, options, runs that equal the command line's, and what the server gives out."""

import asyncio
import io
import json
import math
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from lamina._errors import ArgumentError, DataError
from lamina.architectures.table import TABLE
from lamina.pages.kit import keeping
from lamina.pages.chapters.tools.playground import settings
from lamina.pages.chapters.tools.shared import answers, command, curves, duration, links
from lamina.pages.chapters.tools.playground.own_data import NEW, columns, store, without
from lamina.pages.kit.uploads import LARGEST
from lamina.pages.chapters.tools.playground.work import Order, ask, learn
from safety import changes, state


@dataclass
class File:
    name: str
    contents: bytes


def table(rows=60):
    lines = [f"{i / rows:.3f},{(7 * i) % rows / rows:.3f},{'high' if i * 2 >= rows else 'low'}" for i in range(rows)]
    return "first,second,kind\n" + "\n".join(lines) + "\n"


def packed(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, contents in members.items():
            archive.writestr(name, contents)
    return out.getvalue()


def png(shade):
    from PIL import Image

    out = io.BytesIO()
    Image.new("L", (8, 8), shade).save(out, "PNG")
    return out.getvalue()


def last(order, shelf):
    before, folder = state(), os.getcwd()
    rows = [(row, changes(before, state()), os.getcwd()) for row in learn(order, str(shelf))]
    assert all(changed == [] and there == folder for _, changed, there in rows)  # nothing is held between two rows
    return rows[-1][0]


def test_a_table_is_stored_under_its_own_name(tmp_path):
    kept = store(File("../my table.csv", table().encode()), tmp_path)
    assert (kept.name, columns(kept)) == ("my table.csv", ("first", "second", "kind"))
    assert Path(kept.folder).parent == tmp_path and Path(kept.folder, kept.name).read_text() == table()


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (File("a.exe", b""), r"a\.exe must end in \.csv, .*: choose another file"),
        (File("a.csv", b"x" * (LARGEST + 1)), "a.csv has 20 MB, a page takes 20: use the command line"),
        (File("a.zip", b"no zip"), r"a\.zip cannot be unpacked: File is not a zip file; make the archive again"),
        (File("a.zip", packed({"x/readme.md": b""})), r"a\.zip holds no pictures"),
        (
            File("a.zip", packed({"x/cat/1.png": b""})),
            r"a\.zip has pictures in one folder only, 'cat': put those of each class",
        ),
        (File("a.zip", packed({"../evil/1.png": b"", "/b/1.png": b""})), r"a\.zip holds no pictures"),
    ],
)
def test_bad_uploads_are_refused_in_one_sentence(tmp_path, file, words):
    with pytest.raises(DataError, match=words):
        store(file, tmp_path)
    assert not list(tmp_path.rglob("*.png"))


def test_an_archive_with_too_much_inside_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("lamina.pages.chapters.tools.playground.own_data.UNPACKED", 10)
    with pytest.raises(DataError, match=r"a\.zip holds 2 files of 0 MB, a page takes 20,000 of 0 MB: use the command"):
        store(File("a.zip", packed({"a/1.png": png(0), "b/1.png": png(9)})), tmp_path)


def test_names_that_cannot_be_written_are_refused(tmp_path):
    long = "x" * 300
    with pytest.raises(DataError, match=r"a\.zip has names that this machine cannot write"):
        store(File("a.zip", packed({f"{long}/1.png": png(0), "b/1.png": png(9)})), tmp_path)


def test_an_empty_table_is_named_without_its_folder(tmp_path):
    kept = store(File("rows.csv", b""), tmp_path)
    with pytest.raises(DataError, match=r"^`rows\.csv` is empty"):
        columns(kept)


def test_a_sentence_loses_the_folder():
    assert without("/tmp/a/b.csv and /tmp/a", "/tmp/a") == "b.csv and ."


@pytest.mark.parametrize("name", [name for name in TABLE if name != "logic-gate"])
def test_every_option_of_every_network_can_be_left_alone_or_chosen(name):
    options = settings.network_options(name)
    assert options and not {"inputs", "outputs"} & {option.name for option in options}
    assert settings.given(options, dict.fromkeys([option.name for option in options], settings.USUAL)) == {}
    words = {option.name: option.choices for option in options}
    assert ("activation" not in words) or "relu" in words["activation"]
    assert ("cell" not in words) or words["cell"] == ("rnn", "gru", "lstm")


def test_typed_options_are_key_and_value():
    assert settings.more("momentum=0.9 hidden=8,4") == {"momentum": 0.9, "hidden": (8, 4)}
    with pytest.raises(ArgumentError, match="an option is written as key=value, got 'momentum': for example"):
        settings.more("momentum")


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
    kept = store(File("rows.csv", table().encode()), shelf.root)
    found = last(Order("fnn", kept.name, kept.folder, epochs=1), shelf.root)
    report = shelf.report(found["run"])
    assert "rows.csv" in report and str(tmp_path) not in report and "<script" not in report
    with zipfile.ZipFile(shelf.packed(found["run"])) as archive:
        names = archive.namelist()
        assert str(tmp_path).encode() not in b"".join(archive.read(name) for name in names)
    assert {"fnn-rows/weights.safetensors", "fnn-rows/report.html"} <= set(names)
    assert not any("checkpoints" in name for name in names)
    shelf.clear()
    assert shelf.report(found["run"]) is None


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


def test_old_entries_make_room(tmp_path):
    first = keeping.entry(tmp_path, most=2)
    os.utime(first, (1, 1))
    second, third = keeping.entry(tmp_path, most=2), keeping.entry(tmp_path, most=2)
    assert not first.exists() and second.exists() and third.exists()


def test_the_server_gives_out_reports_by_their_names_only(tmp_path, monkeypatch):
    from lamina.pages.site.server import build

    monkeypatch.setattr(keeping.tempfile, "gettempdir", lambda: str(tmp_path))
    home = keeping.entry(keeping.SHELF.root)
    (home / "run").mkdir()
    (home / "run" / "report.html").write_text("<p>the report</p>")
    (home / "run.zip").write_bytes(b"PK")
    secret = home / "secret.txt"
    secret.write_text("no")
    app = build()
    status, headers, body = get(app, f"/runs/{home.name}")
    assert (status, body) == (200, "<p>the report</p>") and b"default-src 'none'" in headers[b"content-security-policy"]
    status, headers, body = get(app, f"/runs/{home.name}/run.zip")
    assert (status, body) == (200, "PK") and b"attachment" in headers[b"content-disposition"]
    for path in (f"/runs/{home.name}/secret.txt", f"/runs/{home.name}/", "/runs/", "/runs/..", "/runs/" + "x" * 22,
                 f"/runs/../{home.name}", f"/runs/{home.name}/../run.zip", "/runs/%2e%2e/run.zip"):  # fmt: skip
        assert get(app, path)[0] == 404, path


def get(app, path):
    sent = []
    scope = {"type": "http", "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
             "method": "GET", "headers": [(b"host", b"127.0.0.1:2718")]}  # fmt: skip

    asked = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive():
        return asked.pop() if asked else await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], dict(sent[0]["headers"]), body.decode()


def test_what_a_visitor_named_is_escaped():
    assert "<b>" not in command("lamina train fnn --data '<b>.csv'").text
    shown = answers([{"values": {"<b>": "<i>"}, "truth": "<u>", "answer": "x", "sure": 0.5}]).text
    assert not any(word in shown for word in ("<b>", "<i>", "<u>")) and "x (50%)" in shown
    assert "run.zip" in links("abc", True).text and "run.zip" not in links("abc", False).text


def test_curves_of_nothing_and_of_one_epoch_can_be_drawn():
    for history in ([], [(1, 0.5, None, None, None)]):
        assert len(curves({"epochs": 2, "score": "", "history": history})) == 2
    assert duration(119) == "119 s"
