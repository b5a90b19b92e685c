"""A run read back: predictions, evaluation once, damaged files."""

import csv
import json

import numpy as np
import pytest
import torch
from PIL import Image

import lamina
from lamina._errors import DataError, RunError, ShapeError
from lamina.training.fit import fit
from lamina.training.recipe import Adam, Recipe
from lamina.training.run import Run
from lamina.training.tasks.arrays import _thumbnail


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    net = lamina.build("fnn", inputs=64, outputs=10, hidden=(32,))
    folder = tmp_path_factory.mktemp("runs") / "digits"
    return fit(net, lamina.load("digits"), Recipe(Adam(0.01), epochs=8), folder=folder)


@pytest.fixture(scope="module")
def curve(tmp_path_factory):
    data = lamina.load("linear")
    net = lamina.build("fnn", inputs=data.spec.inputs, outputs=1, hidden=(16,), activation="tanh")
    folder = tmp_path_factory.mktemp("runs") / "curve"
    return fit(net, data, Recipe(Adam(0.02), epochs=60, batch_size=16), folder=folder)


def test_a_loaded_run_predicts_the_same(digits):
    inputs, _ = lamina.load("digits").take(torch.arange(40))
    loaded = Run.load(digits.folder)
    mine, theirs = digits.predict(inputs), loaded.predict(inputs.numpy())
    assert torch.equal(mine.values, theirs.values) and mine.labels == theirs.labels
    torch.testing.assert_close(mine.values.sum(1), torch.ones(40))
    assert mine.top(2)[0][0][1] >= mine.top(2)[0][1][1] and len(mine.top()[0]) == 5
    assert loaded.history["epoch"] == list(range(1, 9)) and loaded.reason.name == "epochs"
    assert loaded.predict(inputs[0]).names == ("0",)


@pytest.mark.notes("N1.67")
def test_the_test_split_is_opened_once_and_the_record_counts(tmp_path):
    net = lamina.build("fnn", inputs=64, outputs=10, hidden=(8,))
    run = fit(net, lamina.load("digits"), Recipe(Adam(0.01), epochs=1), folder=tmp_path / "run")
    assert run.split.openings == 0
    first = run.evaluate()
    assert run.split.openings == 1 and first.openings == 1 and first.examples == 299
    assert run.evaluate() == first and Run.load(run.folder).evaluate() == first and run.split.openings == 1
    again = run.evaluate(again=True)
    assert again.openings == 2 and run.split.openings == 2 and "opened 2 times" in str(again)
    assert again.metrics == first.metrics


def test_an_evaluation_adds_up(digits):
    found = digits.evaluate()
    test = digits.split.test._dataset
    inputs, labels = test.take(torch.arange(len(test)))
    p = digits.predict(inputs).values
    assert found.metrics["accuracy"] == (p.argmax(1) == labels).double().mean().item() > 0.9
    assert sum(map(sum, found.confusion)) == 299 and sum(found.confusion[i][i] for i in range(10)) == round(
        found.metrics["accuracy"] * 299
    )
    assert [row["examples"] for row in found.per_class] == torch.bincount(labels).tolist()
    assert sum(found.calibration["count"]) == 299 and len(found.predictions) == 299
    assert all(w["label"] != w["guess"] for w in found.worst)
    assert found.worst[0]["picture"].startswith("data:image/png;base64,")
    assert [w["confidence"] for w in found.worst] == sorted((w["confidence"] for w in found.worst), reverse=True)


def test_real_targets_come_back_in_their_units(curve):
    found = curve.evaluate()
    test = curve.split.test._dataset
    inputs, targets = test.take(torch.arange(len(test)))
    outputs = curve.predict(inputs).values[:, 0].double()
    assert found.metrics["mse"] == pytest.approx(((outputs - targets.double().flatten()) ** 2).mean().item(), rel=1e-5)
    assert found.metrics["r2"] > 0.5 and found.confusion is None and len(found.worst) > 0
    assert not curve.predict(inputs).classes


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


def test_damaged_weights_are_named(digits, tmp_path):
    import shutil

    folder = tmp_path / "run"
    shutil.copytree(digits.folder, folder)
    weights = folder / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    status = folder / "status.json"
    known = status.read_text()
    status.write_text(json.dumps({key: value for key, value in json.loads(known).items() if key != "weights"}))
    with pytest.raises(RunError, match="weights.safetensors is damaged"):
        Run.load(folder)
    other = torch.nn.Sequential(lamina.layers.linear(3, 3))
    shutil.copy(digits.folder / "weights.safetensors", weights)
    with pytest.raises(RunError, match="does not hold the weights of this architecture"):
        Run.load(folder, model=other)
    weights.unlink()
    assert torch.equal(
        Run.load(folder).predict(np.zeros((1, 8, 8), np.uint8)).values,
        digits.predict(np.zeros((1, 8, 8), np.uint8)).values,
    )
    shutil.rmtree(folder / "checkpoints")
    with pytest.raises(RunError, match="has no weights yet: it stopped before its first checkpoint"):
        Run.load(folder)


def test_flipped_bits_in_the_weights_are_noticed(digits, tmp_path):
    import shutil

    shutil.copytree(digits.folder, tmp_path / "run")
    weights = tmp_path / "run/weights.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(RunError, match="is damaged: it is not what the run wrote"):
        Run.load(tmp_path / "run")


def test_other_weights_are_another_look_at_the_test_split(tmp_path):
    from lamina.training.fit import resume

    net = lamina.build("fnn", inputs=2, outputs=2, hidden=8)
    run = fit(net, lamina.load("moons", count=120), Recipe(Adam(0.05), epochs=1), folder=tmp_path / "run")
    first = run.evaluate()
    same = resume(run.folder)
    assert same.evaluate() == first and first.openings == 1
    longer = resume(run.folder, epochs=8)
    second = longer.evaluate()
    assert second.openings == 2 and second.metrics != first.metrics and second.weights != first.weights


def test_a_damaged_history_is_named(digits, tmp_path):
    import shutil

    shutil.copytree(digits.folder, tmp_path / "run")
    (tmp_path / "run/history.jsonl").write_text("{}\nnonsense\n{}\n")
    with pytest.raises(RunError, match="history.jsonl is damaged .*resume the run, which rewrites it"):
        Run.load(tmp_path / "run")


def test_flags_are_put_back_after_a_run(tmp_path):
    before = torch.get_num_threads()
    net = lamina.build("fnn", inputs=2, outputs=2, hidden=8)
    runtime = lamina.training.runtime.Runtime(threads=2, deterministic=True)
    fit(net, lamina.load("moons", count=60), Recipe(epochs=1), folder=tmp_path / "run", runtime=runtime)
    assert torch.get_num_threads() == before and not torch.are_deterministic_algorithms_enabled()
    assert float(torch.tensor(1e-39) * 1.0) > 0


def test_none_survives_the_config(tmp_path):
    from lamina.training.fit import describe, rebuild

    net = lamina.build("seq2seq", embedding=None, target_embedding=None)
    home = lamina.training.folder.RunFolder.create(tmp_path / "run")
    home.write_config({"architecture": describe(net)})
    assert rebuild(home.config()["architecture"]).config == net.config


def test_thumbnails_are_small_pngs():
    assert _thumbnail(torch.zeros(3, 500, 400, dtype=torch.uint8)).startswith("data:image/png;base64,")
    assert json.dumps(_thumbnail(torch.rand(1, 8, 8)))
