"""Words of a command line as Python values."""

import pytest

from lamina._errors import ArgumentError
from lamina.cli._values import parse, settings


def test_settings_name_the_option_that_was_wrong():
    assert settings(["window=5"], "--read") == {"window": 5}
    with pytest.raises(ArgumentError, match="`--set` takes key=value, got 'x': for example --set learning_rate=1e-3"):
        settings(["x"])


def test_values_are_numbers_lists_truth_values_or_texts():
    assert [parse(word) for word in ("3", "1e-3", "TRUE", "none", "(8,4)", "relu", "a.b")] == [
        3, 1e-3, True, None, (8, 4), "relu", "a.b",
    ]  # fmt: skip
    assert parse("{1: 2}") == "{1: 2}"
