"""A pushed folder: three files, a card that the Hub can read, and what is refused."""

import json
import re

import pytest

import lamina
from lamina._errors import ArgumentError, RunError
from lamina.export import push


def test_the_folder(digits, tmp_path):
    digits.evaluate()
    folder = push(digits, tmp_path / "digits-lenet", license="mit")
    assert sorted(file.name for file in folder.iterdir()) == ["README.md", "config.json", "model.safetensors"]
    config = json.loads((folder / "config.json").read_text())
    assert config["library_name"] == "lamina" and config["architectures"] == ["LeNet5"]
    assert config["id2label"]["7"] == "7" and config["label2id"]["7"] == 7
    card = (folder / "README.md").read_text()
    header, body = re.fullmatch(r"---\n(.*?)\n---\n(.*)", card, re.DOTALL).groups()
    assert "license: mit" in header and "pipeline_tag: image-classification" in header
    found = digits.evaluate()
    assert f"    - {{type: accuracy, value: {found.metrics['accuracy']:.6g}}}" in header.splitlines()
    assert f"| accuracy | {found.metrics['accuracy']:.4g} |" in body and "Baseline, always" in body
    assert "A LeNet5 with 61,706 parameters" in body and f"On {found.examples} test examples, opened once" in body
    assert lamina.Run.load(folder).evaluate().metrics == found.metrics


def test_the_header_is_yaml(flats, tmp_path):
    """Every value is a word, a number, or a text in the quotes of JSON."""
    flats.evaluate()
    folder = push(flats, tmp_path / "flats: #1")
    header = (folder / "README.md").read_text().split("---\n")[1]
    assert '- name: "flats: #1"' in header and "license: unknown" in header
    assert '    dataset: {name: "flats.csv", type: "flats.csv"}' in header.splitlines()
    body = (folder / "README.md").read_text()
    assert "lamina train fnn --data flats.csv --target rent" in body and "has not chosen a license" in body


def test_without_an_evaluation(curve_run, tmp_path):
    card = (push(curve_run, tmp_path / "curve") / "README.md").read_text()
    assert "The test split has not been opened." in card and "model-index" not in card
    assert "pipeline_tag: tabular-regression" in card and "trained from Python with `lamina.fit`" in card


@pytest.fixture
def curve_run(tmp_path):
    data = lamina.load("curve")
    inputs, targets = data.inputs, data.targets
    net = lamina.build("fnn", inputs=1, outputs=1, hidden=(4,))
    return lamina.fit(net, lamina.load((inputs, targets)), lamina.Recipe(epochs=1), folder=tmp_path / "run")


def test_what_is_refused(curve_run, tmp_path):
    with pytest.raises(ArgumentError, match="`license` must be an identifier of the Hub .*, got 'My own'"):
        push(curve_run, tmp_path / "new", license="My own")
    with pytest.raises(ArgumentError, match="is the folder of a run: choose another one"):
        push(curve_run, curve_run.folder, again=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(ArgumentError, match=r"file exists: choose another name\."):
        push(curve_run, tmp_path / "file")
    with pytest.raises(ArgumentError, match="cannot make the folder"):
        push(curve_run, tmp_path / "file" / "inside")
    push(curve_run, tmp_path / "new")
    with pytest.raises(ArgumentError, match="new exists: choose another name, or add --again"):
        push(curve_run, tmp_path / "new")
    push(curve_run, tmp_path / "new", again=True, license="cc-by-4.0")
    assert "license: cc-by-4.0" in (tmp_path / "new/README.md").read_text()


def test_files_that_do_not_belong_together(curve_run, tmp_path):
    folder = push(curve_run, tmp_path / "new")
    config = json.loads((folder / "config.json").read_text())
    config["lamina"]["preprocess"]["mean"] = [0.0]
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(RunError, match=r"config.json and .*model.safetensors do not belong together"):
        lamina.Run.load(folder)
    (folder / "config.json").unlink()
    with pytest.raises(RunError, match=r"config.json cannot be read"):
        lamina.Run.load(folder)
    assert lamina.Run.load(folder / "model.safetensors").predict([[0.5]]).values.shape == (1, 1)
