"""Pictures and rows are read from files, arrays and tables."""

import csv

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from PIL import Image
from torch import nn

import lamina
from lamina._errors import DataError, DataWarning, ShapeError
from lamina.data.preprocess import Preprocess
from lamina.training.fit import fit
from lamina.training.recipe import Adam, Recipe
from lamina.training.runtime import Runtime
from lamina.training.tasks.arrays import Arrays


def test_pictures_are_read_from_files_and_folders(digits, tmp_path):
    inputs, _ = lamina.load("digits").take(torch.arange(3))
    for i, image in enumerate(inputs):
        Image.fromarray(image[0].numpy()).save(tmp_path / f"ä {i}.png")
    one = digits.predict(str(tmp_path / "ä 0.png"))
    assert one.names == ("ä 0.png",) and torch.equal(one.values, digits.predict(inputs[:1]).values)
    assert digits.predict(tmp_path).names == ("ä 0.png", "ä 1.png", "ä 2.png")
    assert len(digits.predict([tmp_path / "ä 0.png", tmp_path / "ä 2.png"])) == 2
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no pictures"):
        digits.predict(tmp_path / "empty")
    with pytest.raises(DataError, match="does not exist: check the name"):
        digits.predict("no.png")


def test_folders_are_read_with_all_folders_in_them(digits, tmp_path):
    inputs, _ = lamina.load("digits").take(torch.arange(4))
    places = ["b/é deep/0.png", "a-1.png", "a/2.PNG", "a/z.png"]
    for place, image in zip(places, inputs, strict=True):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image[0].numpy()).save(tmp_path / place)
    for name in ("Thumbs.db", ".DS_Store", "a/._2.png", "a/2.json", "b/notes.txt", ".hidden.png"):
        (tmp_path / name).write_bytes(b"x")
    found = digits.predict(tmp_path)
    assert found.names == ("a-1.png", "a/2.PNG", "a/z.png", "b/é deep/0.png")
    torch.testing.assert_close(found.values, digits.predict(inputs[[1, 2, 3, 0]]).values)
    again = digits.predict([tmp_path / "b", tmp_path / "a" / "2.PNG"])
    assert again.names == ("é deep/0.png", "2.PNG")
    (tmp_path / "b" / "2.PNG").write_bytes((tmp_path / "a/2.PNG").read_bytes())
    twice = digits.predict([tmp_path / "a", tmp_path / "b"])
    whole = [(tmp_path / name).as_posix() for name in ("a/2.PNG", "a/z.png", "b/2.PNG", "b/é deep/0.png")]
    assert list(twice.names) == whole


def test_pictures_that_cannot_be_read_are_left_out_of_a_prediction(digits, tmp_path):
    image = lamina.load("digits").take(torch.arange(1))[0][0, 0]
    for name in ("b.png", "d.png"):
        Image.fromarray(image.numpy()).save(tmp_path / name)
    (tmp_path / "a.png").write_bytes(b"")
    (tmp_path / "c.png").write_text("no picture")
    left_out = r"2 of 4 pictures .* left out: 1 empty \(a\.png\); 1 of no known picture format \(c\.png\)\.$"
    with pytest.warns(DataWarning, match=left_out) as said:
        assert digits.predict(tmp_path).names == ("b.png", "d.png")
    assert len(said) == 1
    with pytest.warns(DataWarning, match=r"1 of 2 pictures cannot be read and is left out: 1 empty \(a\.png\)"):
        assert digits.predict([tmp_path / "a.png", tmp_path / "b.png"]).names == ("b.png",)
    with pytest.raises(DataError, match=r"^none of 2 pictures can be read: 1 empty \(a\.png\); 1 of no known"):
        digits.predict([tmp_path / "a.png", tmp_path / "c.png"])
    with pytest.raises(DataError, match=r"^`a\.png` is empty \(0 bytes\): remove it or copy it again"):
        digits.predict(tmp_path / "a.png")


def test_rows_are_read_from_tables(tmp_path):
    data = lamina.load("iris")
    run = fit(lamina.build("fnn", inputs=4, outputs=3), data, Recipe(Adam(0.01), epochs=3), folder=tmp_path / "run")
    table = tmp_path / "rows.csv"
    with open(table, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(reversed(data.spec.features))
        writer.writerows(reversed(row) for row in data.inputs[:5].tolist())
    found = run.predict(table)
    torch.testing.assert_close(found.values, run.predict(data.inputs[:5]).values)
    assert found.names == ("1", "2", "3", "4", "5") and set(found.labels) <= set(data.spec.classes)
    with pytest.raises(
        DataError, match=r"note.doc is not a table \(.csv, .tsv, .txt, .*\), but the run was trained on a table"
    ):
        (tmp_path / "note.doc").write_text("x")
        run.predict(tmp_path / "note.doc")
    text = tmp_path / "rows.txt"  # what can be trained on can be predicted
    text.write_text(table.read_text())
    torch.testing.assert_close(run.predict(text).values, found.values)


def test_vectors_are_read_from_tables(tmp_path):
    path = tmp_path / "rows.csv"
    for data, names in (("xor", "y2,y1"), ("moons", "x2,x1")):
        run = fit(lamina.build("fnn", inputs=2, outputs=2), lamina.load(data), Recipe(Adam(0.01), epochs=1))
        path.write_text(f"{names}\n1,0\n0.5,0.25\n")
        by_hand = run.predict(torch.tensor([[0.0, 1.0], [0.25, 0.5]]))
        torch.testing.assert_close(run.predict(path).values, by_hand.values)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(
        DataError, match="lacks the columns 'x1', 'x2' of the training data: it has the columns 'a', 'b'"
    ):
        run.predict(path)


def test_the_next_table_is_read_as_the_first(tmp_path):
    rows = [f"{i},{i % 7}5;{'süß' if i % 2 else 'herb'};1.{i:03}\n" for i in range(30)]
    names, path = "größe;art;preis\n", tmp_path / "first.csv"
    path.write_bytes((names + "".join(rows)).encode("cp1252"))
    data = lamina.load(path, target="preis", task="regression")
    assert data.targets.tolist() == [1000 + i for i in range(30)]  # thousands, since the comma is the decimal mark
    assert data.spec.reading == (("delimiter", ";"), ("encoding", "cp1252"), ("decimal", ","))
    recipe = Recipe(Adam(0.01), epochs=2)
    fit(lamina.build("fnn", inputs=3, outputs=1), data, recipe, folder=tmp_path / "run")
    run = lamina.Run.load(tmp_path / "run")
    assert run.task.spec.reading == data.spec.reading
    new = tmp_path / "new.csv"  # which could be English
    new.write_bytes("art;größe\nsüß;1,250\nherb;2.000\n".encode("cp1252"))
    expected = run.predict(torch.tensor([[1.25, 1.0], [2000.0, 0.0]], dtype=torch.float64)).values
    assert torch.equal(run.predict(new).values, expected)
    other = tmp_path / "new.tsv"
    other.write_text("größe\tart\n1.25\tsüß\n2000\therb\n", encoding="utf-8")
    assert torch.equal(run.predict(other).values, expected)
    table = pd.DataFrame({"art": ["süß", "herb"], "größe": [1.25, 2000]})
    for what in (table, table.to_dict("records"), table.to_records(), pl.from_dict(table.to_dict("list"))):
        assert torch.equal(run.predict(what).values, expected)
    with pytest.raises(DataError, match="the table lacks the column 'größe' of the training data"):
        run.predict([{"art": "süß"}])


def test_a_series_goes_on_in_a_table(tmp_path):
    values = [i + 0.125 for i in range(40)]
    path = tmp_path / "first.csv"
    path.write_text("Tag;Wert\n" + "".join(f"{i};{value}\n".replace(".", ",") for i, value in enumerate(values)))
    data = lamina.load(path, window=4, time="Tag")
    assert data.values.flatten().tolist() == values and dict(data.spec.reading)["decimal"] == ","
    run = fit(lamina.build("fnn", inputs=4, outputs=1), data, Recipe(Adam(0.01), epochs=1), folder=tmp_path / "run")
    expected = run.predict(data.values[-4:][None]).values
    table = pd.DataFrame({"Wert": values[-4:]})
    assert torch.equal(run.predict(table).values, expected) and run.predict(table).names == ("the table",)
    (tmp_path / "new.csv").write_text(
        "date;Wert\n" + "".join(f"x;{value}\n".replace(".", ",") for value in values[-4:])
    )
    assert torch.equal(run.predict(tmp_path / "new.csv").values, expected)
    with pytest.raises(DataError, match="the table must have the columns Wert of the training series, got price"):
        run.predict([{"price": 1}, {"price": 2}])


def test_wrong_shapes_are_refused(digits):
    with pytest.raises(ShapeError, match=r"examples must have the shape \(1, 8, 8\) of the training data, got \(3,\)"):
        digits.predict(np.zeros((5, 3)))


def test_threads_are_chosen_unless_they_are_given(moons, net, monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)

    def chosen(runtime, model=None, batch=16):
        task = Arrays(Preprocess.fit(moons.train, 2), moons)
        return task.threads(runtime, model or net(), Recipe(batch_size=batch)).threads

    assert chosen(Runtime("cpu")) == 1 and chosen(Runtime("cpu", threads=3)) == 3 and chosen(Runtime("cuda")) == 0
    wide = lamina.build("fnn", inputs=2, outputs=2, hidden=(1000, 1000))
    work = 6 * 16 * (2 * 1000 + 1000 * 1000 + 1000 * 2)
    assert chosen(Runtime("cpu"), wide) == -(-work // 20_000_000) == 5
    assert chosen(Runtime("cpu"), nn.Linear(7, 2)) == 0  # what does not fit is said later


def test_predictions_stand_beside_the_rows_of_a_table(tmp_path):
    rows = "".join(f"{i};{i / 2:.1f};{'ja' if i > 14 else 'nein'}\n".replace(".", ",") for i in range(30))
    (tmp_path / "t.csv").write_text("nr;x;y\n" + rows, encoding="utf-8")
    run = lamina.fit(
        lamina.build("fnn", inputs=1, outputs=2, hidden=(4,)),
        lamina.load(tmp_path / "t.csv", target="y", drop=["nr"]),
        lamina.Recipe(epochs=2),
        folder=tmp_path / "run",
    )
    content = b"nr;x;note\n7;1,5;a\n8;;b\n"
    (tmp_path / "new.csv").write_bytes(content)
    found = run.predict(tmp_path / "new.csv").frame()
    assert found.columns == ["nr", "x", "note", "predicted", "probability", "p(ja)", "p(nein)"]
    assert found.select("nr", "x", "note").rows() == [(7, 1.5, "a"), (8, None, "b")]
    assert run.predict(content).frame().equals(found)  # what a pipe brings
    several = run.predict([tmp_path / "new.csv", tmp_path / "t.csv"]).frame()
    assert several["file"].unique(maintain_order=True).to_list() == [
        p.as_posix() for p in (tmp_path / "new.csv", tmp_path / "t.csv")
    ]
    assert len(several) == 32 and several["note"][2] is None
    with pytest.raises(DataError, match="standard input is empty: a table needs a line of column names and rows"):
        run.predict(b" ")
    lines = b'{"x": 1.5, "nr": 7}\n{"x": null, "nr": 8}\n'
    assert run.predict(lines).frame()["p(ja)"].equals(found["p(ja)"])


def test_pictures_are_not_piped(tmp_path):
    task = Arrays(Preprocess.fit(lamina.load("digits")))
    with pytest.raises(DataError, match="standard input must hold a table or texts here: name pictures by their files"):
        task.read(b"\x89PNG")
