import math

import pytest

from lamina.experiments.memory import _Task, memory_tasks
from lamina.experiments.result import ClaimError


@pytest.mark.notes("N5.42")
@pytest.mark.parametrize("task", [_Task("adding", (20,), 250, 0.02, 1.0), _Task("copy", (40,), 120, 0.01, 3.0)])
def test_gated_cells_remember(task):
    result = memory_tasks(seeds=2, tasks=(task,), hidden=16).check()
    guessing = {"adding": 1 / 6, "copy": math.log(4)}[task.name]
    assert result.rows[0][6] > 0.9 * guessing  # the plain cell learns nothing
    assert [row[2:4] for row in result.rows] == [
        ("rnn", None), ("gru", None), ("gru", task.memory_bias), ("lstm", None), ("lstm", task.memory_bias)
    ]  # fmt: skip


def test_claims_about_memory_can_fail():
    with pytest.raises(ClaimError, match="copy over 5 steps"):
        memory_tasks(seeds=1, tasks=(_Task("copy", (5,), 1, 0.01, 3.0),), hidden=4).check()


@pytest.mark.slow
@pytest.mark.notes("N5.42")
def test_gated_cells_remember_in_full():
    memory_tasks().check()
