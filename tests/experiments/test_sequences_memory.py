"""Long-term dependencies: sensitivities, the gap, clipping, adding and copying."""

import math

import jaxtyping
import pytest
import torch

from lamina.experiments.agreement import accuracy_against_gap
from lamina.experiments.clipping_rnn import clipping_and_memory
from lamina.experiments.memory import Task, memory_tasks
from lamina.experiments.result import REGISTRY, ClaimError
from lamina.experiments.sensitivity_time import first_input_over_time, sensitivities


@pytest.fixture(autouse=True)
def unchecked(monkeypatch):
    """Switch the shape checker off, which costs more than a small update."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def test_registered():
    wanted = {"N5.24": accuracy_against_gap, "N5.25": accuracy_against_gap, "N5.26": first_input_over_time,
              "N5.28": clipping_and_memory, "N5.31": first_input_over_time, "N5.42": memory_tasks}  # fmt: skip
    assert {key: REGISTRY[key] for key in wanted} == wanted


@pytest.mark.notes("N5.26", "N5.31")
def test_derivatives_by_the_first_input_vanish_explode_or_stay():
    result = first_input_over_time().check()
    curves = {row[0]: row[1:] for row in result.rows}
    # the catalogue's curve of one draw: 1.8, .92, .49, .21, .11, .047, .021, and 2.2e-9 after 30 steps
    vanishing = curves["tanh, radius 0.5"]
    assert vanishing[0] == pytest.approx(1.8, rel=0.2) and 0.005 < vanishing[6] < 0.06
    assert 1e-10 < vanishing[7] < 1e-8
    assert curves["linear, 1.3 orthogonal"][8] == pytest.approx(1.3, rel=1e-12)
    assert curves["lstm, bias 6"][0] == pytest.approx(0.25, abs=0.1) and curves["lstm, bias 6"][7] > 0.1
    assert curves["gru, bias 6"][8] > 0.99 and curves["gru, bias 0"][8] < 0.7 > curves["lstm, bias 0"][8]


def test_sensitivities_by_hand():
    W = torch.diag(torch.tensor([2.0, 0.5, 0.0, 1.0], dtype=torch.float64))
    found = sensitivities(
        lambda u, h: h @ W + u, torch.zeros(4, dtype=torch.float64), 3, torch.Generator().manual_seed(0)
    )
    assert found == pytest.approx([2.0, math.sqrt(4 + 0.25 + 1), math.sqrt(16 + 1 / 16 + 1)])


def test_claims_about_sensitivities_can_fail():
    with pytest.raises(ClaimError, match="below a millionth after 9"):
        first_input_over_time(seeds=1, time=9).check()


@pytest.mark.notes("N5.24", "N5.25")
def test_only_an_open_memory_reaches_over_a_long_gap():
    result = accuracy_against_gap(seeds=3, gaps=(5, 40), steps=100, hidden=16).check()
    far = {row[1:3]: row for row in result.rows if row[0] == 40}
    assert far["gru", 3.0][7] <= 100 and far["lstm", 3.0][7] <= 100 and far["lstm", None][7] is None


def test_claims_about_the_gap_can_fail():
    with pytest.raises(ClaimError, match="over 5 words cells of every kind are right"):
        accuracy_against_gap(seeds=1, gaps=(5,), steps=1, hidden=4).check()


@pytest.mark.slow
@pytest.mark.notes("N5.24", "N5.25")
def test_only_an_open_memory_reaches_over_a_long_gap_in_full():
    accuracy_against_gap().check()


@pytest.mark.notes("N5.28")
def test_clipping_cures_explosion_and_not_vanishing():
    result = clipping_and_memory(seeds=2, steps=60).check()
    wild, tamed, calm, same = result.rows
    assert math.isnan(wild[3]) and wild[2] == tamed[2] > 1e9 and tamed[3] < 1e-3 * tamed[2]
    assert calm[2:] == same[2:] and calm[3] == pytest.approx(math.log(2), abs=0.02)


def test_claims_about_clipping_can_fail():
    with pytest.raises(ClaimError, match="exploding gradients without clipping make the run diverge"):
        clipping_and_memory(seeds=1, steps=1, length=3, gap=3).check()


@pytest.mark.slow
@pytest.mark.notes("N5.28")
def test_clipping_cures_explosion_and_not_vanishing_in_full():
    clipping_and_memory().check()


@pytest.mark.notes("N5.42")
@pytest.mark.parametrize("task", [Task("adding", (20,), 250, 0.02, 1.0), Task("copy", (40,), 120, 0.01, 3.0)])
def test_gated_cells_remember(task):
    result = memory_tasks(seeds=2, tasks=(task,), hidden=16).check()
    guessing = {"adding": 1 / 6, "copy": math.log(4)}[task.name]
    assert result.rows[0][6] > 0.9 * guessing  # the plain cell learns nothing
    assert [row[2:4] for row in result.rows] == [
        ("rnn", None), ("gru", None), ("gru", task.memory_bias), ("lstm", None), ("lstm", task.memory_bias)
    ]  # fmt: skip


def test_claims_about_memory_can_fail():
    with pytest.raises(ClaimError, match="copy over 5 steps"):
        memory_tasks(seeds=1, tasks=(Task("copy", (5,), 1, 0.01, 3.0),), hidden=4).check()


@pytest.mark.slow
@pytest.mark.notes("N5.42")
def test_gated_cells_remember_in_full():
    memory_tasks().check()
