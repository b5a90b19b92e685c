"""Clipping in three readings: hand numbers, torch's, direction and bound."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import vmap

from lamina._errors import ArgumentError, ShapeError
from lamina.functional import clipping as C

D = torch.float64
G = {"a": torch.tensor([3.0, 4.0], dtype=D), "b": torch.tensor([0.3], dtype=D)}
laws = settings(deadline=None, derandomize=True, max_examples=60)


def flat(grads):
    return torch.cat([g.flatten() for g in grads.values()])


def cosine(grads):
    return torch.nn.functional.cosine_similarity(flat(grads), flat(G), dim=0).item()


def close(first, second, tolerance=1e-14):
    torch.testing.assert_close(first, second, rtol=tolerance, atol=tolerance)


@pytest.mark.notes("N5.27")
def test_the_three_readings_by_hand():
    value, tensor, whole = (C.clip(G, 1.0, by) for by in ("value", "tensor", "global"))
    assert (value["a"].tolist(), value["b"].tolist()) == ([1, 1], [0.3])
    close(tensor["a"], torch.tensor([0.6, 0.8], dtype=D))
    assert tensor["b"].tolist() == [0.3]
    norm = (9 + 16 + 0.09) ** 0.5
    close(whole["a"], G["a"] / norm)
    close(whole["b"], G["b"] / norm)
    assert [round(v, 3) for v in flat(whole).tolist()] == [0.599, 0.799, 0.06]
    cosines = [cosine(grads) for grads in (value, tensor, whole)]
    assert cosines[:2] == pytest.approx([0.9791, 0.9733], abs=5e-5) and cosines[2] == pytest.approx(1, abs=1e-14)
    assert C.clip(G, 1.0)["a"].equal(whole["a"])  # the global norm is the default


@pytest.mark.notes("N5.27")
def test_the_bound_is_reached_exactly_unlike_in_torch():
    parameters = [torch.nn.Parameter(torch.zeros_like(g)) for g in G.values()]
    for parameter, g in zip(parameters, G.values(), strict=True):
        parameter.grad = g.clone()
    total = torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    theirs = torch.cat([parameter.grad for parameter in parameters])
    ours = flat(C.clip_by_global_norm(G, 1.0))
    close(C.global_norm(G), total)
    assert ours.norm().item() == pytest.approx(1, abs=1e-14)
    assert theirs.norm().item() == pytest.approx(0.9999998, abs=1e-8) and theirs.norm() < 1 - 1e-7
    close(theirs * (total + 1e-6) / total, ours)
    z = torch.nn.Parameter(torch.zeros(2, dtype=D))
    z.grad = torch.tensor([30.0, 0.4], dtype=D)
    by_value = C.clip_by_value({"z": z.grad.clone()}, 1.0)["z"]
    torch.nn.utils.clip_grad_value_([z], 1.0)
    assert torch.equal(by_value, z.grad)


@pytest.mark.notes("N5.27")
@pytest.mark.parametrize("by", C.CLIPPERS)
def test_small_gradients_are_unchanged_to_the_last_bit(by):
    clipped = C.clip(G, 6.0, by)
    assert all(torch.equal(clipped[name], G[name]) for name in G)
    zero = {"a": torch.zeros(2, dtype=D)}
    assert not C.clip(zero, 1.0, by)["a"].any()


@pytest.mark.parametrize("by", C.CLIPPERS)
@pytest.mark.parametrize("dtype", [D, torch.float32])
def test_members_of_a_population_are_clipped_alone(by, dtype, generator):
    grads = {name: torch.randn(3, *shape, dtype=D, generator=generator).to(dtype) for name, shape in
             (("W", (4, 5)), ("b", (4,)), ("s", ()))}  # fmt: skip
    bounds = torch.tensor([0.5, 1.5, 100.0], dtype=D)
    together = C.clip(grads, bounds, by)
    mapped = vmap(lambda g, c: C.clip(g, c, by))(grads, bounds)
    for k in range(3):
        alone = C.clip({name: g[k] for name, g in grads.items()}, bounds[k].item(), by)
        for name in grads:
            assert together[name].dtype == dtype
            close(together[name][k], alone[name], 1e-15 if dtype == D else 1e-6)
            close(mapped[name][k], alone[name], 1e-15 if dtype == D else 1e-6)
    assert all(torch.equal(together[name][2], grads[name][2]) for name in grads)


def test_norms_of_members():
    grads = {"a": torch.tensor([[3.0, 0.0], [6.0, 0.0]]), "b": torch.tensor([4.0, 8.0])}
    assert C.global_norm(grads, members=True).tolist() == [5, 10]
    assert C.global_norm({"a": torch.tensor([3.0]), "b": torch.tensor(4.0)}).item() == 5


@pytest.mark.parametrize("by", C.CLIPPERS)
def test_arguments_are_checked(by):
    for bound in (0.0, -1.0, float("nan")):
        with pytest.raises(ArgumentError, match="`bound` must be greater than 0, got"):
            C.clip(G, bound, by)
    with pytest.raises(ShapeError, match="one entry for each member"):
        C.clip({"a": torch.ones(2, 3)}, torch.ones(3), by)


def test_names_and_emptiness_are_checked():
    with pytest.raises(ArgumentError, match="`by` must be one of 'global', 'tensor', 'value', got 'norm'"):
        C.clip(G, 1.0, "norm")
    with pytest.raises(ArgumentError, match="`grads` must hold at least one tensor, got none"):
        C.global_norm({})


numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5)


@laws
@given(numbers, numbers, st.floats(1e-3, 1e3))
def test_global_clipping_keeps_the_direction_and_the_bound(first, second, bound):
    grads = {"a": torch.tensor(first, dtype=D), "b": torch.tensor(second, dtype=D)}
    clipped = C.clip_by_global_norm(grads, bound)
    before, after = flat(grads), flat(clipped)
    assert after.norm() <= bound * (1 + 1e-12) and after.norm() <= before.norm() * (1 + 1e-12)
    if before.norm() > 0:
        factor = min(1, bound / before.norm().item())
        close(after, factor * before, 1e-12)


@laws
@given(numbers, st.floats(1e-3, 1e3))
def test_clipping_twice_changes_nothing(values, bound):
    grads = {"a": torch.tensor(values, dtype=D)}
    for by in C.CLIPPERS:
        once = C.clip(grads, bound, by)
        close(C.clip(once, bound, by)["a"], once["a"], 1e-12)
        assert (once["a"].abs() <= grads["a"].abs()).all()
    assert (C.clip_by_value(grads, bound)["a"].abs() <= bound).all()
    assert C.clip_by_tensor_norm(grads, bound)["a"].norm() <= bound * (1 + 1e-12)
