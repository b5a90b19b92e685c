"""`lamina train --config`: a file of options, the folder of a run, what is typed wins, and mistakes in the file."""

import json
import re
import shutil

import pytest

from lamina.training.folder import RunFolder

TOML = """architecture = "fnn"
data = "iris"
epochs = 2
threads = 1
[set]
hidden = [8]
learning_rate = 0.01
"""


@pytest.fixture
def run(typed, tmp_path):
    (tmp_path / "run.toml").write_text(TOML)
    code, out, err = typed("train", "--config", "run.toml", "--out", "a", "-q")
    assert (code, out, err) == (0, "a\n", "")
    return tmp_path / "a"


def test_a_file_says_what_the_command_would(run):
    config = RunFolder(run).config()
    assert config["architecture"]["config"]["hidden"] == [8]
    assert (config["data"]["source"], config["recipe"]["epochs"]) == ("iris", 2)
    assert config["recipe"]["optimizer"]["learning_rate"] == 0.01


def test_a_run_is_repeated_bit_for_bit_by_its_own_folder(typed, run):
    for place in ("a", "a/config.toml"):
        code, out, _ = typed("train", "--config", place, "--out", "b", "--again", "-q")
        again = run.parent / out.strip()
        assert code == 0 and again != run
        assert (again / "weights.safetensors").read_bytes() == (run / "weights.safetensors").read_bytes()
        assert RunFolder(again).config() == RunFolder(run).config()


def test_what_is_typed_wins(typed, run):
    code, out, _ = typed("train", "--config", "a", "--epochs", "1", "--set", "hidden=4", "--out", "c", "-q")
    config = RunFolder(run.parent / out.strip()).config()
    assert code == 0 and config["recipe"]["epochs"] == 1 and config["architecture"]["config"]["hidden"] == 4
    assert config["recipe"]["optimizer"]["learning_rate"] == 0.01


def test_shares_of_the_split_are_repeated_with_a_run(typed, tmp_path):
    code, out, err = typed("train", "fnn", "--data", "iris", "--split", "3:1:1", "--epochs", "1", "-q")
    assert code == 0, err
    config = RunFolder(tmp_path / out.strip()).config()
    assert config["data"]["ratios"] == [3, 1, 1] and config["examples"] == [90, 30, 30]
    code, again, err = typed("train", "--config", out.strip(), "-q")
    assert code == 0, err
    assert RunFolder(tmp_path / again.strip()).config() == config
    code, _, err = typed("train", "fnn", "--split", "4-1-1")
    assert code == 2 and "`--split` takes three whole numbers" in err


def test_reading_options_and_json(typed, tmp_path):
    rows = "".join(f"{i};{i % 7},5;{'xy'[i % 2]};n{i}\n" for i in range(60))
    (tmp_path / "sales.csv").write_text("a;b, c;y;name\n" + rows)
    values = {"architecture": "fnn", "data": "sales.csv", "target": "y", "epochs": 1}
    values["read"] = {"drop": ["name", "b, c"], "decimal": ",", "delimiter": ";"}
    (tmp_path / "run.json").write_text(json.dumps(values))
    code, out, err = typed("train", "--config", "run.json", "-q")
    assert code == 0, err
    options = RunFolder(tmp_path / out.strip()).config()["data"]["options"]
    assert options == {"target": "y", "drop": ["name", "b, c"], "decimal": ",", "delimiter": ";"}
    code, again, err = typed("train", "--config", out.strip(), "-q")
    assert code == 0, err
    weights = [(tmp_path / folder.strip() / "weights.safetensors").read_bytes() for folder in (out, again)]
    assert weights[0] == weights[1]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('architekture = "fnn"', "run.toml has the unknown key 'architekture'.*did you mean 'architecture'?"),
        ('architecture = "fnn"\nepochs = "two"', "`epochs` in `run.toml` must be a whole number, got 'two'"),
        ('architecture = "fnn"\nset = 3', "`set` in run.toml must be a table, got 3: begin it with a line"),
        ('architecture = "fnn"\n[set]\nhiden = 3', "fnn has no option 'hiden'.*did you mean 'hidden'"),
        ('architecture = "fnn"\n[set]\nbatch_size = 1.5', "`--set batch_size` must be a whole number, got '1.5'"),
        ("architecture = ", "`--config` run.toml cannot be read as TOML"),
        ("[architecture]\nnetwork = 'FNN'", "`--config` run.toml was written by a run: name the folder of the run"),
    ],
)
def test_mistakes_in_a_file_get_one_sentence(typed, tmp_path, text, sentence):
    (tmp_path / "run.toml").write_text(text)
    code, _, err = typed("train", "--config", "run.toml")
    assert code == 2 and re.search(sentence, err) and err.count("\n") == 1, err


def test_files_that_are_none(typed, run):
    (run.parent / "list.json").write_text("[1]")
    assert "`--config` list.json must hold names and values, got list." in typed("train", "--config", "list.json")[2]
    assert "`--config` no.toml does not exist" in typed("train", "--config", "no.toml")[2]
    shutil.copytree(run, run.parent / "custom")
    config = RunFolder(run.parent / "custom").config()
    config["architecture"] = {"network": "custom", "code": "Mine"}
    RunFolder(run.parent / "custom").write_config(config)
    assert (
        "custom cannot be repeated from the command line: The network 'Mine' was written in Python"
        in (typed("train", "--config", "custom")[2])
    )
