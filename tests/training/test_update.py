"""One update against the pure updates of `functional`, with the batches of the algorithms."""

import copy

import pytest
import torch
from torch.func import functional_call
from torch.nn import functional as F

from lamina._errors import ArgumentError
from lamina.functional.optimizers import OPTIMIZERS
from lamina.training.recipe import GD, SGD, Adam, AdamW, MiniBatch, Recipe, RMSprop
from lamina.training.tasks.feed import _steps_per_epoch, batch_size

PURE = {
    "gd": (GD(0.3), "gd", {"learning_rate": 0.3}),
    "sgd": (SGD(0.05), "gd", {"learning_rate": 0.05}),
    "minibatch": (MiniBatch(0.1), "gd", {"learning_rate": 0.1}),
    "momentum": (MiniBatch(0.1, momentum=0.9), "momentum", {"learning_rate": 0.1, "momentum": 0.9}),
    "adam": (Adam(0.01), "adam", {"learning_rate": 0.01}),
    "adamw": (AdamW(0.01, weight_decay=0.3), "adamw", {"learning_rate": 0.01, "weight_decay": 0.3}),
    "rmsprop": (RMSprop(0.01), "rmsprop", {"learning_rate": 0.01}),
    "rmsprop momentum": (
        RMSprop(0.01, 0.9, momentum=0.5),
        "rmsprop",
        {"learning_rate": 0.01, "second_decay": 0.9, "momentum": 0.5},
    ),
}


@pytest.mark.notes("N1.36", "N1.42", "N1.45", "N1.47", "N1.49")
@pytest.mark.parametrize("name", PURE)
def test_steps_equal_the_pure_update(step_of, name):
    """Twenty updates in float64: batches of Alg. 2, 3, 4, the gradient by autograd, the update from `functional`."""
    optimizer, pure, numbers = PURE[name]
    recipe = Recipe(optimizer, epochs=2, batch_size=16, precision="float64", seed=3)
    step = step_of(recipe)
    init, update, hyper = OPTIMIZERS[pure]
    model = copy.deepcopy(step.model)
    params = {k: v.detach().clone() for k, v in model.named_parameters()}
    state = init(params)
    for epoch in range(2):
        step.begin(epoch)
        for batch in step.feed.order.split(step.feed.batch_size)[:10]:
            step()
            inputs, targets = step.feed.source.batch(batch, None)
            leaves = {k: v.detach().clone().requires_grad_() for k, v in params.items()}
            loss = F.cross_entropy(functional_call(model, leaves, (inputs.double(),)), targets)
            grads = dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values())), strict=True))
            params, state = update(params, grads, state, hyper(**numbers))
    for k, p in step.model.named_parameters():
        torch.testing.assert_close(p.detach(), params[k], atol=1e-12, rtol=1e-12)


@pytest.mark.notes("N1.41")
def test_batches_of_the_algorithms(step_of):
    assert batch_size(Recipe(GD()), 80) == 80 and _steps_per_epoch(Recipe(GD()), 80) == 1
    assert batch_size(Recipe(SGD()), 80) == 1 and _steps_per_epoch(Recipe(SGD()), 80) == 80
    assert _steps_per_epoch(Recipe(batch_size=30), 80) == 3
    assert _steps_per_epoch(Recipe(batch_size=30, sampling="with-replacement"), 80) == 2
    assert batch_size(Recipe(batch_size=500), 80) == 80
    assert step_of(Recipe(SGD())).feed.sampling == "with-replacement"


def test_a_network_that_no_gradient_reaches_is_refused(step_of):
    step = step_of(Recipe(), activation="heaviside")
    step.begin(0)
    for p in step.model.layers[-1].parameters():
        p.requires_grad_(False)
    with pytest.raises(ArgumentError, match="no gradient leads from the loss to a parameter: .* such as heaviside"):
        step()
    step = step_of(Recipe())
    step.begin(0)
    with torch.no_grad(), pytest.raises(ArgumentError, match=r"torch\.no_grad\(\) is in force around the training"):
        step()
