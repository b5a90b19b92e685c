"""Check what files hold, and turn what is wrong with one into a sentence that names it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lamina._errors import LaminaError, RunError
from lamina.data._dates import LINEAR
from lamina.report._formatting import finite
from lamina.training.tasks.kinds import read_task

_UNREADABLE = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, OSError, LaminaError)
_LONGEST = 160


@contextmanager
def blame(path: Path) -> Iterator[None]:
    """Turn what goes wrong with the content of a file into a sentence that names it."""
    try:
        yield
    except RunError:
        raise
    except _UNREADABLE as error:
        why = f"no {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
        why = " ".join(why.split()).rstrip(".")[:_LONGEST]
        raise RunError(f"{path} is damaged ({why}): restore it from a copy, or train again.") from error


def expect(right: bool, what: str) -> None:
    """Raise unless something holds."""
    if not right:
        raise ValueError(what)


def check_preprocess(values: dict[str, Any]) -> dict[str, Any]:
    """Check what a report takes from a preparation, and fill in what an older one did not have."""
    whole = read_task(values).as_dict()
    if "mean" not in whole:  # texts have a dictionary instead
        return whole
    for name in ("mean", "std", "target_mean", "target_std"):
        expect(all(isinstance(number, int | float) for number in whole[name]), f"{name} are not numbers")
    for sizes in (whole["inputs"], whole["kept"], whole["spec"]["inputs"]):
        expect(all(isinstance(size, int) for size in sizes), "a shape is not made of whole numbers")
    if whole["spec"]["kind"] == "table":
        width, levels = len(whole["spec"]["features"]), whole["spec"]["levels"]
        whole |= {name: whole[name] or [[]] * width for name in ("seen", "pooled", "parts")}
        fits = all(len(whole[name]) == width for name in ("seen", "pooled", "parts"))
        expect(fits and len(whole["missing"]) in (0, width), "its columns do not fit")
        numbers = sum(not each and not date for each, date in zip(levels, whole["spec"]["dates"], strict=True))
        numbers += sum(part in LINEAR for parts in whole["parts"] for part in parts)
        expect(len(whole["mean"]) == len(whole["std"]) == numbers, "its columns do not fit")
        expect(
            all(
                0 <= i < len(ls)
                for name in ("seen", "pooled")
                for ls, own in zip(levels, whole[name], strict=False)
                for i in own
            ),
            "its categories do not fit",
        )
    return whole


def check_evaluation(values: dict[str, Any]) -> None:
    """Check what the first screen takes from an evaluation."""
    examples, openings = int(values["examples"]), int(values.get("openings", 1))
    expect(0 <= examples < 2**53 and openings >= 1, "impossible counts")
    check_numbers(values["metrics"])
    for each in values.get("baselines") or ():
        check_numbers({**each["metrics"], "ahead": each["ahead"], "p": each["p"]})
    if linear := values.get("linear"):
        check_numbers({name: linear[name] for name in ("linear", "network", "ahead", "p", "examples")})
    share = finite(values["metrics"].get("accuracy"))
    expect(share is None or 0 <= share <= 1, "an accuracy outside [0, 1]")


def check_numbers(values: dict[str, Any]) -> None:
    """Raise unless every value is a number or nothing."""
    for value in values.values():
        finite(value)
