import pytest
import torch

from lamina._errors import ArgumentError, ShapeError
from lamina.architectures._pictures import chain, check_options, check_pictures, check_size, fits, scaled, smallest

LENET = ((5, 2, 1), (2, 0, 2), (5, 0, 1), (2, 0, 2))


def test_sizes_along_a_chain_are_those_of_torch(generator):
    for size in range(12, 40):
        y = torch.zeros(1, 1, size, size)
        sizes = []
        for kernel, padding, stride in LENET:
            y = torch.nn.functional.conv2d(y, torch.zeros(1, 1, kernel, kernel), stride=stride, padding=padding)
            sizes.append(y.shape[-1])
        assert chain(size, LENET) == sizes


def test_smallest_is_the_border_of_what_fits():
    assert smallest(LENET) == 12 and fits(12, LENET) and not fits(11, LENET)
    with pytest.raises(ArgumentError, match="at least 12 x 12 pixels, got 28 x 11: look elsewhere"):
        check_size((1, 28, 11), LENET, "look elsewhere")


def test_scaled_channels():
    assert [scaled(64, width) for width in (1, 0.5, 0.001, 1.3)] == [64, 32, 1, 83]
    assert scaled(96, 0.001, 2) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inputs": (0, 8, 8)}, r"`inputs` must be \(channels, height, width\), each at least 1, got \(0, 8, 8\)"),
        ({"outputs": 0}, "`outputs` must be at least 1, got 0"),
        ({"initialization": "best"}, "`initialization` must be one of .*, got 'best'"),
        ({"scale": -1.0}, "`scale` must be at least 0, got -1.0"),
        ({"width": 0.0}, "`width` must be greater than 0, got 0.0"),
    ],
)
def test_shared_options_are_checked(change, message):
    options = {"inputs": (1, 8, 8), "outputs": 2, "initialization": None, "scale": 1.0, "width": 1.0}
    check_options(**options)
    with pytest.raises(ArgumentError, match=message):
        check_options(**{**options, **change})


def test_pictures_have_the_shape_of_the_network():
    check_pictures(torch.zeros(2, 3, 8, 9), (3, 8, 9))
    check_pictures(torch.zeros(2, 3, 5, 5), (3, 8, 9), any_size=True)
    with pytest.raises(ShapeError, match=r"must have the shape \(3, 8, 8\) that .* got inputs of shape \(2, 3, 8, 9\)"):
        check_pictures(torch.zeros(2, 3, 8, 9), (3, 8, 8))
    with pytest.raises(ShapeError, match=r"must have 3 channels that .* got inputs of shape \(2, 1, 8, 8\): build it"):
        check_pictures(torch.zeros(2, 1, 8, 8), (3, 8, 8), any_size=True)
