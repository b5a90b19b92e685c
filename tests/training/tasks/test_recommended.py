"""What `lamina train` chooses: sizes that fit the data, and a recipe with its reason."""

from dataclasses import replace

import pytest

from lamina._errors import ArgumentError
from lamina.data.augment import Augment
from lamina.data.dataset import Spec
from lamina.training.recipe import Adam, MiniBatch, Penalty
from lamina.training.tasks.recommended import network_options, recommend

DIGITS = Spec("image", "classification", (1, 8, 8), 10)
CIFAR = Spec("image", "classification", (3, 32, 32), 10)
PHOTOS = Spec("image", "classification", (3, 300, 400), 5)
IRIS = Spec("table", "classification", (4,), 3)
YES = Spec("table", "classification", (4,), 2)


@pytest.mark.parametrize(
    ("name", "spec", "prepared", "expected"),
    [
        ("lenet5", DIGITS, (1, 8, 8), {"outputs": 10, "inputs": (1, 28, 28)}),
        ("lenet5", CIFAR, (3, 32, 32), {"outputs": 10, "inputs": (3, 32, 32)}),
        ("lenet5", PHOTOS, (3, 300, 400), {"outputs": 5, "inputs": (3, 28, 28)}),
        ("lenet5-1998", CIFAR, (3, 32, 32), {"outputs": 10, "inputs": (1, 32, 32)}),
        ("alexnet", PHOTOS, (3, 300, 400), {"outputs": 5, "inputs": (3, 227, 227)}),
        ("resnet18", CIFAR, (3, 32, 32), {"outputs": 10, "inputs": (3, 32, 32), "stem": "cifar"}),
        ("resnet18", PHOTOS, (3, 300, 400), {"outputs": 5, "inputs": (3, 224, 224)}),
        ("fnn", DIGITS, (1, 8, 8), {"outputs": 10, "inputs": 64}),
        ("fnn", IRIS, (6,), {"outputs": 3, "inputs": 6}),
        ("perceptron", YES, (4,), {"outputs": 1, "activation": "identity", "inputs": 4}),
        ("perceptron", IRIS, (4,), {"outputs": 3, "activation": "identity", "inputs": 4}),
    ],
)
def test_sizes_fit_the_data(name, spec, prepared, expected):
    assert network_options(name, spec, prepared, {}) == expected
    assert network_options(name, spec, prepared, {"outputs": 7})["outputs"] == 7


@pytest.mark.parametrize(
    ("name", "spec", "sentence"),
    [
        ("seq2seq", IRIS, "seq2seq reads sequences, but the data are of kind 'table'"),
        ("logic-gate", IRIS, "logic-gate has fixed weights and cannot be trained"),
        ("lenet5", IRIS, "lenet5 reads pictures, but the data are of kind 'table': use fnn or dense-resnet"),
    ],
)
def test_what_does_not_fit_is_said(name, spec, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        network_options(name, spec, spec.inputs, {})


def test_recipes_have_their_reasons():
    lenet = recommend("lenet5", DIGITS, 1199, {"inputs": (1, 28, 28)})
    assert lenet.recipe.optimizer == Adam(0.01) and lenet.recipe.augment == Augment(translate=2)
    assert (
        lenet.sentence
        == "Adam, rate up to 0.01 in one cycle; 45 epochs of batches of 64, pictures shifted by up to 2 pixels"
    )
    resnet = recommend("resnet18", CIFAR, 41666, {"inputs": (3, 32, 32)})
    assert resnet.recipe.optimizer == MiniBatch(0.1, 0.9, nesterov=True) and resnet.recipe.penalty == Penalty(2.5e-4)
    assert resnet.recipe.augment == Augment(flip=True, crop=4) and resnet.recipe.epochs == 30
    few = recommend("fnn", IRIS, 100, {})
    assert few.recipe.penalty == Penalty(0.005) and few.recipe.batch_size == 16 and few.recipe.epochs == 200
    assert few.sentence.startswith("Adam, rate up to 0.003 in one cycle, penalty 0.005; 200 epochs")
    epochs = [recommend("fnn", IRIS, n, {}).recipe.epochs for n in (400, 1280, 2560, 12_800, 1_000_000)]
    assert epochs == [80, 100, 200, 80, 10]  # 2,000 updates, the same, the most, 8,000 updates, the least
    assert [recommend("fnn", IRIS, n, {}).recipe.batch_size for n in (500, 501, 2001)] == [16, 64, 128]
    assert [recommend("fnn", IRIS, n, {}).recipe.optimizer for n in (2000, 2001)] == [Adam(0.003), Adam(0.015)]
    numbers = Spec("table", "regression", (4,), 1)
    assert [recommend("fnn", numbers, n, {}).recipe.optimizer for n in (2000, 2001)] == [Adam(0.003), Adam(0.03)]
    assert recommend("fnn", CIFAR, 41666, {}).recipe.optimizer == Adam(0.003)  # pictures have no such prior
    assert [recommend("perceptron", IRIS, n, {}).recipe.optimizer for n in (100, 5000)] == [Adam(0.03)] * 2


@pytest.mark.parametrize(("task", "share"), [("regression", 1), ("classification", 4), ("multilabel", 4)])
def test_the_penalty_of_a_table_is_columns_by_twice_the_rows_and_a_quarter_of_that_for_classes(task, share):
    def penalty(examples, columns, kind="table", **more):
        spec = Spec(kind, task, (columns,), 3)
        return share * recommend("fnn", replace(spec, **more), examples, {}).recipe.penalty.strength

    many = 0.3 if task == "regression" else 1  # from many rows most of a number is explained
    assert penalty(1000, 8) == 0.004 and penalty(1000, 16, "vector") == 0.008
    assert penalty(2000, 8) == 0.002 and penalty(100_000, 8) == pytest.approx(many * 4e-5)
    assert penalty(100, 20) == penalty(10, 1000) == 0.02 * share  # the most
    assert penalty(4, 2, complete=True) == 0.0  # a truth table has no other rows
    wide = recommend("fnn", Spec("table", task, (10,), 3), 1000, {"inputs": 16})  # a category became 7 columns
    assert wide.recipe.penalty == Penalty(0.008 / share)
    assert recommend("fnn", DIGITS, 1000, {}).recipe.penalty == Penalty()
