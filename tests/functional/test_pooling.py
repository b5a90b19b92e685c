import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import avg_pool2d, max_pool2d

from lamina._errors import ArgumentError, ShapeError
from lamina.functional.convolution import convolution, output_size, pad
from lamina.functional.pooling import average_pool, max_pool

# The example of §3.4.
Y = torch.tensor([[1, 3, 0, -7], [-2, 4, 1, -1], [0, 1, 8, -3], [2, 0, 4, 5]], dtype=torch.float64)[None, None]
POOLS = [max_pool, average_pool]


def normal(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.notes("N3.41")
def test_max_pooling_of_the_notes():
    assert max_pool(Y)[0, 0].tolist() == [[4, 1], [2, 8]]


@pytest.mark.notes("N3.42")
def test_average_pooling_of_the_notes_is_a_convolution_with_a_fixed_kernel():
    assert average_pool(Y)[0, 0].tolist() == [[1.5, -1.75], [0.75, 3.5]]
    kernel = torch.full((1, 1, 2, 2), 0.25, dtype=torch.float64)
    assert torch.equal(convolution(Y, kernel, stride=2), average_pool(Y))


@pytest.mark.notes("N3.42")
@pytest.mark.parametrize(("m", "s", "p"), [(2, 1, 0), (3, 2, 1), (5, 1, 2), (4, 3, 2)])
def test_average_pooling_is_a_strided_convolution(m, s, p):
    images, kernel = normal(2, 1, 9, 8), torch.full((1, 1, m, m), 1 / m**2, dtype=torch.float64)
    torch.testing.assert_close(average_pool(images, m, s, p), convolution(images, kernel, None, s, p))


@pytest.mark.notes("N3.39")
@pytest.mark.parametrize("pool", POOLS)
def test_channels_are_pooled_alone(pool):
    images = normal(2, 5, 6, 8)
    pooled = pool(images, 3, 2, 1)
    assert pooled.shape[:2] == (2, 5)
    for c in range(5):
        torch.testing.assert_close(pooled[:, c : c + 1], pool(images[:, c : c + 1], 3, 2, 1), rtol=0, atol=1e-14)
    changed = images.clone()
    changed[:, 2] += 1
    same = [0, 1, 3, 4]
    assert torch.equal(pool(changed, 3, 2, 1)[:, same], pooled[:, same])
    assert not torch.equal(pool(changed, 3, 2, 1)[:, 2], pooled[:, 2])


@pytest.mark.notes("N3.39", "N3.40")
@pytest.mark.parametrize(("pool", "reduce"), [(max_pool, torch.amax), (average_pool, torch.mean)])
def test_pooling_reduces_every_window(pool, reduce):
    image, m, s = normal(1, 1, 7, 6), 3, 2
    pooled = pool(image, m, s)[0, 0]
    assert pooled.shape == (3, 2)
    for i in range(3):
        for j in range(2):
            window = image[0, 0, s * i : s * i + m, s * j : s * j + m]
            assert pooled[i, j].item() == pytest.approx(reduce(window, (0, 1)).item(), abs=1e-14)


@pytest.mark.notes("N3.40")
@pytest.mark.parametrize("pool", POOLS)
def test_two_by_two_pooling_halves_and_drops_the_odd_rest(pool):
    assert pool(torch.zeros(1, 1, 4, 6)).shape[-2:] == (2, 3)
    image = normal(1, 1, 5, 7)
    torch.testing.assert_close(pool(image), pool(image[..., :4, :6]), rtol=0, atol=1e-14)
    assert pool(image).shape[-2:] == (2, 3)


@pytest.mark.notes("N3.40")
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_sizes_are_those_of_a_convolution(data):
    m, s = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 5))
    p = data.draw(st.integers(0, m // 2))
    n1, n2 = (data.draw(st.integers(max(1, m - 2 * p), 15)) for _ in range(2))
    image = torch.zeros(1, 2, n1, n2)
    for pool in POOLS:
        assert pool(image, m, s, p).shape == (1, 2, output_size(n1, m, p, s), output_size(n2, m, p, s))


@pytest.mark.notes("N3.43")
def test_average_pooling_blurs_white_noise():
    noise = torch.rand(1, 1, 64, 64, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    ratio = average_pool(noise, 5, 1).var() / noise.var()
    assert ratio.item() == pytest.approx(0.0397, abs=5e-5)
    assert ratio.item() == pytest.approx(1 / 25, abs=5e-3)
    centre = noise[0, 0, 10:15, 20:25].mean()
    assert average_pool(noise, 5, 1, 2)[0, 0, 12, 22].item() == pytest.approx(centre.item(), abs=1e-14)


@pytest.mark.notes("N3.43", "N3.44")
def test_blur_darkens_the_border_when_zeros_count():
    one = torch.ones(1, 1, 9, 9, dtype=torch.float64)
    blurred = average_pool(one, 5, 1, 2)[0, 0]
    assert blurred.shape == (9, 9)
    assert blurred[0, 0].item() == pytest.approx(0.36, abs=1e-14)
    assert blurred[0, 4].item() == blurred[4, 8].item() == pytest.approx(0.6, abs=1e-14)
    torch.testing.assert_close(blurred[2:7, 2:7], one[0, 0, 2:7, 2:7], rtol=0, atol=1e-14)
    even = average_pool(one, 5, 1, 2, count_include_pad=False)
    torch.testing.assert_close(even, one, rtol=0, atol=1e-14)


def test_average_pooling_pads_with_zeros_and_max_pooling_with_minus_infinity():
    negative = -torch.ones(1, 1, 4, 4, dtype=torch.float64)
    assert max_pool(negative, 2, 2, 1).max() == -1
    assert max_pool(pad(negative, 1), 2, 2).max() == 0
    assert torch.equal(average_pool(negative, 2, 2, 1), average_pool(pad(negative, 1), 2, 2))


def test_poolings_are_torchs():
    images = normal(2, 3, 11, 10)
    assert torch.equal(max_pool(images, 3, 2, 1), max_pool2d(images, 3, 2, 1))
    assert torch.equal(average_pool(images, 3, 2, 1), avg_pool2d(images, 3, 2, 1))
    even = avg_pool2d(images, 3, 2, 1, count_include_pad=False)
    assert torch.equal(average_pool(images, 3, 2, 1, count_include_pad=False), even)


@pytest.mark.notes("N3.45")
def test_pooling_has_no_variables():
    for module in (torch.nn.MaxPool2d(2), torch.nn.AvgPool2d(2)):
        assert sum(p.numel() for p in module.parameters()) == 0
    images = normal(2, 3, 6, 6)
    assert torch.equal(torch.nn.MaxPool2d(2)(images), max_pool(images))
    assert torch.equal(torch.nn.AvgPool2d(2)(images), average_pool(images))


@pytest.mark.notes("N3.47")
def test_pooling_makes_small_shifts_matter_less():
    generator = torch.Generator().manual_seed(0)
    image = pad(torch.rand(1, 1, 12, 12, generator=generator, dtype=torch.float64), 8)
    kernel = torch.randn(1, 1, 3, 3, generator=generator, dtype=torch.float64)
    features = torch.nn.functional.conv2d(average_pool(image, 5, 1, 2), kernel, padding=1)
    shifted = features.roll((1, 1), (2, 3))

    def change(pool):
        return ((pool(shifted) - pool(features)).abs().mean() / pool(features).abs().mean()).item()

    assert change(lambda y: y) == pytest.approx(0.302, abs=5e-4)
    assert change(lambda y: max_pool(y, 4)) == pytest.approx(0.204, abs=5e-4)
    assert change(lambda y: max_pool(y, 28)) == 0


@pytest.mark.parametrize("pool", POOLS)
def test_gradients(pool):
    image = normal(1, 2, 5, 4).requires_grad_()
    assert torch.autograd.gradcheck(lambda y: pool(y, 3, 2, 1), [image])


@pytest.mark.parametrize("pool", POOLS)
def test_population(pool):
    images = normal(3, 2, 2, 6, 5)
    together = torch.func.vmap(lambda y: pool(y, 3, 2, 1))(images)
    separate = torch.stack([pool(image, 3, 2, 1) for image in images])
    torch.testing.assert_close(together, separate, rtol=0, atol=1e-14)  # sums of 9 terms, perhaps in another order
    torch.testing.assert_close(pool(images[0, 0]), pool(images[0])[0], rtol=0, atol=1e-14)


@pytest.mark.parametrize("pool", POOLS)
def test_refusals(pool):
    image = torch.zeros(1, 1, 6, 6)
    with pytest.raises(
        ArgumentError, match=r"`padding` must be at most half the kernel \(1\), got 2: otherwise a window"
    ):
        pool(image, 3, 1, 2)
    with pytest.raises(ArgumentError, match="`padding` must be at least 0, got -1"):
        pool(image, 3, 1, -1)
    with pytest.raises(ArgumentError, match="`kernel_size` must be at least 1, got 0"):
        pool(image, 0)
    with pytest.raises(ArgumentError, match="`stride` must be at least 1, got 0"):
        pool(image, 2, 0)
    with pytest.raises(ShapeError, match=r"`kernel_size` must be at most the padded input \(6\), got 7: add padding"):
        pool(image, 7)
    with pytest.raises(ShapeError, match=r"`kernel_size` must be at most the padded input \(1\), got 2: add padding"):
        pool(torch.zeros(1, 1, 6))  # one image, too low
