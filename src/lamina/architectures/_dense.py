"""What the dense architectures share: images read as vectors and the checks of their options."""

from lamina._errors import ArgumentError, ShapeError, at_least, between, choice
from lamina._types import Float, Tensor
from lamina.functional.activations import ACTIVATIONS
from lamina.functional.initialization import INITIALIZATIONS

Shape = int | tuple[int, ...]
"""The shape of one example: a number of features, or the axes of an image."""


def as_shape(inputs: Shape) -> tuple[int, ...]:
    """Write the shape of one example as a tuple."""
    return (inputs,) if isinstance(inputs, int) else tuple(inputs)


def as_vectors(inputs: Float[Tensor, "..."], shape: Shape) -> Float[Tensor, "*batch feature"]:
    """View each example as the vector $y^{[0]}$ that a dense layer reads."""
    axes = as_shape(shape)
    if tuple(inputs.shape[-len(axes) :]) != axes:
        raise ShapeError(
            f"each example must have the shape {axes} that the network was built for, got inputs of shape "
            f"{tuple(inputs.shape)}: build it with other `inputs` or reshape the data."
        )
    return inputs.flatten(-len(axes))


def check_sizes(inputs: Shape, outputs: int) -> None:
    """Raise unless there is something to read and something to say."""
    if not as_shape(inputs):
        raise ArgumentError("`inputs` must be a number of features or the shape of an image, got the empty shape ().")
    for size in as_shape(inputs):
        at_least("inputs", size, 1)
    at_least("outputs", outputs, 1)


def check_options(activation: str, initialization: str | None, scale: float, dropout: float = 0.0) -> None:
    """Raise unless the options that dense architectures share are in their bounds."""
    choice("activation", activation, ACTIVATIONS)
    choice("initialization", initialization, (None, *INITIALIZATIONS))
    at_least("scale", scale, 0)
    between("dropout", dropout, 0, 1, open_high=True)
