"""Every error is one of ours and the builtin that callers catch; bounds are checked at their ends."""

import math

import pytest

from lamina import _errors
from lamina._errors import (
    ArgumentError,
    InstructionError,
    LaminaError,
    MissingExtraError,
    above,
    at_least,
    between,
    choice,
)

BUILTINS = {
    "ArgumentError": ValueError,
    "ShapeError": ValueError,
    "DataError": ValueError,
    "RunError": RuntimeError,
    "InstructionError": RuntimeError,
    "MissingExtraError": ImportError,
}


def test_every_error_is_the_builtin_too():
    ours = {
        name: kind for name, kind in vars(_errors).items() if isinstance(kind, type) and issubclass(kind, LaminaError)
    }
    assert ours.keys() == {"LaminaError", *BUILTINS}
    assert all(issubclass(ours[name], builtin) for name, builtin in BUILTINS.items())
    assert issubclass(_errors.DataWarning, UserWarning)


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        (lambda: choice("reset", 3, ("before", "after")), "`reset` must be one of 'before', 'after', got 3."),
        (lambda: at_least("depth", 0.5, 1), "`depth` must be at least 1, got 0.5."),
        (lambda: at_least("depth", math.nan, 1), "`depth` must be at least 1, got nan."),
        (
            lambda: at_least("width", 2**63, 1),
            "`width` must be at most 9,223,372,036,854,775,807, got 9,223,372,036,854,775,808.",
        ),
        (lambda: above("eps", 0, 0), "`eps` must be greater than 0, got 0."),
        (lambda: above("eps", math.nan, 0), "`eps` must be greater than 0, got nan."),
        (lambda: between("rate", 1.5, 0, 1), "`rate` must be in [0, 1], got 1.5."),
        (lambda: between("rate", -0.5, 0, 1), "`rate` must be in [0, 1], got -0.5."),
        (lambda: between("rate", 1, 0, 1, open_high=True), "`rate` must be in [0, 1), got 1."),
        (lambda: between("rate", math.nan, 0, 1), "`rate` must be in [0, 1], got nan."),
    ],
)
def test_what_is_out_of_bounds_is_named(check, sentence):
    with pytest.raises(ArgumentError) as found:
        check()
    assert str(found.value) == sentence


def test_the_ends_are_within_bounds():
    choice("reset", "after", ("before", "after"))
    at_least("depth", 1, 1)
    above("eps", 1e-300, 0)
    between("rate", 0, 0, 1)
    between("rate", 1, 0, 1)
    between("rate", 0.999, 0, 1, open_high=True)


def test_errors_that_know_more():
    found = MissingExtraError("optuna", "search", "TPE")
    assert str(found) == "TPE needs the package 'optuna': install it with  pip install 'lamina-nn[search]'."
    cure = InstructionError("no AMX", "AVX512_CORE")
    assert (str(cure), cure.limit) == ("no AMX", "AVX512_CORE")
