import pytest
import torch

from lamina.experiments import convolutional
from lamina.experiments.convolutional import bars_and_disk, blur, mirrored_kernels, response_sizes, shift_sensitivity
from lamina.experiments.result import ClaimError


@pytest.mark.notes("N3.05", "N3.47")
def test_pooling_weakens_shifts():
    result = shift_sensitivity().check()
    assert result.column("m") == [1, 2, 4, 7, 14, 28] and result.column("change")[-1] < 1e-12
    assert result.column("change")[2] < 0.6 * result.column("change")[0]


def test_claims_about_shifts_can_fail(monkeypatch):
    monkeypatch.setattr(convolutional, "max_pool", lambda features, side: features * side)  # no pooling at all
    with pytest.raises(ClaimError, match="the larger the window"):
        shift_sensitivity(seeds=4, windows=(1, 4, 7)).check()


@pytest.mark.notes("N3.43", "N3.44")
def test_blur_of_noise_edges_and_a_constant_picture():
    result = blur(seeds=4).check()
    five = dict(zip(result.columns, result.rows[2], strict=True))
    assert (five["corner"], five["edge"], five["inside"]) == (0.36, 0.6, 1.0)
    assert five["variance left"] == pytest.approx(0.04, rel=0.15)
    assert result.rows[0][1:5] == (1.0, 0.0, 1.0, 1.0)  # m = 1 changes nothing
    picture = bars_and_disk(64)[0, 0]
    assert picture[46, 32] == 1 and picture[62, 10] == 1 and 0.2 < picture.mean() < 0.7
    with pytest.raises(ClaimError, match="softened"):
        blur(seeds=1, windows=(5, 3)).check()


@pytest.mark.notes("N3.20")
def test_convolution_and_correlation_learn_mirror_images():
    result = mirrored_kernels(seeds=2, steps=40).check()
    assert max(result.column("losses apart")) < 1e-13  # float64: the sums have another order, no other terms
    assert result.column("convolution") == pytest.approx(result.column("correlation"), rel=1e-13)
    assert min(result.column("from equal")) > 0.1


@pytest.mark.notes("N3.48")
def test_responses_are_pressed_together():
    result = response_sizes().check()
    # y / (2 + 1e-4 y^2)^(3/4), and five equal channels among equals
    assert result.column("after") == pytest.approx([y / (2 + 1e-4 * y * y) ** 0.75 for y in (1, 10, 100, 1000)])
    assert result.column("among equals") == pytest.approx([y / (2 + 5e-4 * y * y) ** 0.75 for y in (1, 10, 100, 1000)])
    with pytest.raises(ClaimError, match="the smaller the factor"):
        response_sizes((10.0, 1.0)).check()


def test_a_test_picture_has_two_values():
    assert torch.equal(bars_and_disk(32).unique(), torch.tensor([0.0, 1.0], dtype=torch.float64))
