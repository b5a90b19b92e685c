"""Turning and recoloring against torchvision, and by hand."""

import math

import pytest
import torch

from architectures.torchvision_reference import _prepare
from lamina._errors import ShapeError
from lamina.functional import recoloring

COUNT = 6


@pytest.fixture(scope="module")
def theirs():
    _prepare()
    from torchvision.transforms.v2 import functional

    return functional


def pictures(channels=3, height=7, width=10):
    return torch.rand(COUNT, channels, height, width, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name", ["adjust_brightness", "adjust_contrast", "adjust_saturation", "adjust_hue"])
def test_colors_equal_torchvisions(theirs, name, channels):
    if channels == 1 and name == "adjust_hue":
        with pytest.raises(ShapeError, match="`images` must have 3 channels to have colors, got 1"):
            recoloring.adjust_hue(pictures(1), torch.zeros(COUNT))
        return
    images = pictures(channels)
    images[0, :, 0] = 0.25  # gray, where hue has no meaning
    numbers = torch.linspace(-0.5, 0.5, COUNT) if name == "adjust_hue" else torch.linspace(0, 2, COUNT)
    found = getattr(recoloring, name)(images, numbers.double())
    expected = torch.stack([getattr(theirs, name)(i, float(n)) for i, n in zip(images, numbers, strict=True)])
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)  # theirs turns hues in float32


def test_luma_of_pure_colors():
    images = torch.eye(3, dtype=torch.float64).reshape(3, 3, 1, 1)
    assert recoloring.grayscale(images).flatten().tolist() == [0.2989, 0.587, 0.114]
    assert recoloring.grayscale(images[:, :1]).equal(images[:, :1])


def test_turning_equals_torchvisions(theirs):
    images, angles = pictures(2).float(), torch.tensor([-30.0, -7.5, 0.0, 15.0, 90.0, 180.0])
    found = recoloring.rotate(images, angles)
    how = theirs.rotate.__globals__["InterpolationMode"].BILINEAR
    expected = torch.stack([theirs.rotate(i, float(a), how) for i, a in zip(images, angles, strict=True)])
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)  # coordinates in single precision
    torch.testing.assert_close(found[5], images[5].flip(1, 2), rtol=1e-4, atol=1e-5)


def test_half_a_pixel_is_interpolated():
    image = torch.tensor([[[[0.0, 1.0]]]], dtype=torch.float64)
    found = recoloring.rotate(image, torch.tensor([60.0], dtype=torch.float64))
    # The right pixel, 1/2 from the middle, looks 1/4 to the right and sqrt(3)/4 down: 3/4 of the way from 0 to 1, and
    # 1 - sqrt(3)/4 of that lies inside.
    assert found[0, 0, 0, 1].item() == pytest.approx(0.75 * (1 - math.sqrt(3) / 4))


def test_each_picture_has_its_own_number_also_under_vmap():
    images, numbers = pictures(), torch.linspace(0.1, 0.4, COUNT).double()
    for name in ("adjust_hue", "adjust_contrast", "rotate"):
        function = getattr(recoloring, name)
        single = torch.cat([function(images[i : i + 1], numbers[i : i + 1]) for i in range(COUNT)])
        torch.testing.assert_close(function(images, numbers), single)
        stacked = torch.vmap(function)(images[:, None], numbers[:, None])[:, 0]
        torch.testing.assert_close(stacked, single)
