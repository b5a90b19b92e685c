"""What single operations do to receptive fields."""

import torch
from torch import nn

from lamina.inspection._field_rules import _view_places
from lamina.inspection.receptive_field import receptive_field


def test_layers_of_torch_beyond_convolution():
    def size(*parts, shape=(2, 12)):
        return receptive_field(nn.Sequential(*parts), shape).last

    assert size(nn.MaxPool1d(3, 2, padding=1, dilation=1)).window(0) == ((0, 1),)
    assert size(nn.ConvTranspose1d(2, 2, 4, 2, 1), nn.Conv1d(2, 2, 3, 2, 1)).window(3) == ((2, 4),)
    assert size(nn.AdaptiveAvgPool1d(5)).window(1) == ((2, 4),)
    assert size(nn.ConstantPad1d((2, 0), 0.0), nn.Conv1d(2, 2, 3)).window(4) == ((2, 4),), "a causal convolution"
    assert size(nn.BatchNorm1d(2), nn.Dropout(), nn.Hardtanh()).size == (1,)
    assert size(nn.GroupNorm(1, 2)).whole and size(nn.InstanceNorm1d(2)).whole and size(nn.Softmax(-1)).whole
    assert size(nn.Softmax(1)).size == (1,) and size(nn.LayerNorm(12)).whole
    picture = receptive_field(nn.Sequential(nn.Conv2d(2, 2, (3, 1), (2, 1)), nn.MaxPool2d((1, 4))), (2, 9, 8)).last
    assert picture.size == (3, 4) and picture.jump == (2, 4) and picture.window((1, 1)) == ((2, 4), (4, 7))


def test_cuts_joins_and_permutations_are_followed():
    class Shuffle(nn.Module):
        def forward(self, u):
            left, right = u.chunk(2, dim=2)
            joined = torch.cat([right, left], 2).transpose(1, 2).flip(1)
            return torch.stack(list(joined.unbind(1)), 2)[:, :, 1::2].unsqueeze(0).squeeze(0).cumsum(2)

    field = receptive_field(nn.Sequential(nn.Conv1d(1, 1, 1), Shuffle()), (1, 8)).last
    # 0..7 becomes 4 5 6 7 0 1 2 3, backward 3 2 1 0 7 6 5 4, every other one 2 0 6 4, running sums.
    assert [field.window(k) for k in range(4)] == [((2, 2),), ((0, 2),), ((0, 6),), ((0, 6),)]


def test_operations_without_a_rule_are_named():
    class Sorts(nn.Module):
        def forward(self, u):
            return u.sort(-1).values

    fields = receptive_field(nn.Sequential(nn.Conv1d(1, 1, 3), Sorts()), (1, 8))
    assert fields.guessed == ("sort",) and fields.last.window() == ((0, 7),) and "guessed: sort" in str(fields)


def test_view_places():
    assert _view_places((2, 3, 4, 5), (2, 3, 20)) == {0: 0, 1: 1}
    assert _view_places((1, 10, 8), (10, 8)) == {1: 0, 2: 1}
    assert _view_places((10, 8), (1, 10, 2, 4)) == {0: 1}
    assert _view_places((6, 4), (4, 6)) == {}
    assert _view_places((2, 3), (2, 3)) == {0: 0, 1: 1}
