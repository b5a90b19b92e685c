"""Words of a command line, read by what each option is declared to be."""

from collections.abc import Sequence

import pytest

from lamina._errors import ArgumentError
from lamina.cli._values import reading, settings, shares, sizes

DECLARED = {"learning_rate": float, "batch_size": int, "hidden": int | Sequence[int], "drop": Sequence[str],
            "decimal": str, "delimiter": str | None, "flip": bool, "patience": int | None,
            "activation": str | Sequence[str], "padding": tuple[int, int] | None}  # fmt: skip


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("drop=Ticket", ("Ticket",)),
        ("drop=[sold_on]", ("sold_on",)),
        ("drop=a, b", ("a", "b")),
        ("drop=['a, b', 'c']", ("a, b", "c")),
        ('drop="a, b",c', ("a, b", "c")),
        ("drop=3", ("3",)),
        ("decimal=,", ","),
        ("delimiter=;", ";"),
        ("delimiter=tab", "\t"),
        (r"delimiter=\t", "\t"),
        ("delimiter= ", " "),
        ("delimiter=none", None),
        ("learning_rate=1e-3", 0.001),
        ("learning-rate=2", 2.0),
        ("batch_size=64", 64),
        ("hidden=16", 16),
        ("hidden=16,", (16,)),
        ("hidden=(8,4)", (8, 4)),
        ("hidden=()", ()),
        ("flip=TRUE", True),
        ("flip=no", False),
        ("patience=none", None),
        ("patience=5", 5),
        ("activation=relu", "relu"),
        ("activation=relu,tanh", ("relu", "tanh")),
        ("padding=2,2", (2, 2)),
    ],
)
def test_a_value_is_what_its_option_is_declared_to_be(word, value):
    found = settings([word], DECLARED)[word.partition("=")[0].replace("-", "_")]
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("learning_rate=abc", "`--set learning_rate` must be a number, got 'abc'."),
        ("learning_rate=0,01", "`--set learning_rate` must be a number, got '0,01': write 0.01."),
        ("learning_rate=nan", "`--set learning_rate` must be a number, got 'nan': it must be finite."),
        ("learning_rate=", "`--set learning_rate` must be a number, got ''."),
        ("batch_size=1.5", "`--set batch_size` must be a whole number, got '1.5': write 2."),
        ("batch_size=" + "9" * 30, f"must be a whole number, got '{'9' * 30}': that is too large."),
        ("flip=maybe", "`--set flip` must be true or false, got 'maybe'."),
        ("hidden=a,b", "`--set hidden` must be a whole number or sizes such as 128,64, got 'a,b'."),
        ("drop=", "`--set drop` must be words such as relu,tanh, got ''."),
        ("patience=soon", "`--set patience` must be a whole number or none, got 'soon'."),
        ("x", "`--set` takes key=value, got 'x': for example --set learning_rate=1e-3"),
        ("seed=3", "`--set seed=3` must be written `--seed 3`: it is an option of the command."),
    ],
)
def test_a_value_that_is_something_else_gets_a_sentence(word, sentence):
    with pytest.raises(ArgumentError) as error:
        settings([word], DECLARED, flags=("seed",))
    assert sentence in str(error.value)


def test_reading_options_are_those_of_the_reader(tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("a;b;y\n1;2;3\n", encoding="utf-8")
    found = reading(["drop=a", "decimal=,", "delimiter=semicolon"], str(rows), "y")
    assert found == {"target": "y", "drop": ("a",), "decimal": ",", "delimiter": ";"}
    assert reading(["window=5", "horizon=2"], str(rows)) == {"window": 5, "horizon": 2}
    with pytest.raises(ArgumentError, match="`--read horizon` must be a whole number, got 'abc'"):
        reading(["window=5", "horizon=abc"], str(rows))


def test_sizes_are_positive_whole_numbers():
    assert sizes("1,28,28", "--inputs", "1,28,28") == (1, 28, 28) and sizes(None, "--inputs", "") is None
    for bad in ("a", "1.5", "0,3", "", "-1"):
        with pytest.raises(ArgumentError, match="`--inputs` must be positive numbers separated by commas, such as 1,2"):
            sizes(bad, "--inputs", "1,28,28")


@pytest.mark.parametrize("word", ["8:1", "a:b:c", "0:1:1", "4:-1:1", "4:1:1:1", "", "1.5:1:1"])
def test_shares_that_are_none_are_refused(word):
    with pytest.raises(ArgumentError, match=rf"`--split` takes three whole numbers .*, got {word!r}: for example"):
        shares(word)
