import pytest
import torch

from lamina._errors import ArgumentError, ShapeError
from lamina.architectures._dense import as_shape, as_vectors, check_sizes


def test_an_image_is_read_as_the_vector_of_its_pixels():
    assert as_shape(3) == (3,) and as_shape((1, 28, 28)) == (1, 28, 28)
    images = torch.arange(12.0).reshape(2, 1, 2, 3)
    assert as_vectors(images, (1, 2, 3)).tolist() == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]
    with pytest.raises(ShapeError, match=r"each example must have the shape \(3,\) .* got inputs of shape \(5, 2\)"):
        as_vectors(torch.zeros(5, 2), 3)


def test_there_is_something_to_read():
    with pytest.raises(ArgumentError, match=r"the shape of an image, got the empty shape \(\)"):
        check_sizes((), 1)
