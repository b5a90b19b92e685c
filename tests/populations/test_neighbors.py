"""Within a stack of one width a member's bits depend neither on its neighbors nor on whether they are padding."""

import math

import pytest
import torch

import lamina
from lamina.architectures.build import configure
from lamina.data.arrays import from_arrays
from lamina.populations.members import Member
from lamina.populations.population import train_together
from lamina.training.loop import drain
from lamina.training.recipe import Adam, Recipe, Stopping

PICTURES = {"inputs": (1, 16, 16), "outputs": 3}
CASES = {
    "fnn": ("fnn", {"inputs": 4, "outputs": 3, "hidden": (9,)}),
    "fnn with batch norm": ("fnn", {"inputs": 4, "outputs": 3, "hidden": (9, 7), "batch_norm": True}),
    "fnn with dropout": ("fnn", {"inputs": 4, "outputs": 3, "hidden": (9, 7), "dropout": 0.3}),
    "dense-resnet": ("dense-resnet", {"inputs": 4, "outputs": 3}),
    "neural-ode": ("neural-ode", {"inputs": 4, "outputs": 3}),
    "lenet5": ("lenet5", PICTURES),
    "cifar-resnet": ("cifar-resnet", {**PICTURES, "depth": 8, "width": 0.25}),
    "many-to-one": ("many-to-one", {"inputs": 1, "outputs": 1, "hidden": 5, "cell": "gru"}),
}


def data(name):
    generator = torch.Generator().manual_seed(0)
    if name == "many-to-one":
        return lamina.load("wave", steps=100, window=6).split(seed=0)
    shape = (1, 16, 16) if "inputs" in CASES[name][1] and isinstance(CASES[name][1]["inputs"], tuple) else (4,)
    inputs = torch.randn(90, *shape, generator=generator)
    return from_arrays(inputs, torch.arange(90) % 3).split(seed=0)


def trained(members, split, width=5):
    return drain(train_together(members, split, chunk=width, padded=True))


def same(mine, other):
    return mine.rows == other.rows and all(torch.equal(t, other.weights[name]) for name, t in mine.weights.items())


@pytest.mark.parametrize("name", CASES)
def test_a_member_does_not_feel_its_neighbors(name):
    architecture, options = CASES[name]
    config, split = configure(architecture, **options), data(name)
    recipes = [Recipe(Adam(rate), epochs=2, batch_size=19) for rate in (1e-3, 3e-3, 1e-2, 0.1, math.inf)]
    members = [Member(recipe, config, seed) for seed, recipe in enumerate(recipes)]  # the last one diverges
    among, others = trained(members, split), trained([*members[:2], *[Member(recipes[2], config, 9)] * 3], split)
    alone = trained(members[:2], split)
    assert [result.state for result in among] == ["finished"] * 4 + ["diverged"]
    for place in range(2):
        assert same(among[place], others[place]) and same(among[place], alone[place])
        assert alone[place].together == 5 and alone[place].kind == "stacked"
    assert not same(among[0], among[1])


def test_members_that_stop_stay_in_a_stack_of_one_width():
    config, split = configure("fnn", **CASES["fnn"][1]), data("fnn")
    long, short = (Recipe(Adam(0.01), epochs=4, batch_size=19, stopping=Stopping(loss_below=x)) for x in (1e-9, 1e9))
    among = trained([Member(long, config, 0), *(Member(short, config, seed) for seed in range(1, 5))], split)
    alone = trained([Member(long, config, seed) for seed in range(5)], split)
    assert [len(result.rows) for result in among] == [4, 1, 1, 1, 1] and same(among[0], alone[0])
