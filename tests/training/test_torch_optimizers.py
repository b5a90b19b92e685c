"""Optimizers of torch in a recipe: classes, functions and groups, their files, and runs that continue bit for bit."""

import copy
from functools import partial

import jaxtyping
import pytest
import torch

import lamina
from lamina._errors import ArgumentError
from lamina.training._torch_optimizers import make, read, spelled
from lamina.training.recipe import Recipe, Schedule, as_dict, from_dict


def fast_head(named_parameters):
    """Let the weights of the last layer learn ten times as fast, and come first."""
    head = [p for name, p in named_parameters if name.startswith("layers.1")]
    rest = [p for name, p in named_parameters if not name.startswith("layers.1")]
    return torch.optim.Adam([{"params": head, "lr": 0.01}, {"params": rest, "lr": 0.001}])


KINDS = {
    "class": torch.optim.AdamW,
    "partial": partial(torch.optim.AdamW, lr=0.02, betas=(0.8, 0.95), weight_decay=0.1),
    "function": lambda params: torch.optim.NAdam(params, lr=0.02),
    "groups": fast_head,
    "averaged": partial(torch.optim.ASGD, lr=0.05),
    "adagrad": partial(torch.optim.Adagrad, lr=0.05),
    "rprop": torch.optim.Rprop,
    "adafactor": torch.optim.Adafactor,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_run_goes_on_bit_for_bit(step_of, kind):
    recipe = Recipe(KINDS[kind], epochs=4, batch_size=16, schedule=Schedule("cosine"))
    whole, first, second = (step_of(recipe) for _ in range(3))

    def run(step, start, stop):
        for number in range(start, stop):
            epoch, batch = divmod(number, step.batches)
            if batch == 0 or number == start:
                step.begin(epoch, batch)
            step()

    run(whole, 0, 17)
    run(first, 0, 7)
    second.restore({name: t.detach().clone() for name, t in first.state().items()}, first.step)
    run(second, 7, 17)
    found = second.state()
    for name, t in whole.state().items():
        assert torch.equal(t, found[name]), name


def test_a_class_trains_as_torch_does_with_its_own_rate(step_of):
    step = step_of(Recipe(torch.optim.AdamW, epochs=1, batch_size=16, precision="float64"))
    model = copy.deepcopy(step.model)
    theirs = torch.optim.AdamW(model.parameters())
    step.begin(0)
    for batch in step.feed.order.split(16):
        step()
        inputs, targets = step.feed.source.batch(batch, None)
        theirs.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs.double()), targets).backward()
        theirs.step()
    assert step.rate(0) == 1e-3
    for ours, other in zip(step.model.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(ours, other, rtol=1e-12, atol=1e-12)


def test_the_schedule_scales_the_rates_of_all_groups(step_of):
    step = step_of(Recipe(fast_head, epochs=2, batch_size=16, schedule=Schedule("step", every=1, factor=0.5)))
    for epoch, expected in ((0, (0.01, 0.001)), (1, (0.005, 0.0005))):
        step.begin(epoch)
        for _ in range(step.batches):
            step()
        assert [group["lr"] for group in step.change.optimizer.param_groups] == pytest.approx(expected)
        assert step.totals()["learning_rate"] == pytest.approx(expected[0])  # that of the fastest


def test_gradients_of_what_an_optimizer_leaves_out_do_not_add_up(step_of):
    def head(named_parameters):
        return torch.optim.SGD([p for name, p in named_parameters if name.startswith("layers.1")], lr=1e-9)

    step = step_of(Recipe(head, epochs=1, batch_size=80))
    before = [p.detach().clone() for p in step.params]
    step.begin(0)
    step()
    first = step.params[0].grad.clone()
    step.begin(0)
    step()
    torch.testing.assert_close(step.params[0].grad, first, rtol=1e-4, atol=1e-7)
    assert torch.equal(before[0], step.params[0]) and not torch.equal(before[-1], step.params[-1])


@pytest.mark.parametrize("kind", ["class", "partial"])
def test_a_run_with_a_class_of_torch_is_continued_without_naming_it_again(kind, tmp_path):
    data = lamina.load("moons", count=120)

    def net():
        return lamina.build("fnn", inputs=2, outputs=2, hidden=8)

    def recipe(epochs):
        return Recipe(KINDS[kind], epochs=epochs, batch_size=16)

    whole = lamina.fit(net(), data.split(), recipe(4), folder=tmp_path / "whole")
    lamina.fit(net(), data.split(), recipe(2), folder=tmp_path / "half")
    longer = lamina.resume(tmp_path / "half", data=data.split(), epochs=4)
    assert [row["validation_loss"] for row in longer.rows] == [row["validation_loss"] for row in whole.rows]
    assert lamina.Run.load(tmp_path / "half").reason.name == "epochs"


def test_files_name_classes_of_torch_and_their_numbers():
    recipe = Recipe(KINDS["partial"])
    record = as_dict(recipe)["optimizer"]
    assert record == {"name": "torch.optim.AdamW", "lr": 0.02, "betas": [0.8, 0.95], "weight_decay": 0.1}
    again = from_dict(as_dict(recipe)).optimizer
    assert (again.func, again.keywords) == (torch.optim.AdamW, KINDS["partial"].keywords)
    assert from_dict(as_dict(Recipe(torch.optim.SGD))).optimizer is torch.optim.SGD
    assert from_dict(as_dict(recipe), optimizer=torch.optim.SGD).optimizer is torch.optim.SGD


@pytest.mark.parametrize("optimizer", [
    KINDS["function"], fast_head, partial(torch.optim.AdamW, lr=torch.tensor(0.1)), partial(fast_head),
    partial(torch.optim.AdamW, betas=(0.9, None)), type("Mine", (torch.optim.SGD,), {}),
])  # fmt: skip
def test_a_file_cannot_hold_other_functions(optimizer):
    assert spelled(optimizer) is None and as_dict(Recipe(optimizer))["optimizer"]["name"] == "custom"


def test_what_makes_no_optimizer_is_refused(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # which would refuse a word first
    params = [torch.nn.Parameter(torch.ones(2))]
    with pytest.raises(
        ArgumentError,
        match=r"got an instance of SGD, which belongs to one network: give the class torch\.optim\.SGD, or",
    ):
        Recipe(optimizer=torch.optim.SGD(params, lr=0.1))
    with pytest.raises(ArgumentError, match=r"must be a record such as Adam\(0\.01\), a class .* got 'adam'"):
        Recipe(optimizer="adam")
    with pytest.raises(ArgumentError, match=r"got the class AdamW: write AdamW\(\)"):
        Recipe(optimizer=lamina.AdamW)
    with pytest.raises(ArgumentError, match="must make a torch optimizer, but it made None: return one"):
        make(lambda params: None, params)
    with pytest.raises(ArgumentError, match="LBFGS asks for the loss several times in one update"):
        make(torch.optim.LBFGS, params)
    with pytest.raises(ArgumentError, match=r"has no optimizer 'torch\.optim\.Sophia': give another one"):
        read("torch.optim.Sophia", {})
