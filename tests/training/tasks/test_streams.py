"""One long row of tokens, read in windows."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from lamina._errors import ArgumentError
from lamina.training.recipe import Recipe
from lamina.training.tasks._streams import StreamSource
from training.tasks.steps import made, text


def test_a_check_of_a_running_text_is_that_of_the_whole_text():
    split = text()
    step, prepare = made(split, "many-to-many", Recipe(batch_size=3, window=9, precision="float64"))
    tokens = prepare.stream(split.validation)
    outputs = step.model.eval()(tokens[None, :-1])[0]
    assert step.validation.rows == 1
    found = step.evaluate()
    assert found["validation_loss"] == pytest.approx(cross_entropy(outputs, tokens[1:]).item(), rel=1e-12)
    right = (outputs.argmax(-1) == tokens[1:]).double().mean().item()
    assert found["validation_token_accuracy"] == pytest.approx(right)


def test_windows_for_a_check_leave_most_steps_a_past():
    assert StreamSource.to_check(torch.arange(2001), 64, 10).rows == 25
    assert StreamSource.to_check(torch.arange(10), 64, 100).rows == 1
    with pytest.raises(ArgumentError, match="`window` must be at least 1, got 0"):
        StreamSource(torch.arange(10), 1, 0)
