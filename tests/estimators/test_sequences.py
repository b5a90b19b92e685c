"""Texts, tokens and series are told apart and learned from."""

import numpy as np
import pytest

import lamina
from lamina.estimators import SequenceClassifier
from lamina.estimators.sequences import _kind_of

FAST = {"hidden": 8, "random_state": 0}
TEXTS = ["a fine film", "a bad film", "what fine fun", "bad, dull and long"] * 10
LABELS = ["good", "bad", "good", "bad"] * 10


def later(count=200, length=8, seed=0):
    """Draw series whose class says whether the peak is in the second half: only the order tells."""
    rng = np.random.RandomState(seed)
    places = rng.randint(length, size=count)
    series = 0.1 * rng.randn(count, length)
    series[np.arange(count), places] += 3
    return series, (places >= length // 2).astype(int)


@pytest.mark.parametrize(
    ("sequences", "kind"),
    [
        (["a", "b"], "text"),
        (np.array(["a", "b"]), "text"),
        (np.array(["a", "bc"], dtype=object), "text"),
        ([[1, 2], [3]], "tokens"),
        ([np.array([1, 2]), np.array([3])], "tokens"),
        ([[1, 2], [3, 4]], "series"),
        (np.zeros((3, 4)), "series"),
        (np.zeros((3, 4, 2)), "series"),
        ([1.0, 2.0], "series"),
        ([], "series"),
    ],
)
def test_the_kind_is_what_it_looks_like(sequences, kind):
    assert _kind_of(sequences) == kind


def test_a_column_of_a_table_is_texts():
    import pandas as pd

    assert _kind_of(pd.Series(TEXTS)) == "text"
    found = SequenceClassifier(**FAST, epochs=1).fit(pd.Series(TEXTS), pd.Series(LABELS))
    assert found.kind_ == "text" and found.classes_.tolist() == ["bad", "good"]


def test_texts_are_read():
    found = SequenceClassifier(**FAST, epochs=20).fit(TEXTS, LABELS)
    assert found.predict(["fine, fine film", "dull", "unknown words"])[:2].tolist() == ["good", "bad"]
    assert found.score(TEXTS, LABELS) > 0.95 and "film" in found.preprocess_.vocabulary.words
    letters = SequenceClassifier(**FAST, epochs=1, level="character").fit(TEXTS, LABELS)
    assert "f" in letters.preprocess_.vocabulary.words and "film" not in letters.preprocess_.vocabulary.words


def test_a_text_does_not_feel_the_others():
    found = SequenceClassifier(**FAST, epochs=2).fit(TEXTS, LABELS)
    whole = found.predict_proba(TEXTS[:4])
    for place, text in enumerate(TEXTS[:4]):  # of different lengths, padded to the longest
        np.testing.assert_allclose(found.predict_proba([text])[0], whole[place], rtol=1e-12)


def test_tokens_of_different_lengths_and_those_in_an_array():
    rng = np.random.RandomState(0)
    labels = rng.randint(2, size=60)
    rows = [[*rng.randint(10, 30, size=rng.randint(2, 6)).tolist(), 5 + int(label)] for label in labels]
    found = SequenceClassifier(**FAST, epochs=30, learning_rate=0.01).fit(rows, labels)
    assert found.kind_ == "tokens" and found.score(rows, labels) > 0.95
    assert found.predict([[5], [6, 1000]]).tolist() == [0, 1]  # 1000 was never seen
    array = np.array([[1, 2, 5 + label] for label in labels])
    assert SequenceClassifier(**FAST, epochs=1, kind="tokens").fit(array, labels).preprocess_.spec.kind == "text"
    assert SequenceClassifier(**FAST, epochs=1).fit(array, labels).preprocess_.spec.kind == "series"


def test_series_of_one_number_and_of_several():
    series, labels = later()
    found = SequenceClassifier(**FAST, epochs=20, learning_rate=0.03).fit(series, labels)
    fresh, truth = later(seed=1)
    assert found.preprocess_.spec.inputs == (8, 1) and found.score(fresh, truth) > 0.9
    two = np.stack([series, -series], 2)
    found = SequenceClassifier("many-to-one", hidden=4, epochs=1, cell="lstm", random_state=0).fit(two, labels)
    assert found.preprocess_.spec.inputs == (8, 2) and found.network_.config.cell == "lstm"
    assert found.n_features_in_ == 8


@pytest.mark.parametrize(
    ("fitted", "given", "message"),
    [
        (TEXTS, [1, 2], "all sequences must be texts, as in training, got 1"),
        (TEXTS, [], "there must be at least 1 sequence, got 0"),
        ([[1, 2], [3]] * 20, [[1.5]], "tokens must be whole numbers that are not negative, got 1.5"),
        ([[1, 2], [3]] * 20, [[-1]], "tokens must be whole numbers that are not negative, got -1"),
        (later(40)[0], np.zeros((1, 8, 1, 1)), r"series must be \[N, time\] or .*, got the shape \(1, 8, 1, 1\)"),
    ],
)
def test_what_cannot_be_read_is_refused(fitted, given, message):
    found = SequenceClassifier(**FAST, epochs=1).fit(fitted, LABELS)
    with pytest.raises(lamina.ArgumentError, match=message):
        found.predict(given)


def test_bad_arguments():
    with pytest.raises(lamina.ArgumentError, match="`kind` must be one of .*'series', got 'words'"):
        SequenceClassifier(kind="words").fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SequenceClassifier().fit(TEXTS, LABELS[:-1])
