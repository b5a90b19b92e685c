"""DataFrames with categories, dates and missing cells are read as `lamina.load` reads a table."""

import numpy as np
import pandas
import polars
import pytest
from sklearn.model_selection import cross_val_score

import lamina
from lamina._errors import DataWarning
from lamina.data.splits import split
from lamina.estimators import EnsembleClassifier, EnsembleRegressor, LaminaSearchCV, NetworkClassifier, NetworkRegressor
from lamina.estimators._frames import as_dataset, mixed
from lamina.training.loop import Progress, drain
from lamina.training.plan import plan

FAST = {"hidden": 8, "epochs": 6, "learning_rate": 0.03, "random_state": 0}
DRAWN = np.random.RandomState(0)
COLORS = DRAWN.choice(["red", "green", "blue"], 240)
SIZES = np.where(DRAWN.rand(240) < 0.1, np.nan, DRAWN.randn(240))
ROWS = polars.DataFrame({"color": COLORS, "size": SIZES}).with_columns(polars.col("size").fill_nan(None))
SAME = pandas.DataFrame({"color": COLORS, "size": SIZES})
LABELS = np.where(COLORS == "red", "warm", "cold")
NUMBERS = np.where(COLORS == "red", 3.0, 1.0) + np.nan_to_num(SIZES)


@pytest.fixture(scope="module")
def trained():
    return NetworkClassifier(**FAST).fit(ROWS, LABELS)


def test_the_network_is_that_of_lamina_train(trained):
    data = lamina.load(ROWS.with_columns(polars.Series("y", LABELS)), target="y")
    with pytest.warns(DataWarning, match="are copies of training examples"):
        parts = split(data, 0, (800, 200, 0))
    job = plan("fnn", parts, options={"hidden": 8, "learning_rate": 0.03}, epochs=6, seed=0)
    at = Progress()
    drain(lamina.train(job.model, job.task, job.recipe, at=at))
    assert [row["loss"] for row in at.rows] == trained.loss_curve_
    assert trained.preprocess_.as_dict() | {"spec": 0} == job.task.preprocess.as_dict() | {"spec": 0}
    assert trained.preprocess_.inputs == (5,)  # three colors, a number, and whether it is missing


def test_pandas_and_polars_give_the_same(trained):
    other = NetworkClassifier(**FAST).fit(SAME, LABELS)
    assert other.loss_curve_ == trained.loss_curve_
    assert np.array_equal(other.predict_proba(SAME), trained.predict_proba(ROWS))
    assert trained.feature_names_in_.tolist() == ["color", "size"] and trained.n_features_in_ == 2
    assert trained.classes_.tolist() == ["cold", "warm"] and trained.score(ROWS, LABELS) > 0.95


def test_a_gap_and_a_color_of_no_training_row_are_no_obstacle(trained):
    new = polars.DataFrame({"color": ["red", "violet", None], "size": [None, 0.5, None]})
    found = trained.predict_proba(new)
    assert trained.predict(new)[0] == "warm" and np.allclose(found.sum(1), 1) and found.shape == (3, 2)


def test_numbers_and_several_of_them():
    one = NetworkRegressor(**FAST | {"epochs": 40}).fit(SAME, NUMBERS)
    assert one.score(SAME, NUMBERS) > 0.9 and one.predict(SAME).shape == (240,)
    two = NetworkRegressor(**FAST | {"epochs": 40}).fit(SAME, np.stack([NUMBERS, -NUMBERS], 1))
    found = two.predict(SAME)
    assert found.shape == (240, 2) and np.corrcoef(found[:, 0], -found[:, 1])[0, 1] > 0.95


def test_ensembles_and_searches_read_them_too():
    together = EnsembleClassifier(**FAST, n_members=3).fit(SAME, LABELS)
    assert together.score(SAME, LABELS) > 0.95 and together._members(SAME).shape == (3, 240, 2)
    mean, spread = EnsembleRegressor(**FAST, n_members=3).fit(ROWS, NUMBERS).predict(ROWS, return_std=True)
    assert mean.shape == spread.shape == (240,) and (spread > 0).all()
    search = LaminaSearchCV(NetworkClassifier(**FAST), {"dropout": [0.0, 0.1]}, cv=2).fit(SAME, LABELS)
    assert search.trained_together_ == (4,) and search.best_score_ > 0.9


def test_a_frame_of_numbers_alone_is_rows_of_numbers():
    frame = pandas.DataFrame({"a": SIZES, "b": SIZES}).fillna(0.0)
    assert mixed(frame) is None and mixed(frame.to_numpy()) is None and mixed([[1.0]]) is None
    assert mixed(frame.assign(b=SIZES)).columns == ["a", "b"] and mixed(polars.DataFrame({"a": [np.nan]})) is not None
    assert mixed(polars.DataFrame({"a": [True, False]})) is None
    assert NetworkRegressor(**FAST).fit(frame, NUMBERS).preprocess_.spec.kind == "vector"


def test_a_gap_that_only_new_rows_have_is_filled_with_the_mean_of_the_training():
    full = pandas.DataFrame({"a": np.nan_to_num(SIZES), "b": np.arange(240.0)})
    network = NetworkRegressor(**FAST).fit(full, NUMBERS)
    means = network.preprocess_.mean
    new = full.head(3).copy()
    new.loc[1, "a"], new.loc[2, "b"] = np.nan, np.nan
    filled = new.fillna({"a": means[0], "b": means[1]})
    assert np.array_equal(network.predict(new), network.predict(filled))
    assert np.array_equal(network.predict(polars.from_dict(new.to_dict("list"))), network.predict(filled))
    with pytest.warns(UserWarning, match="valid feature names"), pytest.raises(ValueError, match="contains NaN"):
        network.predict(new.to_numpy())
    with pytest.raises(ValueError, match="contains infinity"):
        network.predict(new.fillna(np.inf))


def test_a_single_gap_in_one_fold_is_no_obstacle():
    frame = pandas.DataFrame({"a": np.nan_to_num(SIZES), "b": (COLORS == "red") * 1.0})
    frame.loc[3, "a"] = np.nan
    scores = cross_val_score(NetworkClassifier(**FAST), frame, LABELS, cv=3, error_score="raise")
    assert scores.min() > 0.9
    search = LaminaSearchCV(NetworkClassifier(**FAST), {"dropout": [0.0, 0.1]}, cv=3).fit(frame, LABELS)
    assert search.cv_results_["mean_test_score"].min() > 0.9


def test_categories_that_are_written_as_numbers_are_categories():
    places = DRAWN.choice([10115, 20095, 80331, 50667], 240)
    labels = np.isin(places, [20095, 50667])  # no line divides them
    for column in (pandas.Categorical(places), pandas.Categorical(places.astype(str))):
        frame = pandas.DataFrame({"place": column, "size": np.nan_to_num(SIZES)})
        network = NetworkClassifier(**FAST | {"epochs": 20}).fit(frame, labels)
        assert network.preprocess_.spec.levels == (("10115", "20095", "50667", "80331"), ())
        assert network.score(frame, labels) == 1.0
        late = pandas.DataFrame({"place": [20095.0, np.nan, 80331.0], "size": [0.0, 0.0, 0.0]})
        assert network.predict(late)[[0, 2]].tolist() == [True, False]  # pandas writes whole numbers beside a gap so
    enum = polars.Series("place", places.astype(str)).cast(polars.Enum(["80331", "10115", "20095", "50667"]))
    data = lamina.load(polars.DataFrame({"place": enum, "y": labels}), target="y")
    assert data.spec.levels == (("10115", "20095", "50667", "80331"),)
    numbers = lamina.load(polars.DataFrame({"x": SIZES, "y": enum}).drop_nans(), target="y", task="regression")
    assert sorted(set(numbers.targets.ravel().tolist())) == [10115, 20095, 50667, 80331]


def test_what_is_said_names_what_an_estimator_has():
    names = polars.Series("name", [f"person {number}" for number in range(240)])
    with pytest.warns(DataWarning, match=r"Turn them into numbers or categories to insist\.$"):
        NetworkClassifier(**FAST).fit(ROWS.with_columns(names), LABELS)
    spans = ROWS.with_columns(span=polars.Series([[1, 2]] * 240))
    with pytest.raises(lamina.DataError, match="column 'span' holds values of type .*, or leave it out of `X`"):
        NetworkClassifier(**FAST).fit(spans, LABELS)
    with pytest.raises(ValueError, match="y should be a 1d array"):
        NetworkClassifier(**FAST).fit(ROWS, np.stack([LABELS, LABELS], 1))


def test_a_column_may_have_the_name_of_the_target():
    data = as_dataset(ROWS.rename({"size": "target 0"}), NUMBERS, {"task": "regression"})
    assert data.spec.features == ("color", "target 0") and np.allclose(data.targets.ravel(), NUMBERS)


def test_what_cannot_be_read_is_refused(trained):
    with (
        pytest.warns(UserWarning, match="does not have valid feature names"),
        pytest.raises(lamina.ArgumentError, match="`X` must be a DataFrame with the columns of the training, got nda"),
    ):
        trained.predict(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="feature names should match"):
        trained.predict(ROWS.rename({"size": "weight"}))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        NetworkClassifier(**FAST).fit(ROWS, LABELS[:100])
    with pytest.raises(ValueError, match="y contains NaN"):
        NetworkRegressor(**FAST).fit(ROWS, np.where(COLORS == "red", np.nan, 1.0))
