import pytest
import torch

from lamina._errors import ArgumentError, ShapeError
from lamina.functional.attribution import contribution, enlarged, grad_cam, occlusion, saliency


def test_occlusion_of_a_linear_output_is_what_the_square_adds():
    torch.manual_seed(0)
    weights, picture = torch.randn(2, 6, 6, dtype=torch.float64), torch.randn(2, 6, 6, dtype=torch.float64)
    found = occlusion(lambda x: (x * weights).sum((1, 2, 3)), picture, 2, stride=2)
    blocks = (weights * picture).sum(0).unfold(0, 2, 2).unfold(1, 2, 2).sum((2, 3))
    torch.testing.assert_close(found, blocks.repeat_interleave(2, 0).repeat_interleave(2, 1), atol=1e-12, rtol=0)


def test_occlusion_fills_with_what_is_asked_and_averages_where_squares_overlap():
    picture = torch.tensor([[[1.0, 2.0, 4.0]]])
    found = occlusion(lambda x: x.sum((1, 2, 3)), picture, 2, stride=1, fill=1.0, batch_size=1)
    # squares [1, 2] and [2, 4] become [1, 1]: the sum falls by 1 and by 4
    assert found.tolist() == [[1.0, 2.5, 4.0]]


def test_grad_cam_of_pooled_maps_is_the_class_activation_map():
    """With global mean pooling and a linear layer, alpha is the class's weight over the number of pixels."""
    torch.manual_seed(1)
    maps = torch.randn(3, 4, 5, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(3, dtype=torch.float64)
    (gradient,) = torch.autograd.grad((maps.mean((1, 2)) * weights).sum(), maps)
    expected = (weights[:, None, None] * maps.detach()).sum(0).relu() / 20
    torch.testing.assert_close(grad_cam(maps.detach(), gradient), expected)


def test_contributions_of_a_linear_output_sum_to_it():
    torch.manual_seed(2)
    x, w = torch.randn(7, dtype=torch.float64), torch.randn(7, dtype=torch.float64)
    assert contribution(w, x).sum().item() == pytest.approx((w @ x).item(), abs=1e-14)


def test_saliency_takes_the_strongest_channel():
    assert saliency(torch.tensor([[[-2.0]], [[1.5]], [[0.0]]])).item() == 2.0


def test_a_map_is_enlarged_as_pictures_are():
    assert enlarged(torch.tensor([[0.0], [2.0]]), 4, 2).tolist() == [[0, 0], [0.5, 0.5], [1.5, 1.5], [2, 2]]


def test_wrong_arguments_get_a_sentence():
    with pytest.raises(ArgumentError, match="`patch` must be at least 1, got 0"):
        occlusion(lambda x: x.sum((1, 2, 3)), torch.zeros(1, 2, 2), 0)
    with pytest.raises(ShapeError, match=r"`picture` must have the axes \[channel, height, width\], got \(2, 2\)"):
        occlusion(lambda x: x.sum((1, 2, 3)), torch.zeros(2, 2), 1)
