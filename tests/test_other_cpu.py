"""The mode that stands for another CPU: repeatable, different for other shapes, exact where all CPUs are."""

import torch

from other_cpu import OtherCPU


def test_last_bits_depend_on_operation_and_shapes_only(generator):
    u, W = (torch.randn(40, 30, generator=generator, dtype=torch.float64) for _ in range(2))
    here = u @ W.T
    with OtherCPU():
        there, again, part, curve = u @ W.T, u @ W.T, u[:7] @ W.T, torch.tanh(u)
        assert torch.equal(torch.tanh(u[:7]), curve[:7])
    assert torch.equal(there, again) and not torch.equal(there[:7], part) and not torch.equal(curve, torch.tanh(u))
    torch.testing.assert_close(there, here, rtol=3e-16, atol=0)  # one unit in the last place
    assert 0.5 < (there != here).double().mean() < 0.8  # two of three move


def test_what_every_cpu_computes_exactly_stays(generator):
    whole = torch.randint(-9, 10, (20, 30), generator=generator).float()
    u, units = torch.randn(20, 5, generator=generator), torch.eye(20)[torch.arange(20).flip(0)]
    with OtherCPU():
        found = whole @ whole.T, whole.mean(1), units @ u, u + u, u * 3
    assert torch.equal(found[0], (whole.long() @ whole.long().T).float()) and torch.equal(found[1], whole.mean(1))
    assert torch.equal(found[2], u.flip(0)) and torch.equal(found[3], u + u) and torch.equal(found[4], u * 3)
