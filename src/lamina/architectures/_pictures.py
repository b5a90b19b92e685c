"""What the networks for pictures share: checks of their options and the sizes of maps along a chain of layers."""

from itertools import count

from lamina._errors import ArgumentError, ShapeError, above, at_least, choice
from lamina._types import Float, Tensor
from lamina.functional.convolution import output_size
from lamina.functional.initialization import INITIALIZATIONS

Step = tuple[int, int, int]
"""Kernel size, padding and stride of a convolution or pooling."""


def check_options(
    inputs: tuple[int, int, int], outputs: int, initialization: str | None, scale: float, width: float = 1.0
) -> None:
    """Raise unless the options that all picture networks have are within their bounds."""
    if len(inputs) != 3 or min(inputs) < 1:
        raise ArgumentError(f"`inputs` must be (channels, height, width), each at least 1, got {inputs}.")
    at_least("outputs", outputs, 1)
    if initialization is not None:
        choice("initialization", initialization, INITIALIZATIONS)
    at_least("scale", scale, 0)
    above("width", width, 0)


def chain(size: int, steps: tuple[Step, ...]) -> list[int]:
    """Return the size along one axis after each step."""
    sizes = [size]
    for kernel_size, padding, stride in steps:
        sizes.append(output_size(sizes[-1], kernel_size, padding, stride))
    return sizes[1:]


def smallest(steps: tuple[Step, ...]) -> int:
    """Return the smallest size along one axis that all steps can take."""
    return next(size for size in count(1) if fits(size, steps))


def fits(size: int, steps: tuple[Step, ...]) -> bool:
    """Say whether all steps can be taken from this size."""
    try:
        chain(size, steps)
    except ShapeError:
        return False
    return True


def check_size(inputs: tuple[int, int, int], steps: tuple[Step, ...], way_out: str) -> None:
    """Raise unless pictures of this size can take all steps."""
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
    """Raise unless a batch of pictures has the shape that a network was built for."""
    axes = 1 if any_size else 3
    if inputs.dim() != len(leading) + 3 or tuple(inputs.shape[-3:])[:axes] != shape[:axes]:
        wanted = f"{shape[0]} channels" if any_size else f"the shape {shape}"
        raise ShapeError(
            f"each picture must have {wanted} that the network was built for, got inputs of shape "
            f"{tuple(inputs.shape)}: build it with other `inputs`, or bring the data to ({', '.join(leading)}, "
            "channels, height, width)."
        )


def scaled(channels: int, width: float, multiple: int = 1) -> int:
    """Return a number of channels times a factor, rounded to a positive multiple."""
    return max(1, round(channels * width / multiple)) * multiple
