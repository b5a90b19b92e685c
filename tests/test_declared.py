"""What an option is declared to be: values that fit, and the sentences about those that do not."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import lamina
from lamina._declared import check, fits, read, words
from lamina._errors import ArgumentError


def test_values_fit_what_is_declared():
    assert fits(np.int64(3), int) and fits(np.float32(1), float) and not fits("3", int) and not fits(True, float)
    assert fits((1, 28, 28), tuple[int, int, int]) and not fits((28, 28), tuple[int, int, int])
    assert fits([1, 2], Sequence[int]) and not fits([1, 2.5], Sequence[int]) and fits(None, int | None)
    assert words(int | str | None) == "a whole number or a word or none"


@pytest.mark.parametrize(
    ("value", "hint", "sentence"),
    [
        ("abc", float, "`x` must be a number, got 'abc'"),
        (float("nan"), float, "`x` must be finite, got nan"),
        (float("inf"), float | None, "`x` must be finite, got inf"),
        (3, tuple[int, int, int], "`x` must be 3 sizes such as 8,8,8, got 3"),
        ("no", bool, "`x` must be true or false, got 'no'"),
    ],
)
def test_others_are_refused(value, hint, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        check("x", value, hint)


def test_what_has_no_rule_stays_a_text():
    assert read("x", "anything", np.ndarray) == "anything"


def test_anything_fits_any():
    assert fits([1], Any) and fits(None, Any)


def test_python_meets_the_same_sentences(as_user):
    with pytest.raises(ArgumentError, match="`learning_rate` must be greater than 0, got 'abc'"):
        lamina.Adam(learning_rate="abc")
    with pytest.raises(ArgumentError, match="`batch_size` must be a whole number of at least 1, got 1.5"):
        lamina.Recipe(batch_size=1.5)
    with pytest.raises(ArgumentError, match="`epochs` must be at most 1,000,000, got 1,000,001"):
        lamina.Recipe(epochs=1_000_001)
    with pytest.raises(ArgumentError, match="`learning_rate` must be finite, got inf"):
        lamina.with_options(lamina.Recipe(), learning_rate=float("inf"))
    with pytest.raises(ArgumentError, match="`patience` must be a whole number or none, got 1.5: write 2"):
        lamina.Stopping(patience=1.5)
    with pytest.raises(ArgumentError, match="`inputs` must be 3 sizes such as 8,8,8, got 3"):
        lamina.build("lenet5", inputs=3)
    with pytest.raises(ArgumentError, match="`hidden` must be a whole number or sizes such as 128,64, got 'many'"):
        lamina.build("fnn", inputs=3, outputs=2, hidden="many")
    with pytest.raises(ArgumentError, match="`noise` must be a number, got 'much'"):
        lamina.load("moons", noise="much")
