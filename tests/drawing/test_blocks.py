"""Residual blocks: the order of the boxes, the skip arrow, and what real blocks say."""

import pytest
import torch
from torch import nn

from lamina._errors import ArgumentError
from lamina.drawing._collisions import overlaps
from lamina.drawing.blocks import BLOCKS, _read_block, residual_block
from lamina.drawing.parts import edges, named
from lamina.drawing.scene import Path, Rectangle
from lamina.layers.bottleneck import OriginalBottleneck, PreActBottleneck
from lamina.layers.residual import SimpleResNetLayer
from lamina.layers.residual_blocks import OriginalBlock, PreActBlock


def _labels(block):
    return [stage.label for stage in block.stages]


@pytest.mark.notes("N4.05")
def test_residual_layer():
    scene = residual_block("residual-layer")
    affine = r"$W^{[\ell-1]} y^{[\ell-1]} + b^{[\ell-1]}$"
    assert named(scene) == ["y[l-1]", affine, r"activation $\sigma$", "+", "y[l]"]
    boxes = [s for s in scene.shapes if isinstance(s, Rectangle)]
    assert [box.stroke.color for box in boxes] == ["weights", "activation"]
    assert edges(scene)[-1] == ("y[l-1]", "+")
    assert [s.curve for s in scene.shapes if isinstance(s, Path) and " to " in s.title] == [False] * 4 + [True]


@pytest.mark.notes("N4.18")
def test_original_block():
    scene = residual_block("original")
    assert named(scene) == ["y[l-1]", "Weights", "BN", "ReLU", "Weights", "BN", "+", "ReLU", "y[l]"]
    assert edges(scene).count(("y[l-1]", "+")) == 1
    assert len(edges(scene)) == 9
    colors = [s.stroke.color for s in scene.shapes if isinstance(s, Rectangle)]
    assert colors == ["weights", "norm", "activation", "weights", "norm", "activation"]


@pytest.mark.notes("N4.22")
def test_full_pre_activation_block():
    scene = residual_block("pre-activation")
    assert named(scene) == ["y[l-1]", "BN", "ReLU", "Weights", "BN", "ReLU", "Weights", "+", "y[l]"]
    assert edges(scene)[-1] == ("y[l-1]", "+")
    colors = [s.stroke.color for s in scene.shapes if isinstance(s, Rectangle)]
    assert colors == ["norm", "activation", "weights"] * 2


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (OriginalBlock, "original"),
        (PreActBlock, "pre-activation"),
        (OriginalBottleneck, "original-bottleneck"),
        (PreActBottleneck, "pre-activation-bottleneck"),
    ],
)
def test_real_blocks_have_the_stages_of_their_kind(make, kind):
    read = _read_block(make(8, 8))
    assert [s.kind for s in read.stages] == [s.kind for s in BLOCKS[kind].stages]
    assert read.shortcut == ()
    assert read.skip_from == 0


@pytest.mark.parametrize("make", [OriginalBlock, PreActBlock])
def test_the_stages_computed_in_order_are_the_block(make):
    """Apply the boxes one after the other, with the block's own weights: the block's output comes out."""
    block = make(3, 3).double().eval()
    norms, weights = iter((block.bn1, block.bn2)), iter((block.conv1, block.conv2))
    y = torch.randn(2, 3, 5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    z = y
    for stage in _read_block(block).stages:
        if stage.kind == "sum":
            z = z + y
        else:
            apply = {"weights": lambda: next(weights), "norm": lambda: next(norms), "activation": lambda: torch.relu}
            z = apply[stage.kind]()(z)
    torch.testing.assert_close(z, block(y))


def test_labels_and_shortcuts_of_real_blocks():
    original = _read_block(OriginalBlock(16, 32, stride=2))
    first, second = r"$3 \times 3$, 32, stride 2", r"$3 \times 3$, 32"
    assert _labels(original) == [first, "BN", "ReLU", second, "BN", "+", "ReLU"]
    assert [s.label for s in original.shortcut] == [r"$1 \times 1$, 32, stride 2", "BN"]
    active = _read_block(PreActBlock(16, 32, stride=2))
    assert active.skip_from == 2  # the learned shortcut starts behind the first ReLU
    assert ("ReLU", r"shortcut $1 \times 1$, 32, stride 2") in edges(residual_block(active))
    padded = _read_block(OriginalBlock(16, 32, stride=2, shortcut="zero-pad"))
    assert [s.label for s in padded.shortcut] == ["stride 2, 16 maps of zeros"]


def test_real_residual_layers():
    assert _read_block(SimpleResNetLayer(3, 3)).shortcut == ()
    assert [s.label for s in _read_block(SimpleResNetLayer(3, 5)).shortcut] == [r"$P$, $5 \times 3$"]
    assert len(_read_block(SimpleResNetLayer(3, 5, projection="zero-pad")).shortcut) == 1
    assert _labels(_read_block(SimpleResNetLayer(3, 3, outer=True)))[2] == r"$W_2$, $3 \times 3$"


@pytest.mark.parametrize("kind", BLOCKS)
def test_nothing_overlaps(kind):
    assert overlaps(residual_block(kind), lines=True) == []


def test_nothing_overlaps_in_real_blocks():
    for block in (PreActBlock(256, 512, stride=2), OriginalBlock(64, 128, stride=2, shortcut="zero-pad")):
        assert overlaps(residual_block(block), lines=True) == []


def test_unknown_blocks_are_refused():
    with pytest.raises(ArgumentError, match="`block` must be one of 'residual-layer', 'original'"):
        residual_block("inception")
    with pytest.raises(ArgumentError, match=r"`block` must be one of SimpleResNetLayer, .* got ReLU\."):
        residual_block(nn.ReLU())


@pytest.mark.parametrize("block", [*BLOCKS, OriginalBlock(64, 128, stride=2), PreActBlock(64, 128, stride=2)], ids=str)
def test_on_a_phone_a_block_leads_downward_and_says_the_same(block):
    wide = residual_block(block)
    slim = wide.narrower()
    assert slim.width == 340 and overlaps(slim) == []
    assert sorted(edges(slim)) == sorted(edges(wide)) and named(slim) == named(wide)
    boxes = [shape for shape in slim.shapes if isinstance(shape, Rectangle)]
    assert all(shape.size == next(b.size for b in wide.shapes if isinstance(b, Rectangle) and b.title == shape.title)
               for shape in boxes)  # fmt: skip
