"""How much of two examples: draws, mixtures and patches."""

import pytest
import torch
from scipy import stats

from architectures.torchvision_reference import _prepare
from lamina.functional.mixing import cutmix_box, mixup, symmetric_beta
from lamina.functional.random import uniform

COUNT = 20_000


@pytest.mark.parametrize("alpha", [0.1, 0.2, 0.5, 1.0, 2.0, 8.0])
def test_draws_have_the_distribution(alpha):
    """Mean 1/2, variance 1/(4 (2 alpha + 1)), and the whole distribution function of SciPy."""
    draws = symmetric_beta(uniform((COUNT,), 5, 0), uniform((COUNT,), 5, 1), alpha).double()
    variance = 1 / (4 * (2 * alpha + 1))
    assert 0 <= draws.min() and draws.max() <= 1 and draws.isfinite().all()
    assert abs(draws.mean() - 0.5) < 4 * (variance / COUNT) ** 0.5
    assert abs(draws.var() - variance) < 4 * 0.25 / COUNT**0.5 * variance**0.5
    # Ends of a range that float32 cannot tell from 0 or 1 are moved inside.
    assert stats.kstest(draws.clamp(1e-7, 1 - 1e-7).numpy(), stats.beta(alpha, alpha).cdf).statistic < 0.1 * alpha**-0.5


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, 8.0])
def test_draws_pass_the_test_of_kolmogorov_and_smirnov(alpha):
    draws = symmetric_beta(uniform((COUNT,), 6, 0), uniform((COUNT,), 6, 1), alpha)
    assert stats.kstest(draws.double().numpy(), stats.beta(alpha, alpha).cdf).pvalue > 0.001


def test_the_ends_of_the_uniform_numbers_are_finite():
    ends = torch.tensor([0.0, 0.0, 2.0**-24, 1 - 2.0**-24])
    for alpha in (0.01, 0.2, 1.0, 50.0):
        found = symmetric_beta(ends, torch.tensor([0.0, 0.25, 0.5, 0.75]), alpha)
        assert found.isfinite().all() and (found >= 0).all() and (found <= 1).all()


def test_at_one_the_formula_is_by_hand():
    # alpha = 1, U = 1/4, V = 1/8: w = 1/4, c^2 = 1/2, and sqrt(3/8) / sqrt(1/4 + 3/8) = sqrt(3/5).
    found = symmetric_beta(torch.tensor(0.25).double(), torch.tensor(0.125).double(), 1.0)
    assert found.item() == pytest.approx(0.5 + 0.5 * 0.6**0.5)


def test_mixtures_are_between():
    a, b = torch.tensor([[1.0, 5.0]]), torch.tensor([[3.0, -5.0]])
    assert mixup(a, b, torch.tensor(1.0)).equal(a) and mixup(a, b, torch.tensor(0.0)).equal(b)
    assert mixup(a, b, torch.tensor(0.25)).tolist() == [[2.5, -2.5]]


def test_patches_are_those_of_torchvision(monkeypatch):
    _prepare()
    from torchvision.transforms.v2 import CutMix

    height, width = 9, 14
    for share, row, column in ((0.3, 4, 7), (0.9, 0, 13), (0.0, 5, 5), (1.0, 2, 2), (0.51, 8, 0)):
        theirs = CutMix(num_classes=2)
        theirs._dist = type("Fixed", (), {"sample": lambda self, size, s=share: torch.tensor([s])})()
        places = iter([torch.tensor([column]), torch.tensor([row])])
        monkeypatch.setattr(torch, "randint", lambda *a, places=places, **k: next(places))
        sample = theirs.make_params([torch.zeros(1, 1, height, width)])
        monkeypatch.undo()
        x1, y1, x2, y2 = sample["box"]
        box = torch.zeros(height, width, dtype=torch.bool)
        box[y1:y2, x1:x2] = True
        found = cutmix_box(
            torch.tensor(share), torch.tensor((row + 0.5) / height), torch.tensor((column + 0.5) / width), height, width
        )
        assert found.equal(box) and 1 - box.double().mean() == pytest.approx(sample["lam_adjusted"])
