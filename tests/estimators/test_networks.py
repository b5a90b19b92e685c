"""Networks reach what the data allow."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.preprocessing import StandardScaler

from lamina.estimators import NetworkClassifier, NetworkRegressor


def test_a_network_without_hidden_layers_fits_a_line():
    u = np.linspace(-1, 1, 60)[:, None]
    found = NetworkRegressor(hidden=(), learning_rate=0.1, epochs=60, random_state=0).fit(u, 3 * u[:, 0] + 1)
    assert np.abs(found.predict([[0.0], [1.0]]) - [1.0, 4.0]).max() < 0.05


def test_several_targets_have_units_of_their_own():
    X, y = load_diabetes(return_X_y=True)
    both = np.stack([y, 1000 * X[:, 2]], 1)
    found = NetworkRegressor(hidden=16, epochs=20, random_state=0).fit(X, both)
    answers = found.predict(X)
    assert answers.shape == both.shape and found.n_outputs_ == 2
    assert np.corrcoef(answers[:, 1], both[:, 1])[0, 1] > 0.9 and 100 < answers[:, 0].mean() < 200
    column = NetworkRegressor(hidden=16, epochs=2, random_state=0).fit(X, y[:, None])
    assert column.predict(X).shape == (len(X),)


def test_labels_are_those_of_the_user():
    X, y = load_wine(return_X_y=True)
    names = np.array(["Barolo", "Grignolino", "Barbera"], dtype=object)[y]
    train, test, labels, truth = train_test_split(X, names, random_state=0)
    found = NetworkClassifier(random_state=0, epochs=30).fit(train, labels)
    assert found.classes_.tolist() == ["Barbera", "Barolo", "Grignolino"]
    assert (found.predict(test) == truth).mean() > 0.9
    assert (found.classes_[found.predict_proba(test).argmax(1)] == found.predict(test)).all()
    numbers = NetworkClassifier(random_state=0, epochs=2).fit(X, np.array([10, 2, 30])[y])
    assert numbers.classes_.tolist() == [2, 10, 30] and set(numbers.predict(X)) <= {2, 10, 30}


@pytest.mark.slow
def test_defaults_classify_wine():
    X, y = load_wine(return_X_y=True)
    assert cross_val_score(NetworkClassifier(random_state=0), StandardScaler().fit_transform(X), y, cv=5).mean() > 0.93
