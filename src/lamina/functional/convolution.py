r"""Convolution in all the forms of §3.1 and §3.2: of functions, on the integers, of matrices and of image tensors.

The notes write an image as height x width x channel and count from 1; tensors here are torch's batch x channel x
height x width and count from 0 (N3.11, E47). A kernel size, stride or padding is one number m, s or p for both axes, or
a pair (vertical, horizontal).
"""

import functools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

import torch

from lamina._errors import ArgumentError, ShapeError, above, at_least
from lamina._types import Elementwise, Float, Tensor

Pair = int | tuple[int, int]
Images = Float[Tensor, "batch channel height width"]
Filters = Float[Tensor, "filters channel kernel_height kernel_width"]
Kernel = Float[Tensor, "kernel_height kernel_width"]
Index = TypeVar("Index", int, tuple[int, ...])
Number = TypeVar("Number", int, float, Fraction)


def convolve_functions(
    f: Elementwise,
    g: Elementwise,
    t: Float[Tensor, "..."],
    lower: float,
    upper: float,
    points: int = 1000,
    dimension: int = 1,
) -> Float[Tensor, "..."]:
    r"""Convolve two functions on R^n at the places t by quadrature in float64.

    $$(f * g)(t) = \int f(x)\, g(t - x)\, dx$$
    with the midpoint rule on the cube $[\mathrm{lower}, \mathrm{upper}]^n$, which must hold all of f that matters. The
    rule is exact to rounding for smooth functions that vanish at the border, and of first order across a jump.

    Notes: N3.12 (§3.1, Def. 3.2).
    Corrects: E48, for integrable f and g the integral exists for almost every t only.

    Args:
        f: the input; a function of a tensor of places that returns one value per place.
        g: the kernel, a function like `f`.
        t: places; for n = 1 a tensor of any shape, for n > 1 its last axis holds the n coordinates.
        lower: where the integration starts, the same on every axis.
        upper: where it ends.
        points: how many midpoints on each axis.
        dimension: the dimension n.

    >>> box = lambda x: (x.abs() < 0.5).double()
    >>> convolve_functions(box, box, torch.tensor([0.0, 0.5, 1.0]), -1, 1).round(decimals=9).tolist()
    [1.0, 0.5, 0.0]
    """
    above("upper", upper, lower)
    at_least("points", points, 1)
    at_least("dimension", dimension, 1)
    step = (upper - lower) / points
    axis = lower + step * (torch.arange(points, dtype=torch.float64, device=t.device) + 0.5)
    if dimension == 1:
        x, difference = axis, t.double()[..., None] - axis
    else:
        x = torch.cartesian_prod(*[axis] * dimension)
        difference = t.double()[..., None, :] - x
    return (f(x) * g(difference)).sum(-1) * step**dimension


def convolve_on_integers(f: Mapping[Index, Number], g: Mapping[Index, Number]) -> dict[Index, Number]:
    r"""Convolve two functions on Z^n that are zero outside finitely many places, exactly.

    $$(f * g)(t) = \sum_{x \in \mathbb Z^n} f(x)\, g(t - x)$$

    Notes: N3.13, N3.14 (§3.1, Def. 3.3).
    Corrects: E48, the sum needs summable functions; finite support is enough.

    Args:
        f: the values where the input is not zero; places are integers (n = 1) or tuples of n integers.
        g: the same for the kernel.

    Returns:
        The values of f * g at every sum of two places, in rising order.

    >>> convolve_on_integers({1: 1, 2: 1}, {1: 1, 2: 1})
    {2: 1, 3: 2, 4: 1}
    """
    result: dict[Index, Number] = {}
    for x, value in f.items():
        for z, weight in g.items():
            t = x + z if isinstance(x, int) else tuple(a + b for a, b in zip(x, z, strict=True))
            result[t] = result[t] + value * weight if t in result else value * weight
    return dict(sorted(result.items()))


def dice_sum_distribution(dice: int = 2, sides: int = 6) -> dict[int, Fraction]:
    r"""Give the distribution of the sum of fair dice, the convolution of their distributions, as exact fractions.

    $$f_{X+Y}(t) = \sum_x f_X(x) f_Y(t - x) = (f_X * f_Y)(t)$$

    Notes: N3.15 (§3.1, Ex. 3.4).

    Args:
        dice: how many dice.
        sides: how many sides each has, numbered from 1.

    >>> dice_sum_distribution()[9]
    Fraction(1, 9)
    """
    at_least("dice", dice, 1)
    at_least("sides", sides, 1)
    die = {t: Fraction(1, sides) for t in range(1, sides + 1)}
    return functools.reduce(convolve_on_integers, [die] * dice)


def convolve1d(f: Float[Tensor, " left"], g: Float[Tensor, " right"]) -> Float[Tensor, " left+right-1"]:
    r"""Convolve two vectors, read as functions of their index that are zero elsewhere; all overlaps are kept.

    $$(f * g)(t) = \sum_x f(x)\, g(t - x)$$

    Notes: N3.13 (§3.1, Def. 3.3).

    Args:
        f: the input.
        g: the kernel; the two may be exchanged.

    >>> convolve1d(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0, 100.0])).tolist()
    [1.0, 12.0, 120.0, 200.0]
    """
    at_least("len(f)", len(f), 1)
    at_least("len(g)", len(g), 1)
    return torch.nn.functional.conv1d(f[None, None], g.flip(0)[None, None], padding=len(g) - 1)[0, 0]


def convolve_indexed(
    f: Float[Tensor, " left"], f_start: int, g: Float[Tensor, " right"], g_start: int
) -> tuple[int, Float[Tensor, " left+right-1"]]:
    """Convolve two vectors whose first entries stand at given integers, and say where the result starts.

    Notes: N3.14 (§3.1).

    Args:
        f: the values of the input at `f_start`, `f_start` + 1, ...
        f_start: the place of its first value.
        g: the values of the kernel at `g_start`, `g_start` + 1, ...
        g_start: the place of its first value.

    >>> convolve_indexed(torch.ones(6), 1, torch.ones(6), 1)[0]
    2
    """
    return f_start + g_start, convolve1d(f, g)


def _pair(value: Pair) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else value


def output_size(size: int, kernel_size: int, padding: int = 0, stride: int = 1) -> int:
    r"""Count the places of a kernel along one axis: the size of the output of a convolution or pooling.

    $$\left\lfloor \frac{n + 2p - m}{s} \right\rfloor + 1$$
    with n = `size`, m = `kernel_size`, p = `padding`, s = `stride`. The size is kept (s = 1) iff p = (m-1)/2.

    Notes: N3.25, N3.27, N3.29, N3.31 (§3.2).
    Corrects: E08, the printed quotient need not be a whole number: a place that does not fit is left out.

    Args:
        size: the number of pixels along this axis.
        kernel_size: the number of pixels that the kernel covers.
        padding: how many zeros are added at either end.
        stride: how far the kernel moves.

    >>> output_size(28, 5, padding=2), output_size(7, 3, stride=2), output_size(28, 3, stride=2)
    (28, 3, 13)
    """
    at_least("size", size, 1)
    at_least("kernel_size", kernel_size, 1)
    at_least("padding", padding, 0)
    at_least("stride", stride, 1)
    if kernel_size > size + 2 * padding:
        raise ShapeError(
            f"`kernel_size` must be at most the padded input ({size + 2 * padding}), got {kernel_size}: "
            "add padding or use a smaller kernel."
        )
    return (size + 2 * padding - kernel_size) // stride + 1


def windows(height: int, width: int, kernel_size: Pair, stride: Pair = 1) -> list[tuple[int, int]]:
    """List the upper left corners of all places of a kernel on an image, row by row.

    Notes: N3.24, N3.28 (§3.2, Figs. 19 and 20).

    Args:
        height: the number of rows of the (padded) image.
        width: the number of its columns.
        kernel_size: the size m of the kernel.
        stride: how far it moves.

    Returns:
        (row, column) of each corner, counted from 0.

    >>> windows(4, 5, kernel_size=3)
    [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    """
    sizes = zip((height, width), _pair(kernel_size), _pair(stride), strict=True)
    rows, columns = ([s * i for i in range(output_size(n, m, stride=s))] for n, m, s in sizes)
    return [(row, column) for row in rows for column in columns]


def pad(inputs: Float[Tensor, "*batch height width"], padding: Pair) -> Float[Tensor, "*batch rows columns"]:
    r"""Surround an image with zeros: $n_1 \times n_2$ becomes $(n_1 + 2p) \times (n_2 + 2p)$.

    Notes: N3.26 (§3.2).

    Args:
        inputs: one or more images.
        padding: how many zeros p on every side.

    >>> pad(torch.ones(1, 2), 1).tolist()
    [[0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    """
    vertical, horizontal = _pair(padding)
    at_least("padding", min(vertical, horizontal), 0)
    return torch.nn.functional.pad(inputs, (horizontal, horizontal, vertical, vertical))


def correlation(
    inputs: Images, weight: Filters, bias: Float[Tensor, " filters"] | None = None, stride: Pair = 1, padding: Pair = 0
) -> Float[Tensor, "batch filters rows columns"]:
    r"""Correlate images with M filters: torch's `conv2d`, under the name the notes give it.

    $$[Y \circledast K]_{ij} = \sum_{c} \sum_{k,l} K_{kl}^{c}\, Y_{i-1+k,\, j-1+l}^{c} + b$$
    with Y = `inputs`, K = one filter of `weight`, b its `bias`; the results of all filters are stacked as channels.
    With stride 1 an image that is moved gives feature maps that are moved as far (away from the border).

    Notes: N3.05, N3.19, N3.30, N3.33 (§3, §3.2).
    Differs: torch.nn.functional.conv2d, Keras and most papers call this operation a convolution (E47).

    Args:
        inputs: the images Y.
        weight: the kernels; each spans all channels and does not move along them.
        bias: one number per filter.
        stride: how far a kernel moves.
        padding: how many zeros surround an image.

    >>> correlation(torch.tensor([[[[1.0, 2.0, 3.0]]]]), torch.tensor([[[[1.0, 10.0]]]])).tolist()
    [[[[21.0, 32.0]]]]
    """
    _check_fit(inputs, weight, stride, padding)
    return torch.nn.functional.conv2d(inputs, weight, bias, stride, padding)


def convolution(
    inputs: Images, weight: Filters, bias: Float[Tensor, " filters"] | None = None, stride: Pair = 1, padding: Pair = 0
) -> Float[Tensor, "batch filters rows columns"]:
    r"""Convolve images with M filters: the correlation with every kernel flipped in rows and columns.

    $$[Y * K]_{ij} = \sum_{c} \sum_{k,l} K_{kl}^{c}\, Y_{i+m_1-k,\, j+m_2-l}^{c} + b$$
    with Y = `inputs`, K = one filter of `weight`, b its `bias`; the results of all filters are stacked as channels.

    Notes: N3.11, N3.18, N3.20, N3.30, N3.33 (§3, §3.2, Def. 3.5).
    Differs: torch.nn.functional.conv2d does not flip; see `correlation`.

    The arguments are those of `correlation`; channels are not flipped.

    >>> convolution(torch.tensor([[[[1.0, 2.0, 3.0]]]]), torch.tensor([[[[1.0, 10.0]]]])).tolist()
    [[[[12.0, 23.0]]]]
    """
    return correlation(inputs, weight.flip(-2, -1), bias, stride, padding)


def _check_fit(inputs: Tensor, weight: Tensor, stride: Pair, padding: Pair) -> None:
    """Raise the sentences of `output_size` for either axis."""
    for n, m, p, s in zip(inputs.shape[-2:], weight.shape[-2:], _pair(padding), _pair(stride), strict=True):
        output_size(n, m, p, s)


def correlate2d(
    inputs: Float[Tensor, "height width"], kernel: Kernel, padding: Pair = 0, stride: Pair = 1
) -> Float[Tensor, "rows columns"]:
    r"""Correlate one matrix with one kernel, where the kernel fits.

    $$[Y \circledast K]_{ij} = \sum_{k=1}^{m_1} \sum_{l=1}^{m_2} K_{kl}\, Y_{i-1+k,\, j-1+l}$$
    with Y = `inputs`, K = `kernel`.

    Notes: N3.19, N3.22, N3.23 (§3.2, Ex. 3.6).

    Args:
        inputs: the matrix Y.
        kernel: the matrix K, with m_1 rows and m_2 columns.
        padding: how many zeros surround Y.
        stride: how far the kernel moves.

    >>> correlate2d(torch.arange(9.0).reshape(3, 3), torch.tensor([[1.0, 0.0], [0.0, -1.0]])).tolist()
    [[-4.0, -4.0], [-4.0, -4.0]]
    """
    return correlation(inputs[None, None], kernel[None, None], stride=stride, padding=padding)[0, 0]


def convolve2d(
    inputs: Float[Tensor, "height width"], kernel: Kernel, padding: Pair = 0, stride: Pair = 1
) -> Float[Tensor, "rows columns"]:
    r"""Convolve one matrix with one kernel, where the kernel fits.

    $$[Y * K]_{ij} = \sum_{k=1}^{m_1} \sum_{l=1}^{m_2} K_{kl}\, Y_{i+m_1-k,\, j+m_2-l}$$
    with Y = `inputs`, K = `kernel`. A padding of (m_1 - 1, m_2 - 1) keeps all overlaps, as Def. 3.3 does on Z^2; only
    that form is symmetric in Y and K (E48).

    Notes: N3.13, N3.18, N3.20, N3.21, N3.23 (§3.1, §3.2, Def. 3.5, Ex. 3.6).

    The arguments are those of `correlate2d`.

    >>> convolve2d(torch.arange(9.0).reshape(3, 3), torch.tensor([[1.0, 0.0], [0.0, -1.0]])).tolist()
    [[4.0, 4.0], [4.0, 4.0]]
    """
    return correlate2d(inputs, kernel.flip(0, 1), padding, stride)


def convolution_matrix(
    kernel: Float[Tensor, "kernel_height kernel_width"], height: int, width: int, *, flip: bool = True
) -> Float[Tensor, "outputs inputs"]:
    r"""Write the convolution with a kernel as one matrix that acts on flattened images.

    $$\operatorname{vec}(Y * K) = A \operatorname{vec}(Y)$$
    with Y of `height` x `width` pixels, flattened row by row. A is a block Toeplitz matrix of Toeplitz blocks: each of
    its rows holds the same $m_1 m_2$ numbers, moved on. A dense layer could choose all entries of A freely.

    Notes: N3.05, N3.18, N3.19 (§3, §3.2, Def. 3.5).

    Args:
        kernel: the matrix K.
        height: the rows of the images.
        width: their columns.
        flip: convolution; without it, correlation.

    Returns:
        The matrix A, a row for each entry of the result, a column for each pixel.

    >>> convolution_matrix(torch.tensor([[1.0, 2.0]]), 1, 3).tolist()
    [[2.0, 1.0, 0.0], [0.0, 2.0, 1.0]]
    """
    each = torch.eye(height * width, dtype=kernel.dtype, device=kernel.device).reshape(-1, 1, height, width)
    return (convolution if flip else correlation)(each, kernel[None, None]).flatten(1).T


def filter_parameter_count(filters: int, kernel_size: int, channels: int = 1, *, bias: bool = True) -> int:
    r"""Count the variables of a convolutional layer, $M (m^2 n_3 + 1)$ with bias.

    Notes: N3.30, N3.35 (§3.2, Remark 3.7).
    Corrects: E38, the printed M m^2 holds for one channel and without bias.

    Args:
        filters: the number M of filters.
        kernel_size: the size m of each.
        channels: the number n_3 of input channels.
        bias: whether each filter adds a number.

    >>> filter_parameter_count(6, 5)
    156
    """
    return filters * (kernel_size**2 * channels + bias)


def receptive_field(kernel_sizes: Sequence[int], strides: Sequence[int]) -> int:
    r"""Give how many inputs along one axis a neuron behind a stack of convolutions and poolings sees.

    $$r = 1 + \sum_{l} (m_l - 1) \prod_{k<l} s_k$$
    with m = `kernel_sizes`, s = `strides`, in the order in which data passes them.

    Notes: N3.36, N3.37 (§3.2, Remark 3.7, Fig. 22).
    Corrects: E49, in the literature the effective receptive field is a smaller region, that of noticeable influence.

    Args:
        kernel_sizes: the kernel size m of each layer.
        strides: the stride s of each layer.

    Returns:
        The width r of the receptive field, away from the border.

    >>> receptive_field([3, 3], [1, 1]), receptive_field([5, 2, 5, 2], [1, 2, 1, 2])
    (5, 16)
    """
    if len(kernel_sizes) != len(strides):
        raise ArgumentError(
            f"`strides` must have as many entries as `kernel_sizes` ({len(kernel_sizes)}), got {len(strides)}: "
            "give every layer both, 1 where it does not stride."
        )
    field, jump = 1, 1
    for m, s in zip(kernel_sizes, strides, strict=True):
        at_least("kernel_sizes", m, 1)
        at_least("strides", s, 1)
        field, jump = field + (m - 1) * jump, jump * s
    return field


def flatten(inputs: Float[Tensor, "batch ..."]) -> Float[Tensor, "batch feature"]:
    r"""Write each image of a batch as one vector, row after row: $n_{0,1} \times n_{0,2}$ becomes $n_{0,1} n_{0,2}$.

    A dense layer on it has $n_1 n_{0,1} n_{0,2}$ weights, 10^9 for 1000 nodes on an image of 1000 x 1000 pixels.

    Notes: N3.02, N3.04 (§3).

    Args:
        inputs: images, the first axis numbers them.

    >>> flatten(torch.zeros(2, 28, 28)).shape
    torch.Size([2, 784])
    """
    return inputs.flatten(1)
