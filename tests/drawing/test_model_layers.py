"""The layers of a model, read from a forward pass."""

import torch
from torch import nn

import lamina
from lamina.drawing._layers import Stage
from lamina.drawing._model_layers import kind_of, layers_of
from lamina.drawing.stack import stack


def test_layers_are_read_from_a_forward_pass_that_leaves_no_trace():
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3, stride=2), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 2)
    ).train()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    items = layers_of(model, (3, 15, 15))
    assert [(i.kind, i.shape, i.note) for i in items] == [
        ("input", (3, 15, 15), ""), ("convolution", (4, 7, 7), "3×3, s = 2"), ("normalization", (4, 7, 7), ""),
        ("detector", (4, 7, 7), ""), ("pooling", (4, 3, 3), "2×2"), ("flatten", (36,), ""), ("dense", (2,), ""),
    ]  # fmt: skip
    assert model.training
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    assert not any(module._forward_hooks for module in model.modules())


def test_blocks_of_one_shape_become_a_stage():
    items = layers_of(lamina.build("cifar-resnet", depth=26), (3, 32, 32))
    stages = [item for item in items if isinstance(item, Stage)]
    assert [(stage.name, len(stage.layers), stage.layers[-1].shape) for stage in stages] == [
        ("4 blocks", 1, (16, 32, 32)), ("4 blocks", 1, (32, 16, 16)), ("4 blocks", 1, (64, 8, 8)),
    ]  # fmt: skip
    assert ", 4 residual blocks 16×32×32, 4 residual blocks 32×16×16, " in stack(items, title="").description


def test_kinds_are_known_and_unknown_modules_keep_their_name():
    assert kind_of(nn.GRU(2, 3)) == "recurrent"
    assert kind_of(nn.Sequential(nn.Linear(1, 1))) is None
    assert kind_of(nn.Upsample(2)) == "other"
    assert layers_of(nn.Upsample(scale_factor=2), (1, 4, 4))[1].called == "Upsample"
