"""How a run was made, as tables."""

from lamina.report import _settings as settings
from lamina.report._record import read
from report.samples import CONFIG, PREPROCESS, SPEC, regression


def test_recipe_under_its_flat_names(make):
    rows = dict(settings.recipe(read(make())).rows)
    assert rows["optimizer"] == "adam" and rows["learning_rate"] == "0.01" and rows["eps"] == "1e-08"
    assert rows["penalty"] == "0" and rows["penalty_norm"] == "2" and rows["epochs"] == "3"


def test_network_of_the_users(make):
    config = {**CONFIG, "architecture": {"network": "custom", "code": "MyNet"}}
    assert settings.architecture(read(make(config=config))).rows == (("network", "MyNet"),)


def test_preprocessing_of_a_table(make):
    record = read(make())
    rows = dict(settings.preprocess(record).rows)
    assert rows == {"examples": "table", "stored shape": "4", "prepared shape": "4"}
    assert settings.columns(record).rows[3] == ("d", "number", "1.2", "0.7", "filled in and marked")


def test_columns_with_categories(make):
    levels = [f"l{i}" for i in range(12)]
    spec = {**SPEC, "levels": [[], levels, [], []]}
    fitted = {**PREPROCESS, "spec": spec, "seen": [[], list(range(11)), [], []], "mean": [1, 2, 3], "std": [1, 1, 1]}
    rows = settings.columns(read(make(preprocess=fitted))).rows
    assert rows[1][1] == "category: l0, l1, l2, l3, l4, l5, l6, l7 and 3 more" and rows[2][2] == "2"


def test_columns_with_rare_categories_and_dates(make):
    spec = {**SPEC, "levels": [["a", "b", "c"], ["d"], [], []], "dates": ["", "", "year-month-day", ""]}
    fitted = {**PREPROCESS, "spec": spec, "seen": [[1], [], [], []], "pooled": [[0, 2], [0], [], []]}
    fitted |= {"mean": [7.0, 2020.0, 30.0], "std": [1, 1, 1], "parts": [[], [], ["year", "days", "month"], []]}
    rows = settings.columns(read(make(preprocess=fitted))).rows
    assert [row[1] for row in rows] == [
        "category: b; 2 rare ones as other",
        "category: 1 rare ones as other",
        "date (year-month-day): year, days, month",
        "number",
    ]
    assert rows[3][2] == "7"


def test_preprocessing_of_pictures_and_real_targets(make):
    spec = {**SPEC, "kind": "image", "inputs": [3, 40, 30], "features": [], "levels": [], "notes": ["from /a/b/photos"]}
    fitted = {**PREPROCESS, "spec": spec, "inputs": [3, 32, 32], "kept": [3, 32, 32], "resize": "crop"}
    fitted |= {"mean": [0.1, 0.2, 0.3], "std": [1.0, 2.0, 3.0], "seen": [], "missing": []}
    rows = settings.preprocess(read(make(preprocess=fitted))).rows
    assert (
        ("resizing", "cropped to the middle") in rows
        and ("mean", "0.1, 0.2, 0.3") in rows
        and ("note", "from photos") in rows
    )
    rows = settings.preprocess(read(make(**regression()))).rows
    assert ("target mean", "1.75") in rows and ("target standard deviation", "1.5") in rows


def test_preprocessing_of_long_vectors(make):
    spec = {**SPEC, "kind": "vector", "task": "structured", "classes": [], "inputs": [6], "features": [], "levels": []}
    spec |= {"target_shape": [5], "outputs": 5}
    fitted = {**PREPROCESS, "spec": spec, "inputs": [6], "kept": [6], "mean": [0.0] * 6, "std": [1.0] * 6}
    fitted |= {"target_mean": [0.0] * 5, "target_std": [1.0] * 5, "seen": [], "missing": []}
    rows = dict(settings.preprocess(read(make(preprocess=fitted, evaluation=None))).rows)
    assert rows["standardized"] == "each of 6 components" and rows["target mean"] == "5 numbers"


def test_environment_tells_time_and_date(make):
    rows = dict(settings.environment(read(make())).rows)
    assert rows["training time"] == "3.2 s" and rows["last check"] == "2023-11-14 22:13 UTC" and rows["threads"] == "2"
    assert settings.environment(read(make(environment=None, timings=None))) is None
