"""Writing a report, in both formats; damaged files; a real run from end to end."""

import json
import random

import pytest

import lamina
from lamina._errors import ArgumentError, RunError
from lamina.data.load import load
from lamina.report import render, write_report
from lamina.training.fit import fit
from lamina.training.recipe import MiniBatch, Recipe
from report.samples import EVALUATION, ROWS, regression


def test_the_report_is_written_into_the_folder(make):
    folder = make()
    assert write_report(folder) == folder / "report.html"
    assert (folder / "report.html").read_text(encoding="utf-8") == render(folder)
    assert write_report(folder, "md") == folder / "report.md"
    assert write_report(folder, output=folder / "x.html").read_text(encoding="utf-8") == render(folder)
    assert not list(folder.glob(".*"))


def test_an_unknown_format(make):
    with pytest.raises(ArgumentError, match="`format` must be one of 'html', 'md', got 'pdf'"):
        render(make(), "pdf")


def test_a_folder_that_cannot_be_written(make, tmp_path):
    with pytest.raises(RunError, match="cannot write .*its folder is gone"):
        write_report(make(), output=tmp_path / "nowhere" / "report.html")


DAMAGED = [
    ("confusion", [[1, 2], [3]], "the confusion matrix does not fit the classes"),
    ("confusion", [[1]], "the confusion matrix does not fit the classes"),
    ("confusion", 7, "is damaged"),
    ("per_class", [{"class": "a"}], "no 'examples'"),
    ("calibration", {"confidence": [0.5]}, "no 'accuracy'"),
    ("calibration", {"confidence": [0.5], "accuracy": [], "count": [], "error": 0}, "is damaged"),
    ("worst", [{"index": 3}], "no 'label'"),
    ("worst", {"a": 1}, "is damaged"),
]


@pytest.mark.parametrize("format", ["html", "md"])
@pytest.mark.parametrize(("part", "value", "sentence"), DAMAGED)
def test_a_damaged_part_of_the_evaluation_is_named(make, format, part, value, sentence):
    folder = make(evaluation={**EVALUATION, part: value})
    with pytest.raises(RunError, match=rf"evaluation\.json is damaged \(.*{'' if 'is' in sentence else sentence}"):
        render(folder, format)


def test_a_damaged_recipe_is_named(make):
    from report.samples import CONFIG

    with pytest.raises(RunError, match=r"config\.toml is damaged \(no 'epochs'\)"):
        render(make(config={**CONFIG, "recipe": {"optimizer": {"name": "adam"}}}))


def _spoil(value, dice):
    """Replace one random part of plain values by something else, or remove it."""
    junk = (None, 3, -1, "x", [], {}, [1, 2], {"a": None}, 1e308, True, "\ud800", 10**400)
    if isinstance(value, dict) and value and dice.random() < 0.9:
        key = dice.choice(list(value))
        if dice.random() < 0.2:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: _spoil(value[key], dice)}
    if isinstance(value, list) and value and dice.random() < 0.9:
        place = dice.randrange(len(value))
        return [_spoil(v, dice) if i == place else v for i, v in enumerate(value)]
    return dice.choice(junk)


@pytest.mark.parametrize("seed", range(60))
def test_any_damage_gives_a_report_or_a_sentence(make, seed):
    dice = random.Random(seed)
    folder = make(**(regression() if seed % 2 else {}))
    name = dice.choice(["preprocess", "environment", "status", "evaluation", "history"])
    if name == "history":
        (folder / "history.jsonl").write_text("".join(json.dumps(_spoil(row, dice)) + "\n" for row in ROWS))
    else:
        path = folder / f"{name}.json"
        path.write_text(json.dumps(_spoil(json.loads(path.read_text()), dice)))
    for format in ("html", "md"):
        try:
            assert isinstance(render(folder, format), str)
        except RunError as error:
            assert name in str(error) and "\n" not in str(error)


@pytest.mark.parametrize("size", [0, 1, 100, 400])
def test_a_truncated_file_gives_a_report_or_a_sentence(make, size):
    for name in ("config.toml", "preprocess.json", "evaluation.json", "status.json", "weights.safetensors"):
        folder = make()
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: min(size, len(content) - 1)])
        try:
            assert render(folder)
        except RunError as error:
            assert name in str(error)


def test_a_real_run_from_training_to_the_report(tmp_path):
    data = load("iris")
    network = lamina.build("fnn", inputs=4, outputs=3, hidden=(8,))
    run = fit(network, data, Recipe(epochs=4, batch_size=16), folder=tmp_path / "runs" / "iris")
    found = run.evaluate()
    page = write_report(run.folder).read_text(encoding="utf-8")
    assert "fnn on iris" in page and f"{found.metrics['loss']:#.4g}" in page and "67 parameters" in page
    assert run.split.note in page and "all 4 epochs were done" in page
    assert render(run.folder) == page and str(tmp_path) not in page
    assert f"| test loss | {found.metrics['loss']:#.4g} |" in render(run.folder, "md")


def test_a_real_run_that_diverges(tmp_path):
    network = lamina.build("fnn", inputs=1, outputs=1, hidden=(8,))
    recipe = Recipe(epochs=3, batch_size=16, optimizer=MiniBatch(learning_rate=1e30))
    run = fit(network, load("curve", count=60), recipe, folder=tmp_path / "runs" / "curve")
    page = render(run.folder)
    assert run.reason.name == "diverged" and "The run diverged:" in page and "has not been finite since step" in page
