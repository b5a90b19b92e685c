"""The conformance table, run over every pure update."""

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.func import vmap

from lamina.functional.optimizers import OPTIMIZERS, State

NUMBERS = {
    "gd": {"learning_rate": 0.1},
    "momentum": {"learning_rate": 0.05, "momentum": 0.8},
    "adam": {"learning_rate": 0.1, "first_decay": 0.8, "second_decay": 0.9},
    "adamw": {"learning_rate": 0.1, "first_decay": 0.8, "second_decay": 0.9, "weight_decay": 1e-3},
    "rmsprop": {"learning_rate": 0.1, "second_decay": 0.9, "eps": 1.0, "momentum": 0.5},
    "proximal": {"learning_rate": 0.1, "strength": 0.05},
}
REFERENCE = {
    "gd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.8),
    "adam": lambda p: torch.optim.Adam(p, lr=0.1, betas=(0.8, 0.9)),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.1, betas=(0.8, 0.9), weight_decay=1e-3),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.1, alpha=0.9, eps=1.0, momentum=0.5),
}
ALL = pytest.mark.parametrize("name", OPTIMIZERS)


def start() -> dict[str, torch.Tensor]:
    g = torch.Generator().manual_seed(0)
    return {
        "W": torch.randn(3, 2, generator=g, dtype=torch.float64),
        "b": torch.randn(3, generator=g, dtype=torch.float64),
    }


def gradient(params):
    """Of a parabola with a different curvature in every tensor."""
    return {"W": params["W"], "b": 3 * (params["b"] - 0.5)}


def run(name, params, steps, state=None, numbers=None):
    init, update, hyper = OPTIMIZERS[name]
    state = state or init(params)
    for _ in range(steps):
        params, state = update(params, gradient(params), state, hyper(**(numbers or NUMBERS[name])))
    return params, state


def test_every_optimizer_is_in_the_table():
    assert set(NUMBERS) == set(OPTIMIZERS)


@ALL
def test_solves_a_parabola(name):
    params, state = run(name, start(), 400)
    shift = 0.05 / 3 if name == "proximal" else 0.0
    near = 0.02 if name.startswith("adam") else 1e-6  # Adam with a constant rate circles the minimum
    torch.testing.assert_close(params["W"], torch.zeros_like(params["W"]), atol=near, rtol=0)
    torch.testing.assert_close(params["b"], torch.full_like(params["b"], 0.5 - shift), atol=near, rtol=0)
    assert int(state.step) == 400


@pytest.mark.parametrize("name", REFERENCE)
def test_equals_torch_optim(name):
    mine, _ = run(name, start(), 50)
    leaves = {k: torch.nn.Parameter(v.clone()) for k, v in start().items()}
    optimizer = REFERENCE[name](leaves.values())
    for _ in range(50):
        for k, g in gradient({k: v.detach() for k, v in leaves.items()}).items():
            leaves[k].grad = g.clone()  # one of them is the parameter itself, which AdamW shrinks in place first
        optimizer.step()
    for k, leaf in leaves.items():
        torch.testing.assert_close(mine[k], leaf.detach(), atol=1e-14, rtol=1e-14)


@ALL
def test_a_saved_state_goes_on_bit_for_bit(name, tmp_path):
    whole, _ = run(name, start(), 20)
    params, state = run(name, start(), 7)
    flat = {f"p.{k}": v for k, v in params.items()} | {"step": state.step}
    flat |= {f"m{i}.{k}": v for i, moment in enumerate(state.moments) for k, v in moment.items()}
    save_file(flat, tmp_path / "s.safetensors")
    back = load_file(tmp_path / "s.safetensors")
    moments = tuple({k: back[f"m{i}.{k}"] for k in params} for i in range(len(state.moments)))
    again, _ = run(name, {k: back[f"p.{k}"] for k in params}, 13, State(back["step"], moments))
    assert all(torch.equal(whole[k], again[k]) for k in whole)


@ALL
def test_three_members_equal_three_runs(name):
    factors = torch.tensor([0.5, 1.0, 1.5], dtype=torch.float64)
    stacked = {k: torch.stack([v, 2 * v, -v]) for k, v in start().items()}
    numbers = {key: value * factors if key == "learning_rate" else value for key, value in NUMBERS[name].items()}
    together, _ = run(name, stacked, 10, numbers=numbers)
    for member in range(3):
        own = {**NUMBERS[name], "learning_rate": float(numbers["learning_rate"][member])}
        alone, _ = run(name, {k: v[member] for k, v in stacked.items()}, 10, numbers=own)
        for k in alone:
            torch.testing.assert_close(together[k][member], alone[k], atol=1e-14, rtol=1e-14)


@ALL
def test_works_under_vmap(name):
    stacked = {k: torch.stack([v, 2 * v, -v]) for k, v in start().items()}
    mapped = vmap(lambda p: run(name, p, 5)[0])(stacked)
    for member in range(3):
        alone, _ = run(name, {k: v[member] for k, v in stacked.items()}, 5)
        for k in alone:
            torch.testing.assert_close(mapped[k][member], alone[k], atol=1e-14, rtol=1e-14)
