"""What the networks for pictures share: checks of their options and the sizes of maps along a chain of layers."""

from itertools import count

from lamina._errors import ArgumentError, ShapeError, above, at_least, choice
from lamina._types import Float, Tensor
from lamina.functional.convolution import output_size
from lamina.functional.initialization import KINDS

Step = tuple[int, int, int]
"""Kernel size, padding and stride of a convolution or pooling."""


def check_options(
    inputs: tuple[int, int, int], outputs: int, initialization: str | None, scale: float, width: float = 1.0
) -> None:
    """Raise unless the options that all picture networks have are within their bounds.

    >>> check_options((1, 0, 28), 10, None, 1.0)
    Traceback (most recent call last):
    lamina._errors.ArgumentError: `inputs` must be (channels, height, width), each at least 1, got (1, 0, 28).
    """
    if len(inputs) != 3 or min(inputs) < 1:
        raise ArgumentError(f"`inputs` must be (channels, height, width), each at least 1, got {inputs}.")
    at_least("outputs", outputs, 1)
    if initialization is not None:
        choice("initialization", initialization, KINDS)
    at_least("scale", scale, 0)
    above("width", width, 0)


def chain(size: int, steps: tuple[Step, ...]) -> list[int]:
    """Return the size along one axis after each step.

    >>> chain(28, ((5, 2, 1), (2, 0, 2), (5, 0, 1), (2, 0, 2)))
    [28, 14, 10, 5]
    """
    sizes = [size]
    for kernel_size, padding, stride in steps:
        sizes.append(output_size(sizes[-1], kernel_size, padding, stride))
    return sizes[1:]


def smallest(steps: tuple[Step, ...]) -> int:
    """Return the smallest size along one axis that all steps can take.

    >>> smallest(((5, 2, 1), (2, 0, 2), (5, 0, 1), (2, 0, 2)))
    12
    """
    return next(size for size in count(1) if fits(size, steps))


def fits(size: int, steps: tuple[Step, ...]) -> bool:
    """Say whether all steps can be taken from this size.

    >>> fits(11, ((5, 2, 1), (2, 0, 2), (5, 0, 1), (2, 0, 2)))
    False
    """
    try:
        chain(size, steps)
    except ShapeError:
        return False
    return True


def check_size(inputs: tuple[int, int, int], steps: tuple[Step, ...], way_out: str) -> None:
    """Raise unless pictures of this size can take all steps.

    >>> check_size((1, 3, 3), ((5, 0, 1),), "add padding.")
    Traceback (most recent call last):
    lamina._errors.ArgumentError: `inputs` must be pictures of at least 5 x 5 pixels, got 3 x 3: add padding.
    """
    _, height, width = inputs
    if not (fits(height, steps) and fits(width, steps)):
        least = smallest(steps)
        raise ArgumentError(
            f"`inputs` must be pictures of at least {least} x {least} pixels, got {height} x {width}: {way_out}"
        )


def check_pictures(
    inputs: Float[Tensor, "..."],
    shape: tuple[int, int, int],
    leading: tuple[str, ...] = ("batch",),
    *,
    any_size: bool = False,
) -> None:
    """Raise unless a batch of pictures has the shape that a network was built for.

    Args:
        inputs: the batch.
        shape: (channels, height, width) of one picture.
        leading: the axes before those of a picture; the members of a population are behind the batch.
        any_size: whether height and width may differ from it.

    >>> import torch
    >>> check_pictures(torch.zeros(5, 3, 28, 28), (3, 224, 224), any_size=True)
    """
    axes = 1 if any_size else 3
    if inputs.dim() != len(leading) + 3 or tuple(inputs.shape[-3:])[:axes] != shape[:axes]:
        wanted = f"{shape[0]} channels" if any_size else f"the shape {shape}"
        raise ShapeError(
            f"each picture must have {wanted} that the network was built for, got inputs of shape "
            f"{tuple(inputs.shape)}: build it with other `inputs`, or bring the data to ({', '.join(leading)}, "
            "channels, height, width)."
        )


def scaled(channels: int, width: float, multiple: int = 1) -> int:
    """Return a number of channels times a factor, rounded to a positive multiple.

    >>> scaled(96, 0.1), scaled(96, 0.1, 4)
    (10, 8)
    """
    return max(1, round(channels * width / multiple)) * multiple
