"""Recipes: bounds, flat names, files."""

import pytest
import torch

from lamina._errors import ArgumentError
from lamina.data.augment import Augment
from lamina.training.recipe import (
    GD,
    SGD,
    Adam,
    AdamW,
    Clip,
    MiniBatch,
    Penalty,
    Recipe,
    RMSprop,
    Schedule,
    Stopping,
    as_dict,
    from_dict,
    option_names,
    with_options,
)


@pytest.mark.notes("N1.48", "N1.71")
def test_defaults_are_the_notes():
    assert Adam() == Adam(learning_rate=0.001, beta1=0.9, beta2=0.999, eps=1e-8)
    assert torch.optim.Adam([torch.nn.Parameter(torch.ones(1))]).defaults["lr"] == Adam().learning_rate
    assert isinstance(Recipe().optimizer, Adam)
    one = [torch.nn.Parameter(torch.ones(1))]
    theirs = torch.optim.AdamW(one).defaults
    assert AdamW() == AdamW(theirs["lr"], *theirs["betas"], theirs["eps"], theirs["weight_decay"])
    theirs = torch.optim.RMSprop(one).defaults
    assert RMSprop() == RMSprop(theirs["lr"], theirs["alpha"], theirs["eps"], theirs["momentum"])


def test_what_is_not_given_is_what_the_documentation_says():
    assert (GD(), SGD(), MiniBatch()) == (GD(0.1, False), SGD(0.01), MiniBatch(0.1, 0.0, False))
    assert Schedule() == Schedule(
        "constant", warmup=0.0, final=0.0, every=10, factor=0.1, since=0, wait=10, improvement=1e-4
    )
    assert (Penalty(), Clip()) == (Penalty(0.0, 2), Clip(None, "global"))
    assert Recipe() == Recipe(
        epochs=10, batch_size=64, sampling="epoch", check_every=1, label_smoothing=0.0, teacher_forcing=1.0, window=100,
        precision="float32", seed=0,
    )  # fmt: skip


def test_the_ends_of_a_range_belong_to_it_or_not():
    MiniBatch(momentum=0.0), Adam(beta1=0.0, beta2=0.0), Schedule(warmup=1, final=1, factor=1), Schedule(factor=0)
    Recipe(epochs=1, batch_size=1, check_every=1, teacher_forcing=0.0, window=1), Schedule(every=1), Penalty(0.0)


BAD = [
    (lambda: GD(0), r"`learning_rate` must be greater than 0, got 0"),
    (lambda: SGD(-1), r"`learning_rate` must be greater than 0, got -1"),
    (lambda: MiniBatch(momentum=1.0), r"`momentum` must be in \[0, 1\), got 1.0"),
    (lambda: MiniBatch(nesterov=True), r"`nesterov` needs a `momentum` greater than 0, got 0"),
    (lambda: Adam(beta1=1.0), r"`beta1` must be in \[0, 1\), got 1.0"),
    (lambda: Adam(beta1=-0.1), r"`beta1` must be in \[0, 1\), got -0.1"),
    (lambda: Adam(beta2=1.0), r"`beta2` must be in \[0, 1\), got 1.0"),
    (lambda: Adam(beta2=-0.1), r"`beta2` must be in \[0, 1\), got -0.1"),
    (lambda: Adam(0), r"`learning_rate` must be greater than 0, got 0"),
    (lambda: MiniBatch(0), r"`learning_rate` must be greater than 0, got 0"),
    (lambda: SGD(0), r"`learning_rate` must be greater than 0, got 0"),
    (lambda: MiniBatch(momentum=-0.1), r"`momentum` must be in \[0, 1\), got -0.1"),
    (lambda: Schedule(warmup=-0.5), r"`warmup` must be in \[0, 1\], got -0.5"),
    (lambda: Schedule(final=1.5), r"`final` must be in \[0, 1\], got 1.5"),
    (lambda: Schedule(final=-0.5), r"`final` must be in \[0, 1\], got -0.5"),
    (lambda: Schedule(factor=1.5), r"`factor` must be in \[0, 1\], got 1.5"),
    (lambda: Schedule(factor=-0.5), r"`factor` must be in \[0, 1\], got -0.5"),
    (lambda: Penalty(-0.5), r"`penalty` must be at least 0, got -0.5"),
    (lambda: Recipe(check_every=0), r"`check_every` must be at least 1, got 0"),
    (lambda: Recipe(label_smoothing=-0.5), r"`label_smoothing` must be in \[0, 1\), got -0.5"),
    (lambda: Recipe(label_smoothing=1.0), r"`label_smoothing` must be in \[0, 1\), got 1.0"),
    (lambda: Recipe(teacher_forcing=1.5), r"`teacher_forcing` must be in \[0, 1\], got 1.5"),
    (lambda: Recipe(teacher_forcing=-0.5), r"`teacher_forcing` must be in \[0, 1\], got -0.5"),
    (lambda: Recipe(window=0), r"`window` must be at least 1, got 0"),
    (lambda: Schedule("plateau", wait=0), "`wait` must be at least 1, got 0"),
    (lambda: Schedule("plateau", improvement=1.0), r"`improvement` must be in \[0, 1\), got 1.0"),
    (lambda: AdamW(beta1=1.0), r"`beta1` must be in \[0, 1\), got 1.0"),
    (lambda: AdamW(weight_decay=-1.0), r"`weight_decay` must be at least 0, got -1.0"),
    (lambda: RMSprop(alpha=1.0), r"`alpha` must be in \[0, 1\), got 1.0"),
    (lambda: RMSprop(0.0), r"`learning_rate` must be greater than 0, got 0.0"),
    (lambda: RMSprop(momentum=1.0), r"`momentum` must be in \[0, 1\), got 1.0"),
    (lambda: Adam(eps=0.0), r"`eps` must be greater than 0, got 0.0"),
    (lambda: Schedule("linear"), r"`schedule` must be one of 'constant', 'warmup', .*, got 'linear'"),
    (lambda: Schedule(warmup=1.5), r"`warmup` must be in \[0, 1\], got 1.5"),
    (lambda: Schedule(every=0), r"`every` must be at least 1, got 0"),
    (lambda: Penalty(-1), r"`penalty` must be at least 0, got -1"),
    (lambda: Penalty(1, norm=3), r"`penalty_norm` must be one of 1, 2, got 3"),
    (lambda: Clip(0.0), r"`clip` must be greater than 0, got 0.0"),
    (lambda: Clip(1.0, "layer"), r"`clip_kind` must be one of 'global', 'tensor', 'value', got 'layer'"),
    (lambda: Stopping(patience=0), r"`patience` must be greater than 0, got 0"),
    (lambda: Recipe(epochs=0), r"`epochs` must be at least 1, got 0"),
    (lambda: Recipe(batch_size=0), r"`batch_size` must be at least 1, got 0"),
    (lambda: Recipe(sampling="random"), r"`sampling` must be one of 'epoch', .*, got 'random'"),
    (lambda: Recipe(loss="l1"), r"`loss` must be one of None, 'nll', 'bce', 'focal', .*, got 'l1'"),
    (lambda: Recipe(huber_delta=0.0), r"`huber_delta` must be greater than 0, got 0.0"),
    (lambda: Recipe(quantile_level=0.0), r"`quantile_level` must be greater than 0, got 0.0"),
    (lambda: Recipe(quantile_level=1.0), r"`quantile_level` must be in \[0, 1\), got 1.0"),
    (lambda: Recipe(focal_gamma=-1.0), r"`focal_gamma` must be at least 0, got -1.0"),
    (lambda: Recipe(metrics={"mae": max}), r"`metrics` must have names of their own, but 'mae' is a score already"),
    (lambda: Recipe(metrics={"mine": 3}), r"`metrics` must be functions of outputs and targets, got 3 for 'mine'"),
    (lambda: Recipe(class_weights="auto"), r"`class_weights` must be one of None, 'balanced', got 'auto'"),
    (lambda: Recipe(precision="float16"), r"`precision` must be one of 'float32', .*, got 'float16'"),
    (lambda: with_options(Recipe(), lerning_rate=1), r"no option 'lerning_rate': .*; did you mean 'learning_rate'\?"),
    (lambda: with_options(Recipe(), zzz=1), r"the recipe has no option 'zzz': its options are epochs, .*\."),
    (lambda: with_options(Recipe(), optimizer="adagrad"), r"`optimizer` must be one of 'gd', .*, got 'adagrad'"),
]


@pytest.mark.parametrize(("make", "sentence"), BAD)
def test_wrong_numbers_get_a_sentence(make, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        make()


def test_every_flat_name_changes_its_number():
    changed = with_options(
        Recipe(), optimizer="minibatch", learning_rate=0.2, momentum=0.5, schedule="cosine", warmup=0.1, penalty=0.3,
        penalty_norm=1, clip=2.0, clip_kind="value", patience=4, flip=True, batch_size=7, seed=9,
    )  # fmt: skip
    assert changed.optimizer == MiniBatch(0.2, 0.5) and changed.schedule == Schedule("cosine", warmup=0.1)
    assert changed.penalty == Penalty(0.3, 1) and changed.clip == Clip(2.0, "value")
    assert changed.stopping == Stopping(patience=4) and changed.augment == Augment(flip=True)
    assert (changed.batch_size, changed.seed) == (7, 9)
    assert {"beta1", "max_steps", "cutout", "precision"} <= set(option_names())
    assert not {"kind", "strength", "norm", "limit"} & set(option_names())  # these have flat names of their own


@pytest.mark.parametrize(
    "optimizer",
    [GD(0.5, line_search=True), SGD(), MiniBatch(0.1, 0.9, nesterov=True), Adam(0.01), AdamW(), RMSprop(0.1)],
)
def test_a_recipe_survives_a_file(optimizer):
    recipe = Recipe(
        optimizer, 3, 5, Schedule("step"), Penalty(0.1, 1), Clip(1.0), Stopping(patience=2), Augment(flip=True)
    )
    assert from_dict(as_dict(recipe)) == recipe


def test_a_custom_optimizer_must_be_given_again():
    def mine(params):
        return torch.optim.RMSprop(params)

    values = as_dict(Recipe(optimizer=mine))
    assert values["optimizer"] == {"name": "custom", "code": mine.__qualname__}
    with pytest.raises(ArgumentError, match="trained with the optimizer .*mine', which a file cannot hold"):
        from_dict(values)
    assert from_dict(values, mine).optimizer is mine


def test_a_loss_and_metrics_of_ones_own_must_be_given_again():
    recipe = Recipe(loss=torch.nn.functional.l1_loss, metrics={"mine": torch.dist})
    values = as_dict(recipe)
    assert values["loss"] == {"name": "custom", "code": "l1_loss"} and values["metrics"] == ["mine"]
    with pytest.raises(ArgumentError, match="trained with the loss 'l1_loss', which a file cannot hold"):
        from_dict(values, metrics=recipe.metrics)
    with pytest.raises(ArgumentError, match="trained with the metrics mine, which a file cannot hold"):
        from_dict(values, loss=recipe.loss)
    assert from_dict(values, loss=recipe.loss, metrics=recipe.metrics) == recipe
    named = Recipe(loss="huber", huber_delta=0.5)
    assert from_dict(as_dict(named)) == named and with_options(Recipe(), loss="huber", huber_delta=0.5) == named
