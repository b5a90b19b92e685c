"""The judgement of K networks in one call, against the readable losses differentiated by torch."""

import pytest
import torch

from lamina.kernels import native
from lamina.kernels.judge import Judge
from lamina.populations._losses import Losses

B, K, C = 70, 3, 5
DEVICES = [
    pytest.param("cpu", marks=pytest.mark.skipif(not native.works(), reason="needs g++")),
    pytest.param("cuda", marks=pytest.mark.cuda),
]


def counters(device):
    sums = {name: torch.zeros(K, dtype=torch.float64, device=device) for name in ("loss_sum", "score_sum", "ever")}
    good = torch.zeros(K, dtype=torch.int64, device=device)
    active = torch.tensor([True, True, False], device=device)
    return sums | {"good": good, "active": active, "alive": torch.zeros_like(active)}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 2e-6)])
@pytest.mark.parametrize("own", [1, K], ids=["shared targets", "own targets"])
@pytest.mark.parametrize("weighed", [0, 1, K])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_loss_slope_score_and_counters(device, dtype, tolerance, own, weighed, smoothing, generator):
    logits = torch.randn(B, K, C, generator=generator, dtype=torch.float64).to(device, dtype).requires_grad_()
    targets = torch.randint(C, (B, own), generator=generator).to(device)
    weights = torch.rand(weighed, C, generator=generator).to(device) + 0.5 if weighed else None
    kept, losses = counters(device), Losses("nll", weights, smoothing=smoothing)
    judge = Judge(kept, weights, dtype, smoothing)
    expected = losses.loss(logits, targets)
    (slope,) = torch.autograd.grad(expected.sum(), logits)
    for laid in (logits.detach(), logits.detach().permute(1, 2, 0).contiguous().permute(2, 0, 1)):
        torch.testing.assert_close(judge(laid, targets), slope, rtol=tolerance, atol=tolerance)
    total = 2 * B * expected.detach().double()
    torch.testing.assert_close(kept["loss_sum"], total, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(kept["ever"], total / B, rtol=tolerance, atol=tolerance)
    assert kept["score_sum"].tolist() == (2 * losses.score(logits, targets)).tolist()
    assert kept["good"].tolist() == [2, 2, 2] and kept["alive"].tolist() == [True, True, False]


@pytest.mark.parametrize("device", DEVICES)
def test_a_loss_that_is_not_finite_ends_its_member_alone(device, generator):
    logits = torch.randn(B, K, C, generator=generator).to(device)
    targets, kept = torch.zeros(B, 1, dtype=torch.int64, device=device), counters(device)
    judge = Judge(kept, None, torch.float32)
    judge(logits, targets)
    logits[3, 1, 2] = torch.nan
    judge(logits, targets)
    logits[3, 1, 2] = 0
    judge(logits, targets)
    assert kept["good"].tolist() == [3, 1, 3] and kept["alive"].tolist() == [True, False, False]
