"""The work of the page ch2/classification: numbers by hand, and what the notes say of them."""

import pytest
import torch

from lamina.pages.chapters.ch2.classification._work import learn


@pytest.mark.notes("N2.63")
def test_digits_are_learned_and_judged_on_the_validation_part():
    *_, last = learn((32,), "relu", 3e-3, 32, epochs=3)
    matrix = torch.tensor(last["confusion"])
    assert int(matrix.sum()) == 299 and last["history"][-1][2] == pytest.approx(float(matrix.trace()) / 299)
    assert last["history"][-1][2] > 0.85 and last["parameters"] == 784 * 32 + 32 + 320 + 10
    assert all(true != guess for _, true, guess, _ in last["wrong"])
