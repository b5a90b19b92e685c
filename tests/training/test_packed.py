"""One file with a network and all that `predict` needs: what comes back, and what is refused."""

import json

import pytest
import torch
from safetensors.torch import load, save, save_file

import lamina
from lamina._errors import RunError
from lamina.training.folder import RunFolder
from lamina.training.packed import PackedRun, home_of, open_home, pack
from lamina.training.weights import load_weights


@pytest.fixture
def file(digits, tmp_path):
    digits.evaluate()
    path = tmp_path / "m.safetensors"
    path.write_bytes(pack(digits, "lamina train fnn")[0])
    return path


def test_what_comes_back(digits, file):
    inputs = lamina.load("digits").inputs[:9]
    run = lamina.Run.load(file)
    assert run.predict(inputs).values.equal(digits.predict(inputs).values)
    assert run.predict(inputs).labels == digits.predict(inputs).labels
    assert run.evaluate().metrics == digits.evaluate().metrics and run.evaluate().predictions is None
    assert run.rows == () and run.folder == file and "m.safetensors: FNN, no epoch; test" in repr(run)
    new = lamina.load("digits").split(seed=5).validation
    assert run.evaluate(new).metrics == digits.evaluate(new).metrics


def test_the_file_has_one_key_and_the_same_bytes_each_time(digits, file):
    content = file.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    assert list(header["__metadata__"]) == ["lamina"]
    assert content == pack(digits, "lamina train fnn")[0]
    record = home_of(file).record
    assert record["command"] == "lamina train fnn" and record["classes"] == [str(digit) for digit in range(10)]
    assert "worst" not in record["evaluation"] and "predictions" not in record["evaluation"]
    assert load(content).keys() == digits.model.state_dict().keys()


def test_weights_for_another_network(digits, file, tmp_path):
    folder = tmp_path / "pushed"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(file.read_bytes())
    (folder / "config.json").write_text(json.dumps({"lamina": home_of(file).record}))
    for source in (file, folder):
        new = lamina.build("fnn", inputs=64, outputs=3, hidden=(32,), seed=9)
        assert str(load_weights(new, source)).startswith("2 of 4 tensors come from")
        assert new.layers[0].affine.weight.equal(digits.model.layers[0].affine.weight)


def test_which_home(file, tmp_path, digits):
    assert type(home_of(file)) is PackedRun and type(home_of(digits.folder)) is RunFolder
    with pytest.raises(RunError, match="is not a folder: give the folder of a run"):
        open_home(tmp_path / "nowhere.safetensors")
    with pytest.raises(RunError, match="is not the folder of a run"):
        open_home(tmp_path)


@pytest.mark.parametrize("length", [0, 5, 100, -1])
def test_a_truncated_file(file, length):
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(RunError, match=r"m.safetensors is damaged"):
        lamina.Run.load(file)


def test_a_flipped_bit(file):
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    with pytest.raises(RunError, match="m.safetensors is damaged: it is not what the run wrote"):
        lamina.Run.load(file)


def test_weights_of_others(tmp_path):
    save_file({"weight": torch.zeros(2)}, tmp_path / "other.safetensors")
    with pytest.raises(RunError, match=r"other.safetensors holds weights alone: .*lamina train ARCH --weights"):
        lamina.Run.load(tmp_path / "other.safetensors")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda record: record.update(version=99), r"by a newer Lamina \(version 99, the latest known is 2\)"),
        (lambda record: record.pop("preprocess"), "its record is not one of a run"),
        (lambda record: record.update(config=3), "its record is not one of a run"),
    ],
)
def test_records_that_are_not_ours(file, change, sentence):
    record = json.loads(json.dumps(home_of(file).record))
    change(record)
    file.write_bytes(save(load(file.read_bytes()), {"lamina": json.dumps(record)}))
    with pytest.raises(RunError, match=sentence):
        lamina.Run.load(file)
    file.write_bytes(save(load(file.read_bytes()), {"lamina": "{"}))
    with pytest.raises(RunError, match="it has no readable header"):
        lamina.Run.load(file)


def test_an_exported_network_is_only_read(file):
    home = home_of(file)
    with pytest.raises(RunError, match="is an exported network, which is only read"):
        home.write_json("evaluation", {})
    with pytest.raises(RunError, match="is an exported network and has no environment"):
        home.json("environment")
    with pytest.raises(RunError, match="the data of this run .* were given in memory"):
        lamina.Run.load(file).evaluate(again=True)
    with pytest.raises(RunError, match="no errors on its validation part were kept"):
        lamina.Run.load(file).predict(lamina.load("digits").inputs[:2], coverage=0.9)
