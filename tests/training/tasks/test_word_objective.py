"""Token losses against torch and numbers by hand; smoothing; which tasks and networks fit."""

import math

import pytest
import torch
from torch.nn.functional import cross_entropy

from lamina._errors import ArgumentError, ShapeError
from lamina.data.text.texts import IGNORE
from lamina.functional.losses import sum_over_time
from lamina.training.objective import Objective
from lamina.training.recipe import Recipe
from lamina.training.tasks.word_objective import TokenObjective, _sequence_objective


def logits(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.notes("N5.16")
def test_the_loss_is_a_mean_over_the_words_that_count():
    outputs, targets = logits(2, 3, 5), torch.tensor([[1, 4, 0], [2, 0, 0]])
    by_hand = -outputs.log_softmax(-1)
    expected = (by_hand[0, 0, 1] + by_hand[0, 1, 4] + by_hand[1, 0, 2]) / 3
    objective = TokenObjective("nll", ignore=0)
    torch.testing.assert_close(objective.loss(outputs, targets), expected)
    each = torch.stack([by_hand[i, t, targets[i, t]] for i in range(2) for t in range(3)]).reshape(2, 3)
    # The notes add over time: the sum over time, times the number of sentences, divided by the number of words.
    torch.testing.assert_close(objective.loss(outputs, targets), sum_over_time(each, targets != 0) * 2 / 3)
    assert objective.count(targets).item() == 3 and objective.metric == "token_accuracy"


def test_right_words_are_counted_and_padding_is_not():
    outputs = torch.nn.functional.one_hot(torch.tensor([[1, 3, 0], [2, 0, 0]]), 5).double()
    assert TokenObjective("nll", ignore=0).score(outputs, torch.tensor([[1, 4, 0], [2, 0, 0]])).item() == 2
    tagged = torch.tensor([[1, 4, IGNORE], [2, 0, 0]])
    assert TokenObjective("nll", ignore=IGNORE).score(outputs, tagged).item() == 4
    nothing = torch.full((2, 3), IGNORE)
    assert TokenObjective("nll", ignore=IGNORE).loss(outputs, nothing).item() == 0.0


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_smoothing_is_that_of_torch_and_of_the_formula(smoothing):
    outputs, targets = logits(4, 6, 7), torch.randint(7, (4, 6), generator=torch.Generator().manual_seed(1))
    objective = TokenObjective("nll", ignore=0, smoothing=smoothing)
    theirs = cross_entropy(outputs.flatten(0, 1), targets.flatten(), ignore_index=0, label_smoothing=smoothing)
    torch.testing.assert_close(objective.loss(outputs, targets), theirs)
    share = torch.nn.functional.one_hot(targets, 7) * (1 - smoothing) + smoothing / 7
    each = -(share * outputs.log_softmax(-1)).sum(-1)
    torch.testing.assert_close(objective.loss(outputs, targets), each[targets != 0].mean())
    assert objective.plain == TokenObjective("nll", ignore=0)
    labels = Objective("nll", smoothing=smoothing)
    torch.testing.assert_close(
        labels.loss(outputs[:, 0], targets[:, 0]),
        cross_entropy(outputs[:, 0], targets[:, 0], label_smoothing=smoothing),
    )
    assert labels.plain == Objective("nll")


def test_examples_are_counted_for_other_losses():
    assert Objective("nll").count(torch.zeros(7)) == 7 and Objective("mse").plain == Objective("mse")


@pytest.mark.parametrize(("task", "ignore"), [("translation", 0), ("language", 0), ("tagging", IGNORE)])
def test_each_task_has_its_padding(task, ignore):
    chosen = _sequence_objective(task, torch.zeros(1, 3, 9), 9, Recipe(label_smoothing=0.1))
    assert chosen == TokenObjective("nll", smoothing=0.1, ignore=ignore)
    assert math.isclose(chosen.loss(torch.zeros(1, 3, 9), torch.tensor([[1, 2, 3]])).item(), math.log(9), rel_tol=1e-6)


def test_labels_of_texts_are_those_of_any_classification():
    assert _sequence_objective("classification", torch.zeros(1, 3), 3) == Objective("nll")
    assert _sequence_objective("classification", torch.zeros(1, 1), 2) == Objective("bce")
    assert _sequence_objective("regression", torch.zeros(1, 1), 1) == Objective("mse")
    assert _sequence_objective("classification", torch.zeros(1, 3), 3, Recipe(label_smoothing=0.2)) == Objective(
        "nll", None, 0.2
    )


def test_what_does_not_fit_is_said():
    many, one = torch.zeros(1, 3, 9), torch.zeros(1, 9)
    with pytest.raises(ShapeError, match=r"task asks for one answer per text.*\[1, 3, 9\].*use many-to-one"):
        _sequence_objective("classification", many, 9)
    with pytest.raises(ShapeError, match="a tagging task asks for one answer per step.*use many-to-many"):
        _sequence_objective("tagging", one, 9)
    with pytest.raises(ShapeError, match="gives 9 outputs, but the data have 12 words: build it with outputs=12"):
        _sequence_objective("language", many, 12)
    with pytest.raises(ShapeError, match="the network gives 9 outputs, but the data have 4 classes"):
        _sequence_objective("classification", one, 4)
    with pytest.raises(ArgumentError, match="`loss` 'mse' does not fit a translation task: use 'nll'"):
        _sequence_objective("translation", many, 9, Recipe(loss="mse"))
    with pytest.raises(ArgumentError, match="`class_weights` are for classification, but the task is tagging"):
        _sequence_objective("tagging", many, 9, Recipe(class_weights="balanced"))
    with pytest.raises(ArgumentError, match="`label_smoothing` is for classes and labels, but the targets are numbers"):
        _sequence_objective("regression", torch.zeros(1, 1), 1, Recipe(label_smoothing=0.1))


def test_the_recipe_bounds_the_options_of_sequences():
    with pytest.raises(ArgumentError, match=r"`label_smoothing` must be in \[0, 1\), got 1.0"):
        Recipe(label_smoothing=1.0)
    with pytest.raises(ArgumentError, match=r"`teacher_forcing` must be in \[0, 1\], got 1.5"):
        Recipe(teacher_forcing=1.5)
    with pytest.raises(ArgumentError, match="`window` must be at least 1, got 0"):
        Recipe(window=0)


def test_losses_and_metrics_of_ones_own_do_not_fit_words():
    with pytest.raises(ArgumentError, match="`metrics` are for tasks with one answer per example, but the task is tag"):
        _sequence_objective("tagging", torch.zeros(1, 3, 9), 9, Recipe(metrics={"mine": torch.dist}))
    with pytest.raises(ArgumentError, match="`loss` 'focal' does not fit a translation task: use 'nll'"):
        _sequence_objective("translation", torch.zeros(1, 3, 9), 9, Recipe(loss="focal"))
    with pytest.raises(
        ArgumentError, match="`loss` of your own does not fit a tagging task: use 'nll' or leave it out"
    ):
        _sequence_objective("tagging", torch.zeros(1, 3, 9), 9, Recipe(loss=torch.dist))
    with pytest.raises(ArgumentError, match="`label_smoothing` is for the losses 'nll' and 'bce', got 'focal': leave"):
        _sequence_objective("classification", torch.zeros(1, 3), 3, Recipe(loss="focal", label_smoothing=0.1))
    assert _sequence_objective("classification", torch.zeros(1, 3), 3, Recipe(loss="focal")).gamma == 2.0
