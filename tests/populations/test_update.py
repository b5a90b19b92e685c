import torch

from lamina.kernels.native import compiler
from lamina.populations._forms import CompiledUpdate
from lamina.populations._update import Update
from populations.updates import CLIPS, PENALTIES, made


def test_a_dead_member_with_numbers_that_are_not_finite_changes_nobody():
    for form in (Update, CompiledUpdate) if compiler() else (Update,):
        numbers, ours, before, grads, state, _ = made("adam", PENALTIES[1], CLIPS[1])
        update = form(ours, state, numbers)
        bad = {name: g.clone() for name, g in grads[0].items()}
        for name, g in bad.items():
            g[2] = float("nan")
            ours[name][2] = before[name][2] = float("inf")
        update(bad, torch.tensor([True, True, False, True, True]), False)
        for name, p in ours.items():
            assert torch.equal(p[2], before[name][2]) and not torch.equal(p[0], before[name][0])
            assert p[[0, 1, 3, 4]].isfinite().all()
