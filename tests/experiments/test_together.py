import pytest
import torch

import lamina
from lamina.architectures.recurrent import ManyToOne, ManyToOneConfig
from lamina.data.sequences import agreement
from lamina.data.synthetic import curve, truth_table
from lamina.data.text.texts import IGNORE
from lamina.experiments.together import (
    Check,
    accuracies,
    cross_entropies,
    squared_errors,
    train_members,
    train_together,
)
from lamina.experiments.trained import train
from lamina.functional.losses import binary_cross_entropy, mse_half
from lamina.training.recipe import GD, Recipe


def make(seed):
    return ManyToOne(ManyToOneConfig(13, 2, hidden=4, cell="gru", embedding="one-hot"), seed=seed).double()


def stream(gap=3):
    g = torch.Generator().manual_seed(5)

    def draw():
        data = agreement(16, gap, seed=g)
        return data.inputs, data.targets

    return draw


def alone(network, draw, steps, bound, optimizer):
    """Train one network by torch alone."""
    update = optimizer(network.parameters())
    for _ in range(steps):
        inputs, targets = draw()
        update.zero_grad()
        torch.nn.functional.cross_entropy(network(inputs), targets).backward()
        norm = torch.cat([p.grad.flatten() for p in network.parameters()]).norm()
        for p in network.parameters():
            p.grad *= min(1.0, bound / norm.item())
        update.step()
    return network


@pytest.mark.parametrize("name", ["adam", "sgd"])
def test_members_are_trained_as_if_alone(name):
    bounds = torch.tensor([0.3, 0.01, float("inf")], dtype=torch.float64)
    members = [make(seed) for seed in (0, 1, 1)]
    trial = train_members(members, stream(), cross_entropies, steps=5, learning_rate=0.02, optimizer=name, bound=bounds)
    make_optimizer = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}[name]
    for seed, bound, found in zip((0, 1, 1), bounds.tolist(), trial.networks, strict=True):
        other = alone(make(seed), stream(), 5, bound, lambda p: make_optimizer(p, lr=0.02))
        for p, q in zip(found.parameters(), other.parameters(), strict=True):
            torch.testing.assert_close(p, q, rtol=1e-9, atol=1e-11)
    inputs, targets = stream()()
    first = torch.nn.functional.cross_entropy(make(0)(inputs), targets)
    assert trial.losses.shape == (5, 3) and trial.losses[0, 0].item() == pytest.approx(first.item(), rel=1e-12)
    # the members given were copied
    assert all(torch.equal(p, q) for p, q in zip(members[0].parameters(), make(0).parameters(), strict=True))


def test_a_run_ends_at_its_goal_and_says_when_each_member_had_it():
    scores = iter([[0.2, 0.9], [0.8, 0.7], [0.9, 0.9]])
    check = Check(stream(), lambda outputs, targets: torch.tensor(next(scores)), every=2, goal=0.85)
    trial = train_members([make(0), make(1)], stream(), cross_entropies, steps=20, learning_rate=0.01, check=check)
    assert [step for step, _ in trial.scores] == [2, 4, 6] and len(trial.losses) == 6
    assert (trial.reached(0, 0.75), trial.reached(1, 0.75), trial.reached(0, 0.95)) == (4, 2, None)


def test_measures_by_hand():
    outputs = torch.tensor([[[2.0, 0.0], [0.0, 2.0]], [[2.0, 0.0], [2.0, 0.0]], [[9.0, 0.0], [9.0, 0.0]]])
    targets = torch.tensor([0, 0, IGNORE])
    right, wrong = torch.log1p(torch.exp(torch.tensor([-2.0, 2.0]))).tolist()
    assert cross_entropies(outputs, targets).tolist() == pytest.approx([right, (right + wrong) / 2])
    assert accuracies(outputs, targets).tolist() == [1.0, 0.5]
    assert squared_errors(torch.tensor([[[1.0], [3.0]], [[2.0], [2.0]]]), torch.tensor([1.0, 0.0])).tolist() == [
        2.0,
        4.0,
    ]


def test_without_a_bound_a_gradient_stays_even_when_its_norm_overflows():
    def huge(outputs, targets):
        return 1e25 * outputs.flatten(2).sum((0, 2))  # squares are beyond float32

    bounds = torch.tensor([float("inf"), 1.0])
    members = [make(0).float(), make(0).float()]
    trial = train_members(members, stream(), huge, steps=1, learning_rate=1.0, optimizer="sgd", bound=bounds)
    free, clipped = (network.output.weight - make(0).float().output.weight for network in trial.networks)
    assert free.isfinite().all() and free.abs().max() > 1e22 and clipped.isfinite().all() and clipped.norm() <= 1


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_networks_with_examples_of_their_own_are_trained_as_if_alone(optimizer):
    def networks():
        return [
            lamina.build("fnn", inputs=1, outputs=1, hidden=(5, 4), activation="tanh", seed=i).double() for i in (3, 4)
        ]

    sets = [curve(20, seed=i) for i in range(2)]
    u, s = torch.stack([a.inputs for a in sets]), torch.stack([a.targets[:, None] for a in sets])
    together = networks()
    losses = train_together(together, u, s, mse_half, learning_rate=0.1, steps=30, optimizer=optimizer)
    for i, (alone, member) in enumerate(zip(networks(), together, strict=True)):
        kind = torch.optim.SGD if optimizer == "sgd" else torch.optim.Adam
        reference = kind(alone.parameters(), lr=0.1)
        for _ in range(30):
            reference.zero_grad()
            mse_half(alone(u[i]), s[i]).backward()
            reference.step()
        for a, b in zip(alone.parameters(), member.parameters(), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)
        assert losses[i].item() == pytest.approx(mse_half(member(u[i]), s[i]).item(), rel=1e-12)
    separate = train_together(networks()[:1], u[:1], s[:1], mse_half, learning_rate=0.1, steps=30, optimizer=optimizer)
    assert separate.item() == pytest.approx(losses[0].item(), rel=1e-9)


def test_networks_together_agree_with_the_training_of_one():
    table = truth_table("xor")
    build = {"inputs": 2, "outputs": 1, "hidden": 3, "activation": "tanh", "seed": 1}
    alone, member = lamina.build("fnn", **build), lamina.build("fnn", **build)
    train(alone, table.split(), Recipe(optimizer=GD(0.5), epochs=50))
    u, s = table.inputs[None], table.targets.float()[None, :, None]
    train_together([member], u, s, binary_cross_entropy, learning_rate=0.5, steps=50, optimizer="sgd")
    torch.testing.assert_close(member(table.inputs), alone(table.inputs), rtol=0, atol=1e-5)
