import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.signal
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import avg_pool2d, conv2d

from lamina._errors import ArgumentError, ShapeError
from lamina.functional.convolution import (
    convolution,
    convolve1d,
    convolve2d,
    convolve_functions,
    convolve_indexed,
    convolve_on_integers,
    correlate2d,
    correlation,
    dice_sum_distribution,
    filter_parameter_count,
    flatten,
    output_size,
    pad,
    receptive_field,
    windows,
)

# Ex. 3.6 of the notes.
Y = torch.tensor([[1, 5, -2, 0, 2], [3, 8, 7, 1, 0], [-1, 0, 1, 2, 3], [4, 2, 1, -1, 2]], dtype=torch.float64)
K = torch.arange(1, 10, dtype=torch.float64).reshape(3, 3)
LAWS = settings(max_examples=40, deadline=None)


def integers(*shape, seed=0):
    """Whole numbers in float64: sums of their products are exact, so laws hold bit for bit."""
    return torch.randint(-5, 6, shape, generator=torch.Generator().manual_seed(seed)).double()


def normal(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# --- functions on R^n (Def. 3.2)


def box(x):
    return (x.abs() < 0.5).double()


def bell(mean, std):
    return lambda x: torch.exp(-(((x - mean) / std) ** 2) / 2) / (std * math.sqrt(2 * math.pi))


@pytest.mark.notes("N3.12")
def test_box_with_box_is_the_triangle():
    t = torch.arange(-15, 16, dtype=torch.float64) / 10
    result = convolve_functions(box, box, t, -1, 1, points=2000)
    torch.testing.assert_close(result, (1 - t.abs()).clamp(min=0), rtol=0, atol=1e-12)


@pytest.mark.notes("N3.12")
def test_quadrature_takes_the_middle_of_each_step():
    """The midpoint rule is exact for a line: the integral of x from 0 to 1 from the places 1/4 and 3/4."""
    result = convolve_functions(lambda x: x, torch.ones_like, torch.zeros(1), 0, 1, points=2)
    assert result.tolist() == [0.5]


@pytest.mark.notes("N3.12")
def test_quadrature_of_a_jump_is_of_first_order():
    t = torch.linspace(-1.2, 1.2, 17, dtype=torch.float64) + 0.0123
    result = convolve_functions(box, box, t, -1, 1, points=500)
    assert (result - (1 - t.abs()).clamp(min=0)).abs().max() < 2 / 500


@pytest.mark.notes("N3.12")
def test_variances_of_gaussians_add():
    t = torch.linspace(-6, 6, 25, dtype=torch.float64)
    result = convolve_functions(bell(0.5, 0.6), bell(-0.2, 0.8), t, -12, 12, points=600)
    torch.testing.assert_close(result, bell(0.3, 1.0)(t), rtol=0, atol=1e-12)


@pytest.mark.notes("N3.12")
def test_integral_of_a_convolution_is_the_product_of_integrals():
    f, g, step = (lambda x: 2 * bell(1, 0.5)(x)), (lambda x: -3 * bell(0, 0.7)(x)), 0.05
    t = torch.arange(-160, 161, dtype=torch.float64) * step
    assert convolve_functions(f, g, t, -9, 9, points=500).sum() * step == pytest.approx(-6, abs=1e-12)


@pytest.mark.notes("N3.12")
def test_convolution_of_functions_commutes():
    f, g = bell(1, 0.5), (lambda x: x * bell(0, 1)(x))
    t = torch.linspace(-4, 4, 11, dtype=torch.float64).reshape(1, 11)
    one, other = (convolve_functions(*pair, t, -12, 12, points=800) for pair in ((f, g), (g, f)))
    assert one.shape == t.shape
    torch.testing.assert_close(one, other, rtol=0, atol=1e-13)


@pytest.mark.notes("N3.12")
def test_convolution_of_functions_in_the_plane():
    f = lambda x: bell(0.5, 0.6)(x[..., 0]) * bell(0, 0.8)(x[..., 1])  # noqa: E731
    g = lambda x: bell(0, 0.8)(x[..., 0]) * bell(1, 0.6)(x[..., 1])  # noqa: E731
    t = torch.tensor([[0.5, 1.0], [0.0, 0.0], [-1.0, 2.0]], dtype=torch.float64)
    result = convolve_functions(f, g, t, -8, 8, points=120, dimension=2)
    torch.testing.assert_close(result, bell(0.5, 1)(t[:, 0]) * bell(1, 1)(t[:, 1]), rtol=0, atol=1e-12)


def test_quadrature_is_done_in_float64():
    result = convolve_functions(bell(0, 0.6), bell(0, 0.8), torch.tensor(0.25), -8, 8, points=400)
    assert result.dtype == torch.float64
    assert result.item() == pytest.approx(bell(0, 1)(torch.tensor(0.25, dtype=torch.float64)).item(), abs=1e-13)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lower": 1, "upper": 1}, "`upper` must be greater than 1, got 1"),
        ({"lower": 0, "upper": 1, "points": 0}, "`points` must be at least 1, got 0"),
        ({"lower": 0, "upper": 1, "dimension": 0}, "`dimension` must be at least 1, got 0"),
    ],
)
def test_quadrature_refuses(options, message):
    with pytest.raises(ArgumentError, match=message):
        convolve_functions(box, box, torch.zeros(1), **options)


# --- functions on Z^n (Def. 3.3)


@pytest.mark.notes("N3.13", "N3.14")
def test_convolution_on_the_integers_is_the_double_sum():
    f, g = {-2: 3, 0: 1, 5: -4}, {1: 2, 2: 7}
    result = convolve_on_integers(f, g)
    assert list(result) == sorted(result)
    for t in range(-5, 12):
        assert result.get(t, 0) == sum(f.get(x, 0) * g.get(t - x, 0) for x in range(-10, 10))
    assert convolve_on_integers(g, f) == result


@pytest.mark.notes("N3.13")
def test_convolution_on_pairs_of_integers_is_the_full_2d_convolution():
    a, b = integers(3, 4, seed=1), integers(2, 3, seed=2)
    as_function = lambda m: {(i, j): int(m[i, j]) for i in range(m.shape[0]) for j in range(m.shape[1])}  # noqa: E731
    result = convolve_on_integers(as_function(a), as_function(b))
    full = scipy.signal.convolve2d(a.numpy(), b.numpy())
    assert result == {(i, j): full[i, j] for i in range(4) for j in range(6)}
    assert convolve2d(a, b, padding=(1, 2)).numpy().tolist() == full.tolist()
    assert torch.equal(convolve2d(a, b, padding=(1, 2)), convolve2d(b, a, padding=(2, 3)))


@pytest.mark.notes("N3.15")
def test_sum_of_two_dice():
    distribution = dice_sum_distribution()
    assert distribution[9] == Fraction(1, 9) == Fraction(4, 36)
    assert list(distribution) == list(range(2, 13))
    assert [36 * p for p in distribution.values()] == [1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1]
    assert sum(distribution.values()) == 1


def test_sum_of_three_four_sided_dice_is_counted():
    rolls = [a + b + c for a in range(1, 5) for b in range(1, 5) for c in range(1, 5)]
    assert dice_sum_distribution(3, 4) == {t: Fraction(rolls.count(t), 64) for t in range(3, 13)}
    assert dice_sum_distribution(3, 1) == {3: 1}


@pytest.mark.parametrize(
    ("options", "message"), [({"dice": 0}, "`dice` must be at least 1"), ({"sides": 0}, "`sides`")]
)
def test_dice_refuse(options, message):
    with pytest.raises(ArgumentError, match=message):
        dice_sum_distribution(**options)


@pytest.mark.notes("N3.14", "N3.15")
def test_index_bookkeeping_of_the_dice():
    die = torch.full((6,), 1 / 6, dtype=torch.float64)
    start, values = convolve_indexed(die, 1, die, 1)
    assert start == 2
    assert len(values) == 11
    assert values[9 - start].item() == pytest.approx(1 / 9, abs=1e-16)
    exact = torch.tensor([float(p) for p in dice_sum_distribution().values()], dtype=torch.float64)
    torch.testing.assert_close(values, exact, rtol=0, atol=1e-16)


@pytest.mark.notes("N3.13")
@LAWS
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 999))
def test_vectors_convolve_as_in_numpy_and_commute(left, right, seed):
    f, g = integers(left, seed=seed), integers(right, seed=seed + 1)
    assert convolve1d(f, g).tolist() == np.convolve(f.numpy(), g.numpy()).tolist()
    assert torch.equal(convolve1d(f, g), convolve1d(g, f))


@LAWS
@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6), st.integers(0, 999))
def test_convolution_of_vectors_is_associative(a, b, c, seed):
    f, g, h = integers(a, seed=seed), integers(b, seed=seed + 1), integers(c, seed=seed + 2)
    assert torch.equal(convolve1d(convolve1d(f, g), h), convolve1d(f, convolve1d(g, h)))


@pytest.mark.parametrize("name", ["f", "g"])
def test_empty_vectors_are_refused(name):
    vectors = {"f": torch.ones(2), "g": torch.ones(2), name: torch.ones(0)}
    with pytest.raises(ArgumentError, match=rf"`len\({name}\)` must be at least 1, got 0"):
        convolve1d(**vectors)


# --- matrices (Def. 3.5)


def by_definition(Y, K, *, flipped):
    """Def. 3.5 and the correlation after it, letter by letter, with indices from 1."""
    (n1, n2), (m1, m2) = Y.shape, K.shape
    out = torch.zeros(n1 - m1 + 1, n2 - m2 + 1, dtype=torch.float64)
    for i in range(1, n1 - m1 + 2):
        for j in range(1, n2 - m2 + 2):
            for k in range(1, m1 + 1):
                for l in range(1, m2 + 1):
                    row, column = (i + m1 - k, j + m2 - l) if flipped else (i - 1 + k, j - 1 + l)
                    out[i - 1, j - 1] += K[k - 1, l - 1] * Y[row - 1, column - 1]
    return out


@pytest.mark.notes("N3.18", "N3.19")
@pytest.mark.parametrize("kernel", [(3, 3), (1, 4), (2, 3), (5, 6), (1, 1)])
def test_definitions(kernel):
    Y, K = normal(5, 6, seed=1), normal(*kernel, seed=2)
    torch.testing.assert_close(convolve2d(Y, K), by_definition(Y, K, flipped=True), rtol=0, atol=1e-14)
    torch.testing.assert_close(correlate2d(Y, K), by_definition(Y, K, flipped=False), rtol=0, atol=1e-14)


@pytest.mark.notes("N3.18", "N3.20")
def test_flipping_the_kernel_exchanges_convolution_and_correlation():
    Y, K = normal(7, 8, seed=1), normal(3, 2, seed=2)
    assert torch.equal(convolve2d(Y, K), correlate2d(Y, K.flip(0, 1)))
    assert torch.equal(correlate2d(Y, K), convolve2d(Y, K.flip(0, 1)))
    assert torch.equal(convolve2d(Y, K), conv2d(Y[None, None], K.flip(0, 1)[None, None])[0, 0])


@pytest.mark.notes("N3.21", "N3.22", "N3.23")
def test_example_of_the_notes():
    assert convolve2d(Y, K).tolist() == [[119, 120, 53], [155, 155, 102]]
    assert correlate2d(Y, K).tolist() == [[101, 100, 87], [95, 55, 58]]
    assert (Y[:3, :3] * K.flip(0, 1)).flatten().tolist() == [9, 40, -14, 18, 40, 28, -3, 0, 1]
    assert (Y[:3, :3] * K).flatten().tolist() == [1, 10, -6, 12, 40, 42, -7, 0, 9]
    assert (Y[:3, 1:4] * K).flatten().tolist() == [5, -4, 0, 32, 35, 6, 0, 8, 18]
    assert sum([9, 40, -14, 18, 40, 28, -3, 0, 1]) == 119
    assert (sum([1, 10, -6, 12, 40, 42, -7, 0, 9]), sum([5, -4, 0, 32, 35, 6, 0, 8, 18])) == (101, 100)


@pytest.mark.notes("N3.19")
def test_scipy_agrees():
    Y, K = normal(9, 7, seed=1), normal(4, 3, seed=2)
    reference = scipy.signal.convolve2d(Y.numpy(), K.numpy(), mode="valid")
    np.testing.assert_allclose(convolve2d(Y, K).numpy(), reference, rtol=0, atol=1e-13)
    reference = scipy.signal.correlate2d(Y.numpy(), K.numpy(), mode="valid")
    np.testing.assert_allclose(correlate2d(Y, K).numpy(), reference, rtol=0, atol=1e-13)


# --- sizes, padding, stride


@pytest.mark.notes("N3.24", "N3.25")
def test_windows_of_the_first_figure():
    corners = windows(4, 5, kernel_size=3)
    assert len(corners) == 6
    assert corners == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert correlate2d(Y, K).shape == (2, 3)
    values = [(Y[i : i + 3, j : j + 3] * K).sum().item() for i, j in corners]
    assert values == correlate2d(Y, K).flatten().tolist()


@pytest.mark.notes("N3.28", "N3.29")
def test_windows_of_the_second_figure():
    corners = windows(7, 7, kernel_size=3, stride=2)
    assert len(corners) == 9
    assert corners == [(i, j) for i in (0, 2, 4) for j in (0, 2, 4)]
    X = integers(7, 7)
    values = [(X[i : i + 3, j : j + 3] * K).sum().item() for i, j in corners]
    assert values == correlate2d(X, K, stride=2).flatten().tolist()
    assert torch.equal(correlate2d(X, K, stride=2), correlate2d(X, K)[::2, ::2])


def test_windows_of_unequal_sides():
    assert windows(5, 4, kernel_size=(5, 2), stride=(1, 2)) == [(0, 0), (0, 2)]


@pytest.mark.notes("N3.26")
def test_padded_matrix_of_the_notes():
    printed = [
        [0, 0, 0, 0, 0, 0, 0],
        [0, 1, 5, -2, 0, 2, 0],
        [0, 3, 8, 7, 1, 0, 0],
        [0, -1, 0, 1, 2, 3, 0],
        [0, 4, 2, 1, -1, 2, 0],
        [0, 0, 0, 0, 0, 0, 0],
    ]
    assert pad(Y, 1).tolist() == printed
    assert torch.equal(pad(Y, 0), Y)
    assert pad(Y, 3).shape == (4 + 6, 5 + 6)
    assert torch.equal(correlate2d(Y, K, padding=1), correlate2d(pad(Y, 1), K))
    assert torch.equal(pad(Y, (1, 0)), pad(Y, 1)[:, 1:-1])


def test_negative_padding_is_refused():
    with pytest.raises(ArgumentError, match="`padding` must be at least 0, got -1"):
        pad(Y, (0, -1))


@pytest.mark.notes("N3.27")
def test_size_is_kept_for_half_the_kernel_and_only_then():
    for m in range(1, 9):
        for p in range(5):
            assert (output_size(9, m, p) == 9) == (2 * p == m - 1)
    for m in (1, 3, 5, 7):
        assert convolve2d(Y, torch.ones(m, m, dtype=torch.float64), padding=(m - 1) // 2).shape == (4, 5)
    assert convolve2d(Y, torch.ones(2, 2, dtype=torch.float64), padding=1).shape == (5, 6)


@pytest.mark.notes("N3.29", "N3.31")
@pytest.mark.parametrize(
    ("n", "m", "p", "s", "expected"),
    [
        (7, 3, 0, 2, 3),
        (28, 3, 0, 2, 13),
        (224, 7, 3, 2, 112),
        (224, 11, 2, 4, 55),
        (227, 11, 0, 4, 55),
        (224, 11, 0, 4, 54),
        (5, 2, 0, 2, 2),
    ],
)
def test_sizes_worked_out_by_hand(n, m, p, s, expected):
    assert output_size(n, m, p, s) == expected
    assert math.floor((n + 2 * p - m) / s + 1) == expected


@pytest.mark.notes("N3.31")
@settings(max_examples=80, deadline=None)
@given(st.data())
def test_output_size_is_torchs(data):
    s, p = data.draw(st.integers(1, 5)), data.draw(st.integers(0, 4))
    n1, n2 = data.draw(st.integers(1, 24)), data.draw(st.integers(1, 24))
    m = data.draw(st.integers(1, min(n1, n2) + 2 * p))
    filters = data.draw(st.integers(1, 3))
    result = conv2d(torch.zeros(1, 1, n1, n2), torch.zeros(filters, 1, m, m), padding=p, stride=s)
    assert result.shape[1:] == (filters, output_size(n1, m, p, s), output_size(n2, m, p, s))


@pytest.mark.notes("N3.25", "N3.31")
def test_output_size_on_a_grid():
    for n in range(1, 13):
        for p in range(3):
            for m in range(1, n + 2 * p + 1):
                for s in (1, 2, 3):
                    places = [i for i in range(0, n + 2 * p, s) if i + m <= n + 2 * p]
                    assert output_size(n, m, p, s) == len(places)


@pytest.mark.parametrize(
    "call",
    [
        lambda: output_size(5, 9, padding=1),
        lambda: correlate2d(torch.ones(5, 20), torch.ones(9, 3), padding=1),
        lambda: convolve2d(torch.ones(20, 5), torch.ones(3, 9), padding=1),
        lambda: convolution(torch.ones(1, 2, 5, 5), torch.ones(4, 2, 9, 9), padding=1),
        lambda: correlation(torch.ones(1, 2, 5, 5), torch.ones(4, 2, 9, 9), padding=(1, 3)),
        lambda: windows(7, 7, kernel_size=9),
    ],
)
def test_too_large_kernels_are_refused(call):
    sentence = r"`kernel_size` must be at most the padded input \(7\), got 9: add padding or use a smaller kernel\."
    with pytest.raises(ShapeError, match=sentence):
        call()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1), "`size` must be at least 1, got 0"),
        ((1, 0), "`kernel_size` must be at least 1, got 0"),
        ((1, 1, -1), "`padding` must be at least 0, got -1"),
        ((1, 1, 0, 0), "`stride` must be at least 1, got 0"),
    ],
)
def test_output_size_refuses(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        output_size(*arguments)


# --- image tensors


@pytest.mark.notes("N3.30", "N3.33")
def test_a_layer_stacks_its_filters_and_sums_over_channels():
    images, kernels, bias = integers(2, 3, 6, 7, seed=1), integers(4, 3, 3, 2, seed=2), integers(4, seed=3)
    options = {"stride": (2, 1), "padding": (1, 0)}
    conv, corr = convolution(images, kernels, bias, **options), correlation(images, kernels, bias, **options)
    for image in range(2):
        for m in range(4):
            pairs = list(zip(images[image], kernels[m], strict=True))
            assert torch.equal(conv[image, m], sum(convolve2d(y, k, **options) for y, k in pairs) + bias[m])
            assert torch.equal(corr[image, m], sum(correlate2d(y, k, **options) for y, k in pairs) + bias[m])


@pytest.mark.notes("N3.11", "N3.33")
def test_the_notes_order_of_axes():
    image, kernel = normal(5, 6, 3, seed=1), normal(2, 4, 3, seed=2)  # height x width x channel, kernel m1 x m2 x n3
    result = torch.zeros(4, 3, dtype=torch.float64)
    for i in range(4):
        for j in range(3):
            result[i, j] = (image[i : i + 2, j : j + 4, :] * kernel).sum()
    ours = correlation(image.permute(2, 0, 1)[None], kernel.permute(2, 0, 1)[None])
    torch.testing.assert_close(ours[0, 0], result, rtol=0, atol=1e-14)


@pytest.mark.notes("N3.19", "N3.20")
def test_correlation_is_torchs_and_convolution_its_mirror():
    images, kernels, bias = normal(2, 3, 8, 9, seed=1), normal(4, 3, 3, 3, seed=2), normal(4, seed=3)
    assert torch.equal(correlation(images, kernels, bias, 2, 1), conv2d(images, kernels, bias, 2, 1))
    assert torch.equal(convolution(images, kernels, bias, 2, 1), conv2d(images, kernels.flip(2, 3), bias, 2, 1))


@pytest.mark.notes("N3.30", "N3.35")
def test_counts_of_variables():
    count = lambda module: sum(p.numel() for p in module.parameters())  # noqa: E731
    assert filter_parameter_count(8, 5, bias=False) == 8 * 25 == 200
    layer = torch.nn.Conv2d(3, 8, 5, device="meta")
    assert filter_parameter_count(8, 5, channels=3) == count(layer) == 608
    layer = torch.nn.Conv2d(1, 6, 5, padding=2, device="meta")
    assert filter_parameter_count(6, 5) == count(layer) == 156
    assert layer(torch.zeros(1, 1, 28, 28, device="meta")).shape == (1, 6, 28, 28)
    assert count(torch.nn.Linear(784, 784, device="meta")) == 615_440
    assert count(torch.nn.Linear(784, 28 * 28 * 6, device="meta")) == 3_692_640


@pytest.mark.notes("N3.04")
def test_weights_of_a_dense_layer_on_a_large_image():
    image = torch.empty(1, 1000, 1000, device="meta")
    assert flatten(image).shape == (1, 10**6)
    assert torch.nn.Linear(10**6, 1000, device="meta").weight.numel() == 10**9


@pytest.mark.notes("N3.02")
def test_flattening_can_be_undone():
    images = normal(3, 28, 28)
    vectors = flatten(images)
    assert vectors.shape == (3, 784)
    assert vectors[1, 28 * 4 + 5] == images[1, 4, 5]
    assert torch.equal(vectors.reshape(3, 28, 28), images)


@pytest.mark.notes("N3.03")
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 999))
def test_a_dense_layer_does_not_notice_a_permutation_of_pixels(seed):
    W, x = integers(10, 784, seed=seed), integers(784, seed=seed + 1)
    P = torch.randperm(784, generator=torch.Generator().manual_seed(seed))
    assert torch.equal(W[:, P] @ x[P], W @ x)


@pytest.mark.notes("N3.03")
def test_a_convolution_does_notice_a_permutation_of_pixels():
    image, kernel = integers(8, 8, seed=1), integers(3, 3, seed=2)
    P = torch.randperm(64, generator=torch.Generator().manual_seed(3))
    permuted = image.flatten()[P].reshape(8, 8)
    assert not torch.equal(convolve2d(permuted, kernel).sort().values, convolve2d(image, kernel).sort().values)


@pytest.mark.notes("N3.05")
@LAWS
@given(st.integers(1, 5), st.integers(-6, 6), st.integers(-6, 6), st.integers(0, 999))
def test_convolution_commutes_with_shifts(m, down, right, seed):
    """Away from the border: the picture lies in a frame of zeros as wide as kernel and shift together."""
    image = pad(integers(1, 2, 5, 4, seed=seed), 12)
    kernels = integers(3, 2, m, m, seed=seed + 1)
    for operation in (convolution, correlation):
        shifted_first = operation(image.roll((down, right), (2, 3)), kernels)
        shifted_last = operation(image, kernels).roll((down, right), (2, 3))
        assert torch.equal(shifted_first, shifted_last)


@LAWS
@given(st.integers(1, 4), st.integers(0, 2), st.integers(1, 3), st.integers(0, 999))
def test_convolution_is_linear_in_image_and_kernel(m, padding, stride, seed):
    x, y = integers(2, 3, 6, 5, seed=seed), integers(2, 3, 6, 5, seed=seed + 1)
    V, W = integers(4, 3, m, m, seed=seed + 2), integers(4, 3, m, m, seed=seed + 3)
    conv = lambda images, kernels: convolution(images, kernels, None, stride, padding)  # noqa: E731
    assert torch.equal(conv(2 * x - 3 * y, W), 2 * conv(x, W) - 3 * conv(y, W))
    assert torch.equal(conv(x, 2 * V - 3 * W), 2 * conv(x, V) - 3 * conv(x, W))


def test_gradients_of_convolution():
    leaves = [normal(2, 2, 5, 4, seed=1), normal(3, 2, 3, 2, seed=2), normal(3, seed=3)]
    leaves = [leaf.requires_grad_() for leaf in leaves]
    assert torch.autograd.gradcheck(lambda y, k, b: convolution(y, k, b, (2, 1), (1, 0)), leaves)
    assert torch.autograd.gradcheck(convolve1d, [normal(4).requires_grad_(), normal(3, seed=1).requires_grad_()])


@pytest.mark.parametrize("operation", [convolution, correlation])
def test_members_of_a_population_convolve_as_alone(operation):
    images, kernels, bias = normal(2, 3, 6, 5, seed=1), normal(3, 4, 3, 3, 3, seed=2), normal(3, 4, seed=3)
    together = torch.func.vmap(operation, in_dims=(None, 0, 0))(images, kernels, bias)
    alone = torch.stack([operation(images, k, b) for k, b in zip(kernels, bias, strict=True)])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-13)


def test_vectors_convolve_under_vmap():
    f, g = normal(3, 5, seed=1), normal(3, 4, seed=2)
    together = torch.func.vmap(convolve1d)(f, g)
    alone = torch.stack([convolve1d(a, b) for a, b in zip(f, g, strict=True)])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-14)


# --- receptive field


@pytest.mark.notes("N3.36")
@pytest.mark.parametrize(
    ("kernels", "strides", "expected"),
    [
        ([3, 3], [1, 1], 5),
        ([3] * 10, [1] * 10, 21),
        ([5, 2, 5, 2], [1, 2, 1, 2], 16),
        ([], [], 1),
        ([1, 4], [3, 1], 10),
        ([7, 3, 3], [2, 2, 1], 19),
    ],
)
def test_receptive_field_is_the_support_of_the_gradient(kernels, strides, expected):
    assert receptive_field(kernels, strides) == expected
    size = 4 * expected + 40
    image = torch.ones(1, 1, 1, size, dtype=torch.float64, requires_grad=True)
    outputs = image
    for m, s in zip(kernels, strides, strict=True):
        outputs = correlation(outputs, torch.ones(1, 1, 1, m, dtype=torch.float64), stride=(1, s))
    (gradient,) = torch.autograd.grad(outputs[0, 0, 0, outputs.shape[-1] // 2], image)
    seen = gradient.flatten().nonzero().flatten()
    assert int(seen[-1] - seen[0]) + 1 == expected


@pytest.mark.notes("N3.36")
def test_receptive_field_of_lenet_in_the_plane_and_of_a_dense_layer():
    image = torch.ones(1, 1, 40, 40, dtype=torch.float64, requires_grad=True)
    kernel = torch.ones(1, 1, 5, 5, dtype=torch.float64)
    outputs = avg_pool2d(correlation(avg_pool2d(correlation(image, kernel), 2), kernel), 2)
    (gradient,) = torch.autograd.grad(outputs[0, 0, 2, 2], image)
    rows, columns = gradient[0, 0].nonzero(as_tuple=True)
    assert len(set(rows.tolist())) == len(set(columns.tolist())) == 16
    assert gradient.count_nonzero() == 16**2
    W = normal(1, 1600)
    (gradient,) = torch.autograd.grad((W @ flatten(image)[0]).sum(), image)
    assert gradient.count_nonzero() == 1600


@pytest.mark.notes("N3.37")
def test_receptive_fields_and_arrows_of_the_figure():
    def layer(y, kernel):
        return correlation(y.reshape(1, 1, 1, 5), kernel.reshape(1, 1, 1, 3), padding=(0, 1)).flatten()

    first, second, y0 = normal(3, seed=1), normal(3, seed=2), normal(5, seed=3)
    jacobian = torch.autograd.functional.jacobian(lambda y: layer(layer(y, first), second), y0)
    seen = [[i + 1 for i in range(5) if row[i] != 0] for row in jacobian]
    assert seen[2] == [1, 2, 3, 4, 5]
    assert seen[0] == [1, 2, 3]
    arrows = torch.autograd.functional.jacobian(lambda y: layer(y, first), y0)
    assert arrows.count_nonzero() == 13
    assert [i + 1 for i in range(5) if arrows[2, i] != 0] == [2, 3, 4]
    assert receptive_field([3, 3], [1, 1]) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([3, 3], [1]), r"`strides` must have as many entries as `kernel_sizes` \(2\), got 1: give every layer both"),
        (([0], [1]), "`kernel_sizes` must be at least 1, got 0"),
        (([1], [0]), "`strides` must be at least 1, got 0"),
    ],
)
def test_receptive_field_refuses(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        receptive_field(*arguments)
