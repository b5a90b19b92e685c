"""Parameters by flat names, seeds, the validation part, networks of the user, and rows that do not feel each other."""

import pickle

import joblib
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

import lamina
from lamina.estimators import NetworkClassifier, NetworkRegressor, SequenceClassifier
from lamina.estimators._network import NetworkEstimator
from lamina.estimators.ensembles import _Ensemble
from lamina.training.loop import Progress, drain

X, Y = load_iris(return_X_y=True)
FAST = {"hidden": 8, "epochs": 6, "learning_rate": 0.03, "random_state": 0}


class Own(nn.Module):
    """A network of the user's, drawn from the global generator as they do."""

    def __init__(self, inputs, outputs, width=4):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(inputs, width), nn.Tanh(), nn.Linear(width, outputs))

    def forward(self, inputs):
        return self.layers(inputs)


class Narrow(Own):
    def forward(self, inputs):
        return super().forward(inputs) @ torch.eye(3)


@pytest.fixture(scope="module")
def trained():
    return NetworkClassifier(**FAST).fit(X, Y)


def test_the_network_is_that_of_lamina_train(trained):
    data = lamina.data.arrays.from_arrays(X, Y)
    parts = lamina.data.splits.split(data, 0, (800, 200, 0))
    at, net = Progress(), lamina.build("fnn", inputs=4, outputs=3, hidden=8, seed=0)
    recipe = lamina.training.plan.plan("fnn", parts, options={"hidden": 8, "learning_rate": 0.03}, epochs=6).recipe
    drain(lamina.train(net, parts, recipe, at=at))
    assert [row["loss"] for row in at.rows] == trained.loss_curve_ and len(trained.history_) == trained.n_iter_ == 6
    best = trained.network_.state_dict()
    assert all(torch.equal(tensor, best[name]) for name, tensor in at.best.items())


def test_a_row_does_not_feel_the_others(trained):
    whole = trained.predict_proba(X)
    assert whole.dtype == np.float64 and np.allclose(whole.sum(1), 1)
    order = np.random.RandomState(0).permutation(len(X))
    for rows in (order, order[:7], order[:1]):
        np.testing.assert_allclose(trained.predict_proba(X[rows]), whole[rows], rtol=1e-12)  # float64, other orders


def test_flat_names_are_parameters():
    network = NetworkClassifier(activation="tanh", clip=1.0)
    assert repr(network) == "NetworkClassifier(activation='tanh', clip=1.0)"
    assert network.get_params()["clip"] == 1.0 and clone(network).get_params() == network.get_params()
    network.set_params(momentum=0.9, optimizer="minibatch", architecture="dense-resnet", depth=5)
    assert network.momentum == 0.9 and network.depth == 5
    fitted = NetworkClassifier(**FAST, activation="tanh", last_bias=False).fit(X, Y).network_
    assert fitted.config.activation == "tanh" and not fitted.config.last_bias


def test_unknown_parameters_are_refused():
    with pytest.raises(ValueError, match="Invalid parameter 'hiden' for estimator"):
        NetworkClassifier().set_params(hiden=3)
    with pytest.raises(lamina.ArgumentError, match="no option 'hiden'.*did you mean 'hidden'?"):
        NetworkClassifier(hiden=3).fit(X, Y)
    with pytest.raises(lamina.ArgumentError, match="`validation_fraction` must be in .*, got 1"):
        NetworkClassifier(validation_fraction=1.0).fit(X, Y)


def test_numbers_of_numpy_are_numbers():
    options = {"hidden": np.int64(8), "learning_rate": np.float32(0.03), "dropout": np.float64(0.1)}
    assert NetworkClassifier(**options, epochs=np.int64(1), random_state=np.int64(3)).fit(X, Y).n_iter_ == 1


@pytest.mark.parametrize("state", [7, np.random.RandomState(7)])
def test_the_random_state_decides_everything(state):
    first, second = (NetworkClassifier(**{**FAST, "random_state": clone_of(state)}).fit(X, Y) for _ in range(2))
    assert (first.predict_proba(X) == second.predict_proba(X)).all()
    other = NetworkClassifier(**{**FAST, "random_state": 8}).fit(X, Y)
    assert (first.predict_proba(X) != other.predict_proba(X)).any()


def clone_of(state):
    return clone(NetworkClassifier(random_state=state)).random_state


def test_without_a_random_state_numpy_s_generator_decides():
    before = np.random.get_state()
    try:
        np.random.seed(3)
        first, second = (NetworkClassifier(**{**FAST, "random_state": None}).fit(X, Y).loss_curve_ for _ in range(2))
        np.random.seed(3)
        assert NetworkClassifier(**{**FAST, "random_state": None}).fit(X, Y).loss_curve_ == first != second
    finally:
        np.random.set_state(before)


def test_the_validation_part_chooses_the_epoch_and_may_be_left_out():
    with_part = NetworkClassifier(**FAST).fit(X, Y).history_
    without = NetworkClassifier(**FAST, validation_fraction=0).fit(X, Y).history_
    assert "validation_loss" in with_part[0] and "validation_loss" not in without[0]
    assert len(NetworkClassifier(**FAST).fit(X[::40], Y[::40]).history_) == 6  # 4 examples: none can be set aside


def test_patience_ends_a_training():
    found = NetworkClassifier(**{**FAST, "epochs": 200, "learning_rate": 1.0}, schedule="constant", patience=2)
    assert found.fit(X, Y).n_iter_ < 200


def test_a_function_makes_the_network():
    first, second = (
        NetworkClassifier(Own, width=6, epochs=20, learning_rate=0.05, random_state=0).fit(X, Y) for _ in range(2)
    )
    assert first.network_.layers[0].out_features == 6 and first.score(X, Y) > 0.9
    assert (first.predict_proba(X) == second.predict_proba(X)).all()  # though it draws from the global generator
    assert clone(first).set_params(width=3).width == 3
    with pytest.raises(lamina.ArgumentError, match="has no parameter 'depth': it has inputs, outputs, width"):
        NetworkClassifier(Own, depth=3).fit(X, Y)


def test_a_network_that_is_float32_only_is_refused_before_it_is_trained():
    with pytest.raises(
        lamina.ArgumentError, match="cannot compute in float64, in which estimators predict .*new_zeros"
    ):
        NetworkClassifier(Narrow, epochs=10**6).fit(X, Y)


def test_one_class_is_none():
    with pytest.raises(lamina.ArgumentError, match="`y` has one class only, a: a classifier needs at least 2 classes"):
        NetworkClassifier().fit(X[:3], ["a", "a", "a"])


def test_a_training_that_diverges_is_an_error():
    with pytest.raises(lamina.LaminaError, match="the training failed: the loss"):
        NetworkRegressor(hidden=8, learning_rate=1e30, optimizer="minibatch", epochs=3).fit(X, X[:, 0])


def test_pictures_stay_pictures():
    digits, labels = load_digits(return_X_y=True)
    rows = NetworkClassifier("lenet5", input_shape=(1, 8, 8), epochs=1, random_state=0).fit(digits[:200], labels[:200])
    assert rows.preprocess_.spec.kind == "image" and rows.network_.config.inputs == (1, 28, 28)
    arrays = NetworkClassifier("lenet5", epochs=1, random_state=0).fit(digits[:200].reshape(-1, 8, 8), labels[:200])
    assert (arrays.predict(digits[:50].reshape(-1, 8, 8)) == rows.predict(digits[:50])).all()
    stored = NetworkClassifier("fnn", epochs=1, random_state=0).fit(
        digits[:99].reshape(-1, 8, 8).astype(np.uint8), labels[:99]
    )
    assert stored.preprocess_.kept_dtype == torch.uint8


def test_names_of_columns_reach_the_data():
    import pandas as pd

    table = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    found = NetworkClassifier(**FAST).fit(table, Y)
    assert found.preprocess_.spec.features == ("a", "b", "c", "d") == tuple(found.feature_names_in_)


def test_pickle_and_joblib_keep_predictions(trained, tmp_path):
    joblib.dump(trained, tmp_path / "network.joblib")
    for again in (pickle.loads(pickle.dumps(trained)), joblib.load(tmp_path / "network.joblib")):
        assert (again.predict_proba(X) == trained.predict_proba(X)).all()
    assert len(pickle.dumps(trained)) < 40_000  # no data are kept


def test_pipelines_cross_validation_and_grids():
    network = make_pipeline(StandardScaler(), NetworkClassifier(**{**FAST, "epochs": 20}))
    assert cross_val_score(network, X, Y, cv=3).mean() > 0.85
    search = GridSearchCV(network, {"networkclassifier__dropout": [0.0, 0.9]}, cv=2).fit(X, Y)
    assert search.best_params_ == {"networkclassifier__dropout": 0.0}


def test_metadata_are_routed_to_a_step_before_a_network():
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        network = make_pipeline(scaler, NetworkClassifier(**FAST))
        network.fit(X, Y, sample_weight=np.where(Y == 0, 0.0, 1.0))
        assert np.allclose(scaler.mean_, X[Y > 0].mean(0)) and network.score(X, Y) > 0.5
        with pytest.raises(TypeError, match="sample_weight"):
            NetworkClassifier(**FAST).fit(X, Y, sample_weight=np.ones(len(X)))


@pytest.mark.parametrize("kind", [NetworkEstimator, _Ensemble, SequenceClassifier])
def test_every_parameter_is_explained(kind):
    named = set(vars(kind)["__init__"].__annotations__) - {"return"}
    assert {
        name for name in named if f"        {name}: " not in kind.__doc__ and f"        **{name}: " not in kind.__doc__
    } == set()
