"""Pictures and rows are read from files, arrays and tables."""

import csv
import json

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import lamina
from lamina._errors import DataError, ShapeError
from lamina.data.preprocess import Preprocess
from lamina.training.fit import fit
from lamina.training.recipe import Adam, Recipe
from lamina.training.runtime import Runtime
from lamina.training.tasks.arrays import Arrays, _thumbnail


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
    with pytest.raises(DataError, match=r"note.doc is not a table \(.csv, .tsv, .txt, .parquet, .pq\)"):
        (tmp_path / "note.doc").write_text("x")
        run.predict(tmp_path / "note.doc")
    text = tmp_path / "rows.txt"  # what can be trained on can be predicted
    text.write_text(table.read_text())
    torch.testing.assert_close(run.predict(text).values, found.values)


def test_wrong_shapes_are_refused(digits):
    with pytest.raises(ShapeError, match=r"examples must have the shape \(1, 8, 8\) of the training data, got \(3,\)"):
        digits.predict(np.zeros((5, 3)))


def test_thumbnails_are_small_pngs():
    assert _thumbnail(torch.zeros(3, 500, 400, dtype=torch.uint8)).startswith("data:image/png;base64,")
    assert json.dumps(_thumbnail(torch.rand(1, 8, 8)))


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
