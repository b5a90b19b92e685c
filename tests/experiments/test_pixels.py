import pytest
import torch

from lamina.experiments.pixels import _left_or_right, _two_pixels, assumptions, pixel_permutation, place_patterns
from lamina.experiments.result import ClaimError
from lamina.functional.random import as_generator


@pytest.mark.notes("N3.03")
def test_a_permutation_of_pixels_hurts_the_convolution_only(unchecked):
    result = pixel_permutation(seeds=1, steps=80).check()
    cnn, permuted, fnn, same = result.column("accuracy")
    assert cnn > 0.95 and permuted < 0.3 and fnn == same < 0.4
    assert [s.name for s in result.series()] == ["CNN", "FNN"]


def test_claims_about_permutations_can_fail(unchecked):
    with pytest.raises(ClaimError, match="finds the patterns"):
        pixel_permutation(seeds=1, steps=1).check()


def test_patterns_lie_where_they_should():
    patterns = torch.tensor([[[1.0, 2], [3, 4]], [[5, 6], [7, 8]]])
    inputs = place_patterns(patterns, torch.tensor([1, 0]), torch.tensor([[0, 1], [2, 2]]), 4)
    assert inputs[0, 0].tolist() == [[0, 5, 6, 0], [0, 7, 8, 0], [0] * 4, [0] * 4]
    assert inputs[1, 0, 2:, 2:].tolist() == [[1, 2], [3, 4]] and inputs[1].sum() == 10


def test_labels_say_what_they_should():
    inputs, labels = _two_pixels(200, far=False, generator=as_generator(0))
    assert torch.equal(labels == 1, inputs[:, 0, 0, 0] != inputs[:, 0, 1, 1]) and 60 < labels.sum() < 140
    inputs, labels = _left_or_right(200, as_generator(0))
    columns = (inputs.sum((1, 2)) * torch.arange(15)).sum(1) / 5  # where the middle of the cross is
    assert torch.equal(labels == 1, columns > 7) and columns.min() >= 3 and columns.max() <= 11


@pytest.mark.notes("N3.46")
def test_convolutional_networks_fail_where_their_assumptions_do(unchecked):
    result = assumptions(seeds=2, steps=100).check()
    near, far, far_dense, place, place_dense = result.column("accuracy")
    assert min(near, far_dense, place_dense) > 0.98 and abs(far - 0.5) < 0.08 and place == 0.5


def test_claims_about_assumptions_can_fail(unchecked):
    with pytest.raises(ClaimError, match="pixels within the receptive field interact"):
        assumptions(seeds=1, steps=1).check()


@pytest.mark.slow
@pytest.mark.notes("N3.03", "N3.46")
def test_with_more_seeds():
    pixel_permutation(seeds=8).check()
    assumptions(seeds=8).check()
