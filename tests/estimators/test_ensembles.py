"""The mean of an ensemble and its spread are those of its members, each of which is a network of its own."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import cross_val_score
from torch import nn

import lamina
from lamina.estimators import EnsembleClassifier, EnsembleRegressor, NetworkClassifier, NetworkRegressor

X, Y = load_iris(return_X_y=True)
FAST = {"hidden": 8, "epochs": 6, "learning_rate": 0.03, "random_state": 0}


class Own(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(inputs, 4), nn.Tanh(), nn.Linear(4, outputs))

    def forward(self, inputs):
        return self.layers(inputs)


def of_member(ensemble, network):
    """Predict with one member of an ensemble, as an estimator of its own."""
    alone = NetworkClassifier(**FAST).fit(X[::5], Y[::5])
    alone.network_, alone.preprocess_ = network, ensemble.preprocess_
    return alone.predict_proba(X)


def test_the_mean_and_the_spread_are_those_of_the_members():
    ensemble = EnsembleClassifier(**FAST, n_members=3).fit(X, Y)
    each = np.stack([of_member(ensemble, network) for network in ensemble.networks_])
    mean, spread = ensemble.predict_proba(X, return_std=True)
    np.testing.assert_allclose(mean, each.mean(0), rtol=1e-12)
    np.testing.assert_allclose(spread, each.std(0), rtol=1e-9, atol=1e-15)
    assert spread.max() > 0.01 and (ensemble.predict(X) == each.mean(0).argmax(1)).all()
    assert len(ensemble.history_) == len(ensemble.loss_curve_) == 3 and ensemble.n_iter_ == 6


def test_the_first_member_is_the_network_by_itself():
    ensemble = EnsembleClassifier(**FAST, n_members=3).fit(X, Y)
    alone = NetworkClassifier(**FAST).fit(X, Y)
    np.testing.assert_allclose(ensemble.loss_curve_[0], alone.loss_curve_, rtol=1e-4)  # a stack adds in another order
    np.testing.assert_allclose(of_member(ensemble, ensemble.networks_[0]), alone.predict_proba(X), atol=1e-3)
    weights = [network.state_dict() for network in ensemble.networks_]
    assert all(not torch.equal(weights[0][name], weights[1][name]) for name in weights[0] if name.endswith("weight"))


def test_numbers_come_with_a_spread_in_their_units():
    X, y = load_diabetes(return_X_y=True)
    ensemble = EnsembleRegressor(**FAST, n_members=4).fit(X, y)
    mean, spread = ensemble.predict(X, return_std=True)
    assert mean.shape == spread.shape == y.shape and (mean == ensemble.predict(X)).all()
    assert 100 < mean.mean() < 200 and 0.5 < spread.mean() < 50
    two = EnsembleRegressor(**{**FAST, "epochs": 1}, n_members=2).fit(X, np.stack([y, y], 1))
    assert two.predict(X, return_std=True)[1].shape == (len(X), 2)


def test_networks_of_the_user_s_are_trained_one_by_one():
    ensemble = EnsembleClassifier(Own, n_members=2, epochs=5, random_state=0).fit(X, Y)
    first, second = (network.layers[0].weight for network in ensemble.networks_)
    assert not torch.equal(first, second) and ensemble.predict_proba(X).shape == (150, 3)


def test_bad_members():
    with pytest.raises(lamina.ArgumentError, match="`n_members` must be at least 1, got 0"):
        EnsembleClassifier(n_members=0).fit(X, Y)
    wild = EnsembleRegressor(hidden=4, n_members=2, optimizer="minibatch", learning_rate=1e30, epochs=3, random_state=0)
    with pytest.raises(lamina.LaminaError, match="2 of 2 members diverged: use a smaller `learning_rate`"):
        wild.fit(X, X[:, 0])


@pytest.mark.slow
def test_an_ensemble_is_better_than_one_network():
    X, y = load_diabetes(return_X_y=True)
    one = [cross_val_score(NetworkRegressor(random_state=seed), X, y, cv=5).mean() for seed in (0, 1)]
    many = [cross_val_score(EnsembleRegressor(n_members=16, random_state=seed), X, y, cv=5).mean() for seed in (0, 1)]
    assert np.mean(many) > np.mean(one) + 0.03  # 0.49 and 0.47 against 0.40 and 0.40 when it was measured
