"""`lamina.build`: names, options and their mistakes."""

import pytest
import torch

import lamina
from lamina._errors import ArgumentError
from lamina.architectures.build import configure, find
from lamina.architectures.table import TABLE


@pytest.mark.notes("N1.65", "N2.12", "N2.65")
def test_hyperparameters_are_in_the_config_and_never_among_the_parameters():
    net = lamina.build("fnn", inputs=3, outputs=1, hidden=(5, 5, 5), dropout=0.5)
    assert net.config.widths == (3, 5, 5, 5, 1) and net.config.dropout == 0.5
    assert sum(p.numel() for p in net.parameters()) == 86
    with pytest.raises(AttributeError, match="cannot assign to field"):
        net.config.dropout = 0.1


def test_options_of_a_name_can_be_overridden():
    assert find("resnet18").options == {"depth": 18}
    assert configure("resnet18", depth=34).depth == 34
    assert lamina.build("lenet5", outputs=3).config.outputs == 3


def test_a_generator_is_advanced_and_an_integer_is_a_start():
    g = torch.Generator().manual_seed(0)
    first, second = (lamina.build("perceptron", inputs=2, seed=g) for _ in range(2))
    assert not torch.equal(first.affine.weight, second.affine.weight)
    assert torch.equal(first.affine.weight, lamina.build("perceptron", inputs=2, seed=0).affine.weight)


def test_unknown_names_and_options_get_a_hint():
    with pytest.raises(
        ArgumentError, match=r"`name` must be one of perceptron, .*, got 'lenet'. Did you mean 'lenet5'\?"
    ):
        lamina.build("lenet")
    with pytest.raises(
        ArgumentError, match=r"fnn has no option 'hiden': its options are inputs, .*; did you mean 'hidden'\?"
    ):
        lamina.build("fnn", hiden=3)
    with pytest.raises(
        ArgumentError, match=r"lenet5 has no option 'zzz': its options are inputs, outputs, .*scale, dropout\."
    ):
        lamina.build("lenet5", zzz=3)


def test_the_table_is_whole():
    for name, entry in TABLE.items():
        assert name == entry.name and entry.parameters > 0 and entry.place.startswith("§")


@pytest.mark.notes("N3.01")
def test_the_famous_convolutional_networks_are_there_as_published_and_as_drawn():
    famous = {name: entry.parameters for name, entry in TABLE.items() if name.startswith(("lenet5", "alexnet"))}
    assert famous["lenet5-1998"] == 60_000 and famous["lenet5"] == 61_706
    assert famous["alexnet-2012"] == 60_965_224 and famous["alexnet"] == 62_378_344
