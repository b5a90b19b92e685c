"""Which task is learned from data of which kind, and what it is judged by."""

import pytest

from lamina._errors import ArgumentError
from lamina.data.dataset import Spec
from lamina.data.synthetic import moons
from lamina.training.tasks.kinds import headline_of, metric_of, read_task, task_of
from training.tasks.words import book

SPECS = [
    (Spec("table", "classification", (4,), 3), "accuracy", "accuracy"),
    (Spec("vector", "regression", (4,), 1), "rmse", "r2"),
    (Spec("tokens", "classification", (9,), 2), "accuracy", "accuracy"),
    (Spec("text", "classification", (9,), 2), "accuracy", "accuracy"),
    (Spec("text", "language", (9,), 1), "token_accuracy", "perplexity"),
    (Spec("pairs", "translation", (9,), 1), "token_accuracy", "exact"),
    (Spec("vector", "description", (3,), 1), "token_accuracy", "exact"),
]


@pytest.mark.parametrize(("spec", "metric", "headline"), SPECS, ids=lambda value: getattr(value, "task", None))
def test_every_kind_has_a_score_and_a_first_number(spec, metric, headline):
    assert (metric_of(spec), headline_of(spec)) == (metric, headline)


def test_a_task_stays_what_it_is_and_comes_back_from_plain_values():
    for data, name in ((moons(60), "Arrays"), (book(), "Pairs")):
        task = task_of(data)
        assert type(task).__name__ == name and task_of(task) is task
        again = read_task(task.as_dict())
        assert type(again) is type(task) and again.preprocess == task.preprocess


def test_wording_is_for_texts_and_what_else_there_is_is_said():
    with pytest.raises(
        ArgumentError, match="`level` is not an option for data of kind 'vector': they have no dictionary"
    ):
        task_of(moons(60), level="word")
    with pytest.raises(ArgumentError, match="`levels` is not an option for data of kind 'pairs': there are .*level"):
        task_of(book(), levels="word")
