"""Learning rates by hand and against torch's schedulers."""

import pytest
import torch

from lamina.training.recipe import Schedule, rates


def of(kind, steps=10, per_epoch=2, **options):
    return rates(Schedule(kind, **options), 2.0, steps, per_epoch)


@pytest.mark.notes("N1.40")
def test_rates_by_hand():
    assert of("constant").tolist() == [2.0] * 10
    assert of("warmup", warmup=0.4).tolist() == [0.5, 1.0, 1.5, 2.0] + [2.0] * 6
    assert of("step", every=2, factor=0.5).tolist() == [2.0] * 4 + [1.0] * 4 + [0.5] * 2
    cosine = of("cosine", final=0.5)
    assert cosine[-1] == 1.0 and (cosine.diff() < 0).all() and cosine[4] == pytest.approx(1.5)


def test_cosine_equals_torch():
    p = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([p], lr=2.0)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10, eta_min=0.2)
    theirs = []
    for _ in range(10):
        optimizer.step()
        scheduler.step()
        theirs.append(optimizer.param_groups[0]["lr"])
    torch.testing.assert_close(of("cosine", final=0.1), torch.tensor(theirs, dtype=torch.float64), atol=1e-12, rtol=0)


def test_one_cycle_rises_then_falls_to_its_final_rate():
    one = of("one-cycle", steps=100, final=0.01)
    assert one.argmax() == 29 and one.max() == 2.0 and one[-1] == pytest.approx(0.02) and one[0] < 0.1
    assert (one[:30].diff() > 0).all() and (one[30:].diff() < 0).all()
