import math

import pytest
import torch

from lamina.experiments.agreement import accuracy_against_gap
from lamina.experiments.clipping_rnn import clipping_and_memory
from lamina.experiments.memory import memory_tasks
from lamina.experiments.result import REGISTRY, ClaimError
from lamina.experiments.sensitivity_time import first_input_over_time, sensitivities


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
