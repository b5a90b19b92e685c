r"""Residual layers and blocks as a flow of boxes with a skip arrow: from the name of a kind, or from a real block."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from torch import nn

from lamina._errors import ArgumentError, choice
from lamina.drawing.parts import Board, Spot, _plate_width
from lamina.drawing.scene import FROM, Scene
from lamina.layers.bottleneck import OriginalBottleneck, PreActBottleneck
from lamina.layers.residual import SimpleResNetLayer
from lamina.layers.residual_blocks import OriginalBlock, PreActBlock
from lamina.layers.shortcuts import ZeroPadShortcut

GAP, DROP = 24.0, 17.0
"""The distance of neighbors side by side, and below each other."""
_ROLES = {"weights": "weights", "norm": "norm", "activation": "activation"}


@dataclass(frozen=True)
class Stage:
    """One step of a block: its kind ("weights", "norm", "activation" or "sum") and what the box says."""

    kind: str
    label: str = "+"


@dataclass(frozen=True)
class Block:
    """What a block does, in order; the skip arrow leaves before stage `skip_from` and passes `shortcut`."""

    stages: tuple[Stage, ...]
    shortcut: tuple[Stage, ...] = ()
    skip_from: int = 0


W, BN, RELU, SUM = Stage("weights", "Weights"), Stage("norm", "BN"), Stage("activation", "ReLU"), Stage("sum")
_ONE, _THREE = Stage("weights", r"$1 \times 1$"), Stage("weights", r"$3 \times 3$")
_AFFINE = Stage("weights", r"$W^{[\ell-1]} y^{[\ell-1]} + b^{[\ell-1]}$")
BLOCKS = {
    "residual-layer": Block((_AFFINE, Stage("activation", r"activation $\sigma$"), SUM)),
    "original": Block((W, BN, RELU, W, BN, SUM, RELU)),
    "pre-activation": Block((BN, RELU, W, BN, RELU, W, SUM)),
    "original-bottleneck": Block((_ONE, BN, RELU, _THREE, BN, RELU, _ONE, BN, SUM, RELU)),
    "pre-activation-bottleneck": Block((BN, RELU, _ONE, BN, RELU, _THREE, BN, RELU, _ONE, SUM)),
    "projection": Block((W, BN, RELU, W, BN, SUM, RELU), shortcut=(_ONE, BN)),
}
"""The kinds that are drawn by name."""
_READABLE = (OriginalBlock, PreActBlock, OriginalBottleneck, PreActBottleneck)


def residual_block(block: str | nn.Module | Block = "original") -> Scene:
    """Draw a residual layer or block: its stages in order, the sum, and the skip connection that arrives there.

    Weights are yellow, batch normalizations brown, activations violet.

    Notes: N4.05, N4.18, N4.22 (§4, §4.1, Figs. 26, 28, 29).

    Args:
        block: a name of `BLOCKS`; a layer `SimpleResNetLayer` or a block of `layers`, whose convolutions and shortcut
            are then written into the boxes; or the stages themselves.

    Returns:
        The scene, from left to right; its narrow form leads downward.

    >>> from lamina.drawing.parts import named
    >>> named(residual_block("pre-activation"))
    ['y[l-1]', 'BN', 'ReLU', 'Weights', 'BN', 'ReLU', 'Weights', '+', 'y[l]']
    """
    if isinstance(block, str):
        choice("block", block, tuple(BLOCKS))
        name, block = f"Residual block, {block}", BLOCKS[block]
    else:
        name = f"{type(block).__name__}"
        block = block if isinstance(block, Block) else _read_block(block)
    board = Board()
    spots = _chain(board, block.stages)
    for start, end in itertools.pairwise(spots):
        board.link(start, end)
    place = [stage.kind for stage in block.stages].index("sum") + 1
    _skip(board, spots, block, spots[place])
    words = ", ".join(stage.label for stage in block.stages)
    scene = board.scene(name.replace("Residual block, residual-layer", "Residual layer"), f"In order: {words}.")
    return (
        replace(scene, narrower=partial(_downward, block, scene.title, scene.description))
        if scene.width > FROM
        else scene
    )


def _chain(board: Board, stages: Sequence[Stage]) -> list[Spot]:
    """Put the input, the stages and the output next to each other."""
    spots = [board.node((0, 0), r"$y^{[\ell-1]}$", "hidden", name="y[l-1]", radius=21, size=11.5)]
    x = 21 + GAP
    for stage in stages:
        if stage.kind == "sum":
            spots.append(board.joint((x + 12, 0), "sum", name="+", radius=12))
        else:
            half = _plate_width(stage.label) / 2
            spots.append(board.plate((x + half, 0), stage.label, _ROLES[stage.kind], name=stage.label, high=28))
        x += 2 * spots[-1].half[0] + GAP
    spots.append(board.node((x + 21, 0), r"$y^{[\ell]}$", "hidden", name="y[l]", radius=21, size=11.5))
    return spots


def _skip(board: Board, spots: Sequence[Spot], block: Block, end: Spot) -> None:
    """Draw the skip arrow: a curve for the identity, a path of its own with boxes for a shortcut that computes."""
    title = f"{spots[block.skip_from].name} to +"
    if block.skip_from:
        x = (spots[block.skip_from].right[0] + spots[block.skip_from + 1].left[0]) / 2 - 2
        start = (x, 0.0)
        board.dot(start)
    else:
        start = spots[0].top
    target = (end.center[0], end.top[1] - 1.5)
    if not block.shortcut:
        span = target[0] - start[0]
        height = min(62.0, 20 + 0.12 * span)
        bend = (start[0] + 0.18 * span, start[1] - height), (target[0] - 0.18 * span, target[1] - height - 6)
        board.arrow((start, *bend, target), title=title, curve=True)
        return
    y, widths = -58.0, [_plate_width(stage.label) for stage in block.shortcut]
    x = (start[0] + target[0] - sum(widths) - GAP * (len(widths) - 1)) / 2
    boxes = []
    for stage, wide in zip(block.shortcut, widths, strict=True):
        role = _ROLES.get(stage.kind, "paper")
        boxes.append(board.plate((x + wide / 2, y), stage.label, role, name=f"shortcut {stage.label}", high=28))
        x += wide + GAP
    first, last = boxes[0], boxes[-1]
    board.arrow(
        (start, (start[0], y), (first.left[0] - 1.5, y)), title=f"{spots[block.skip_from].name} to {first.name}"
    )
    for one, two in itertools.pairwise(boxes):
        board.link(one, two)
    board.arrow((last.right, (target[0], y), target), title=f"{last.name} to +")


def _downward(block: Block, title: str, description: str) -> Scene:
    """Draw a block from top to bottom, for a phone: the skip arrow and what lies on it are at the right."""
    board = Board()
    spots = [board.node((0, 0), r"$y^{[\ell-1]}$", "hidden", name="y[l-1]", radius=21, size=11.5)]
    y = 21 + DROP
    for stage in block.stages:
        if stage.kind == "sum":
            spots.append(board.joint((0, y + 12), "sum", name="+", radius=12))
        else:
            spots.append(board.plate((0, y + 14), stage.label, _ROLES[stage.kind], name=stage.label, high=28))
        y += 2 * spots[-1].half[1] + DROP
    spots.append(board.node((0, y + 21), r"$y^{[\ell]}$", "hidden", name="y[l]", radius=21, size=11.5))
    for start, end in itertools.pairwise(spots):
        board.link(start, end)
    place = [stage.kind for stage in block.stages].index("sum") + 1
    first, last = spots[block.skip_from], spots[place]
    leave = first.right
    if block.skip_from:
        leave = (0.0, (first.bottom[1] + spots[block.skip_from + 1].top[1]) / 2 - 2)
        board.dot(leave)
    arrive = (last.right[0] + 1.5, last.center[1])
    widths = [_plate_width(stage.label) for stage in block.shortcut]
    far = max(spot.half[0] for spot in spots) + 20 + max(widths, default=0.0) / 2
    if not widths:
        board.arrow((leave, (far, leave[1]), (far, arrive[1]), arrive), title=f"{first.name} to +")
    else:
        top = (leave[1] + arrive[1] - 28 * len(widths) - DROP * (len(widths) - 1)) / 2
        boxes = [
            board.plate(
                (far, top + 14 + k * (28 + DROP)), stage.label, _ROLES.get(stage.kind, "paper"),
                name=f"shortcut {stage.label}", high=28,
            )
            for k, stage in enumerate(block.shortcut)
        ]  # fmt: skip
        above = (far, boxes[0].top[1] - 1.5)
        board.arrow((leave, (far, leave[1]), above), title=f"{first.name} to {boxes[0].name}")
        for one, two in itertools.pairwise(boxes):
            board.link(one, two)
        board.arrow((boxes[-1].bottom, (far, arrive[1]), arrive), title=f"{boxes[-1].name} to +")
    made = board.scene(title, description)
    free = max(0.0, FROM - made.width)
    return replace(made.moved(free / 2, 0), width=made.width + free)  # as wide as other narrow drawings


def _read_block(block: nn.Module) -> Block:
    """Read the stages and the shortcut of a real layer or block, with the sizes of its maps."""
    if isinstance(block, SimpleResNetLayer):
        return _read_layer(block)
    if not isinstance(block, _READABLE):
        names = ", ".join(kind.__name__ for kind in (SimpleResNetLayer, *_READABLE))
        raise ArgumentError(
            f"`block` must be one of {names}, or a name ({', '.join(BLOCKS)}), got {type(block).__name__}."
        )
    stages: list[Stage] = []
    for name, part in block.named_children():
        if name.startswith("bn"):
            stages += [BN, RELU]
        elif name.startswith("conv") and isinstance(part, nn.Conv2d):
            stages.append(_convolution(part))
    if stages[-1] == RELU:  # the original order: the sum comes before the last rectification
        stages.insert(-1, SUM)
    else:
        stages.append(SUM)
    shortcut, learned = block.downsample, isinstance(block.downsample, nn.Conv2d)
    skip_from = 2 if learned else 0
    if isinstance(shortcut, nn.Sequential) and isinstance(shortcut[0], nn.Conv2d):
        return Block(tuple(stages), (_convolution(shortcut[0]), BN))
    if isinstance(shortcut, nn.Conv2d):
        return Block(tuple(stages), (_convolution(shortcut),), skip_from)
    if isinstance(shortcut, ZeroPadShortcut):
        return Block(tuple(stages), (Stage("other", f"stride {shortcut.stride}, {shortcut.extra} maps of zeros"),))
    return Block(tuple(stages))


def _convolution(part: nn.Conv2d) -> Stage:
    (rows, columns), stride = part.kernel_size, part.stride[0]
    pace = "" if stride == 1 else f", stride {stride}"
    return Stage("weights", rf"${rows} \times {columns}$, {part.out_channels}{pace}")


def _read_layer(layer: SimpleResNetLayer) -> Block:
    inner, outer = layer.affine, layer.outer
    stages = [
        Stage("weights", rf"$W y + b$, ${inner.out_features} \times {inner.in_features}$"),
        Stage("activation", r"activation $\sigma$"),
    ]
    if outer is not None:
        stages.append(Stage("weights", rf"$W_2$, ${outer.out_features} \times {outer.in_features}$"))
    shortcut: tuple[Stage, ...] = ()
    if layer.projection is not None:
        shortcut = (Stage("weights", rf"$P$, ${inner.out_features} \times {inner.in_features}$"),)
    elif layer.padded:
        shortcut = (Stage("other", "pad with zeros, or cut"),)
    return Block((*stages, SUM), shortcut)
