r"""Networks as nodes and arrows, in the look of the notes: green inputs, blue hidden nodes, red outputs.

`network` draws plain widths, `network_of` a model of dense layers with its weights in the color of the arrows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from lamina._errors import ArgumentError, at_least
from lamina.drawing.scene import FROM, NARROW, Anchor, Circle, Path, Point, Scene, Shape, Stroke, Text, box, fitted

if TYPE_CHECKING:
    from torch import Tensor, nn

Matrix = Sequence[Sequence[float]]
Names = tuple[Sequence[str], Sequence[str]]
"""Words for the nodes of the first layer and of the last one."""
RADIUS = 17.0
COLUMN, ROW, CLOSE = 104.0, 46.0, 56.0
"""The distances of layers and of nodes, and the least distance of layers on a phone."""
LABEL, CAPTION = 13.0, 13.0
LONGEST = 24
"""A longer name beside a node is cut."""
CLEAR = 1.5
"""An arrow keeps this distance from the nodes."""


@dataclass(frozen=True)
class _Layer:
    """The drawn nodes of one layer: their places, the index of each, and where the dots stand."""

    number: int
    role: str
    nodes: tuple[Point, ...]
    indices: tuple[int, ...]
    dots: Point | None
    width: int | None

    @property
    def x(self) -> float:
        return self.nodes[0][0]

    @property
    def top(self) -> float:
        return self.nodes[0][1] - RADIUS

    @property
    def bottom(self) -> float:
        return self.nodes[-1][1] + RADIUS


def network(
    widths: Sequence[int | None],
    *,
    most: int = 8,
    drawn: Sequence[int] | None = None,
    labels: bool = True,
    captions: bool = True,
    weights: Sequence[Matrix] | None = None,
    skip: bool | Sequence[bool] = False,
    weight_names: bool = False,
    loss: bool = False,
    names: Names = ((), ()),
    title: str = "",
    column: float = COLUMN,
) -> Scene:
    r"""Draw a network as nodes and arrows.

    A layer with more nodes than are drawn shows its first ones, vertical dots, and its last one with the index $n_l$.

    Notes: N1.03, N1.72, N2.08, N2.13, N2.59, N2.66, N4.07 (§1, §1.6, §2, §2.4, §2.5, §4, Figs. 2 to 27).

    Args:
        widths: the number of nodes of each layer, the input first; None for a width that is left open.
        most: how many nodes of a layer are drawn at most.
        drawn: how many nodes of each layer are drawn, instead of `most`.
        labels: whether the nodes carry $y_i^{[l]}$.
        captions: whether the layers carry their names.
        weights: the matrices $W^{[0]}, W^{[1]}, \ldots$, a row for each node that an arrow enters; they color the
            arrows, blue for negative and red for positive numbers, and set their widths.
        skip: whether each layer (or which of them) also adds what came in: curved arrows.
        weight_names: whether $W^{[l]}$ is written below the arrows.
        loss: whether the output leads to the loss.
        names: words beside the inputs and beside the outputs, such as features and classes; () for none.
        title: the title; None names the widths.
        column: the distance of the layers; on a phone it is less, where they need it.

    >>> scene = network((3, 5, 5, 5, 1))
    >>> scene.title, scene.description
    ('Network 3-5-5-5-1', 'Layers of 3, 5, 5, 5 and 1 nodes, 70 arrows, 86 parameters.')
    """
    given = locals().copy()
    layers = _placed(_checked(widths), _counts(widths, drawn, most), column)
    skips = _skips(skip, len(layers) - 1)
    shapes: list[Shape] = []
    for place, (before, after) in enumerate(pairwise(layers)):
        shapes.extend(_arrows(before, after, _matrix(weights, place, widths)))
    for place, (before, after) in enumerate(pairwise(layers)):
        if skips[place]:
            shapes.extend(_skip(before, after))
    if weight_names:
        shapes.extend(_weight_name(before, after) for before, after in pairwise(layers))
    shapes.extend(_loss(layers[-1], column) if loss else ())
    shapes.extend(shape for layer in layers for shape in _nodes(layer, labels, alone=_alone(widths)))
    shapes.extend([*_beside(layers[0], names[0], "end"), *_beside(layers[-1], names[1], "start")])
    if captions:
        shapes.extend(_captions(layers, skips, min(box(shape)[1] for shape in shapes)))
    name = "-".join("n" if width is None else str(width) for width in widths)
    scene = fitted(shapes, title=title or f"Network {name}", description=_described(widths), margin=6)
    if scene.width <= FROM or column <= CLOSE:
        return scene
    closer = max(CLOSE, column - (scene.width - NARROW) / (len(widths) - 1 + 0.75 * loss))
    return replace(scene, narrower=partial(network, **{**given, "column": closer}))


def _checked(widths: Sequence[int | None]) -> tuple[int | None, ...]:
    if len(widths) < 2:
        raise ArgumentError(f"`widths` must name at least 2 layers, input and output, got {tuple(widths)}.")
    for width in widths:
        if width is not None:
            at_least("widths", width, 1)
    return tuple(widths)


def _counts(widths: Sequence[int | None], drawn: Sequence[int] | None, most: int) -> tuple[int, ...]:
    """Decide how many nodes of each layer are drawn."""
    at_least("most", most, 2)
    if drawn is None:
        return tuple(most if width is None else min(width, most) for width in widths)
    if len(drawn) != len(widths):
        raise ArgumentError(f"`drawn` must be one number for each of the {len(widths)} layers, got {len(drawn)}.")
    for width, count in zip(widths, drawn, strict=True):
        low = 1 if width == 1 else 2
        if not low <= count <= (math.inf if width is None else width):
            bound = "" if width is None else f" and at most the width {width}"
            raise ArgumentError(f"`drawn` must be at least {low}{bound}, got {count}: dots need a node on both sides.")
    return tuple(drawn)


def _placed(widths: Sequence[int | None], counts: Sequence[int], column: float) -> list[_Layer]:
    found = []
    for number, (width, count) in enumerate(zip(widths, counts, strict=True)):
        gap = count != width
        ys = [place * ROW + (0.55 * ROW if gap and place == count - 1 else 0.0) for place in range(count)]
        middle = ys[-1] / 2
        nodes = tuple((number * column, y - middle) for y in ys)
        dots = (number * column, (nodes[-2][1] + nodes[-1][1]) / 2) if gap else None
        last = -1 if width is None else width - 1
        indices = (*range(count - 1), last) if gap else tuple(range(count))
        role = "input" if number == 0 else "output" if number == len(widths) - 1 else "hidden"
        found.append(_Layer(number, role, nodes, indices, dots, width))
    return found


def _alone(widths: Sequence[int | None]) -> bool:
    """Say whether every layer has one node: a chain, whose nodes need no index."""
    return all(width == 1 for width in widths)


def _nodes(layer: _Layer, labels: bool, alone: bool) -> list[Shape]:
    shapes: list[Shape] = []
    edge = Stroke(f"{layer.role}!45!ink", 1.5)
    for place, (node, index) in enumerate(zip(layer.nodes, layer.indices, strict=True)):
        last = layer.dots is not None and place == len(layer.nodes) - 1
        name = f"n_{{{layer.number}}}" if last else str(index + 1)
        below = "" if alone else f"_{{{name}}}"
        shapes.append(Circle(node, RADIUS, f"{layer.role}!22", edge))
        if labels:
            shapes.append(Text(node, f"$y{below}^{{[{layer.number}]}}$", LABEL, anchor="middle"))
    if layer.dots:
        shapes.append(Text(layer.dots, r"$\vdots$", 20.0, anchor="middle"))
        if layer.width is not None:
            under = (layer.x, layer.bottom + 14)
            shapes.append(Text(under, f"$n_{layer.number} = {layer.width}$", 12.0, f"{layer.role}!60!ink", "middle"))
    return shapes


def _beside(layer: _Layer, names: Sequence[str], side: Anchor) -> list[Shape]:
    """Write names beside the drawn nodes of the first layer, on its left, or of the last one, on its right."""
    if names and len(names) != layer.width:
        raise ArgumentError(f"`names` must be one for each of the {layer.width} {layer.role}s, got {len(names)}.")
    away = (RADIUS + 7) * (-1 if side == "end" else 1)
    return [
        Text((x + away, y), _short(names[index]), LABEL, f"{layer.role}!60!ink", side, title=names[index])
        for (x, y), index in zip(layer.nodes, layer.indices, strict=True)
        if names
    ]


def _short(name: str) -> str:
    words = name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
    return words.replace("$", r"\$")


def _trimmed(start: Point, end: Point) -> tuple[Point, Point]:
    """Cut a line between two nodes at their borders."""
    length = math.dist(start, end)
    ux, uy = (end[0] - start[0]) / length, (end[1] - start[1]) / length
    cut = RADIUS + CLEAR
    return (start[0] + cut * ux, start[1] + cut * uy), (end[0] - cut * ux, end[1] - cut * uy)


def _matrix(weights: Sequence[Matrix] | None, place: int, widths: Sequence[int | None]) -> Matrix | None:
    if weights is None:
        return None
    if len(weights) != len(widths) - 1:
        raise ArgumentError(f"`weights` must be {len(widths) - 1} matrices, one between layers, got {len(weights)}.")
    matrix, shape = weights[place], (widths[place + 1], widths[place])
    found = len(matrix), len(matrix[0]) if len(matrix) else 0
    if found != shape:
        raise ArgumentError(f"`weights[{place}]` must have the shape {shape} of its layers, got {found}.")
    return matrix


def _arrows(before: _Layer, after: _Layer, matrix: Matrix | None) -> list[Shape]:
    """Draw all arrows between two layers, strong weights above weak ones."""
    ends = [
        (j, i, *_trimmed(start, end))
        for i, end in zip(after.indices, after.nodes, strict=True)
        for j, start in zip(before.indices, before.nodes, strict=True)
    ]
    if matrix is None:
        plain = Stroke("arrow", 1.1 if len(ends) <= 12 else 0.9)
        return [Path((start, end), plain, "end") for _, _, start, end in ends]
    largest = max((abs(matrix[i][j]) for j, i, _, _ in ends), default=0.0) or 1.0
    found = []
    for j, i, start, end in sorted(ends, key=lambda item: abs(matrix[item[1]][item[0]])):
        value = matrix[i][j]
        if not math.isfinite(value):
            raise ArgumentError(f"`weights[{before.number}]` must be finite numbers, got {value} at ({i}, {j}).")
        share = abs(value) / largest
        color = "muted" if value == 0 else "positive" if value > 0 else "negative"
        stroke = Stroke(color, round(0.5 + 2.3 * share, 2), opacity=round(0.3 + 0.7 * share, 2))
        found.append(Path((start, end), stroke, "end", title=f"W[{before.number}] {i + 1},{j + 1}: {value:.4g}"))
    return list(found)


def _skips(skip: bool | Sequence[bool], count: int) -> tuple[bool, ...]:
    if isinstance(skip, bool):
        return (skip,) * count
    if len(skip) != count:
        raise ArgumentError(
            f"`skip` must be one truth value for each of the {count} steps between layers, got {len(skip)}."
        )
    return tuple(skip)


def _skip(before: _Layer, after: _Layer) -> list[Shape]:
    """Draw the arrows of a skip connection: node by node where the widths agree, else one over the top with a P."""
    same = before.indices == after.indices and before.width == after.width
    pairs = list(zip(before.nodes, after.nodes, strict=True)) if same else [(before.nodes[0], after.nodes[0])]
    stroke, shapes = Stroke("accent", 1.3), list[Shape]()
    for (x, y), (u, v) in pairs:
        reach, rise = 0.3 * (u - x), 26.0 if len(pairs) == 1 else 17.0
        turn = math.radians(62)
        dx, dy = (RADIUS + CLEAR) * math.cos(turn), (RADIUS + CLEAR) * math.sin(turn)
        start, end = (x + dx, y - dy), (u - dx, v - dy)
        top = min(start[1], end[1]) - rise
        shapes.append(Path((start, (x + reach, top), (u - reach, top), end), stroke, "end", curve=True, title="skip"))
    if not same:
        x, y = (before.x + after.x) / 2, min(before.nodes[0][1], after.nodes[0][1])
        shapes.append(Text((x, y - 46), "$P$", 12.0, "accent", "middle"))
    return shapes


def _weight_name(before: _Layer, after: _Layer) -> Text:
    x = (before.x + after.x) / 2
    single = len(before.nodes) == len(after.nodes) == 1
    y = before.nodes[0][1] + 15 if single else max(before.bottom, after.bottom) + 12
    return Text((x, y), f"$W^{{[{before.number}]}}$", LABEL, "ink", "middle")


def _loss(last: _Layer, column: float) -> list[Shape]:
    """Lead the output to the loss."""
    end = (last.x + 0.75 * column, 0.0)
    arrows = [Path((_trimmed(node, end)[0], end), Stroke("arrow", 1.1), "end") for node in last.nodes]
    return [*arrows, Text((end[0] + 6, 0.0), r"$\mathscr{L}$", 18.0, "ink", "start")]


def _captions(layers: Sequence[_Layer], skips: Sequence[bool], above: float) -> list[Shape]:
    """Write the names of the layers above their nodes, or above everything where skip arrows start or end."""
    groups = [(layers[:1], skips[:1]), (layers[1:-1], skips), (layers[-1:], skips[-1:])]
    shapes: list[Shape] = []
    for group, touched in groups:
        if group:
            role, x = group[0].role, (group[0].x + group[-1].x) / 2
            bottom = (above if any(touched) else min(layer.top for layer in group)) - 8
            word = "layers" if len(group) > 1 else "layer"
            names = (f"{role} {word}",) if len(group) > 1 else (role, word)
            for place, name in enumerate(reversed(names)):
                shapes.append(Text((x, bottom - 5 - 16 * place), name, CAPTION, f"{role}!60!ink", "middle"))
    return shapes


def _described(widths: Sequence[int | None], parameters: int | None = None) -> str:
    """Count nodes, arrows and parameters; by default those of dense layers with biases."""
    known = [width for width in widths if width is not None]
    words = [str(width) if width is not None else "any number of" for width in widths]
    text = f"Layers of {', '.join(words[:-1])} and {words[-1]} nodes"
    if len(known) < len(widths):
        return text + "."
    arrows = sum(a * b for a, b in pairwise(known))
    count = arrows + sum(known[1:]) if parameters is None else parameters
    return f"{text}, {arrows:,} arrows, {count:,} parameters."


def network_of(
    model: "nn.Module", *, most: int = 8, weights: bool = True, names: Names = ((), ()), title: str = ""
) -> Scene:
    """Draw a model of dense layers: a perceptron, a feedforward network, a dense ResNet, or linear layers in a row.

    Of a Neural ODE one step is drawn, a residual layer with the weights of its first knot.

    Notes: N2.13, N2.59, N4.07 (§2, §2.4, §4).

    Args:
        model: the model.
        most: how many nodes of a layer are drawn at most.
        weights: whether its weights color the arrows, blue for negative and red for positive numbers.
        names: words beside the inputs and the outputs; left out where they are not as many as the nodes.
        title: the title; None names the widths.

    >>> import lamina
    >>> network_of(lamina.build("fnn", inputs=2, outputs=1, hidden=(2,))).title
    'Network 2-2-1'
    """
    matrices, skip = _dense_layers(model)
    widths = (matrices[0].shape[1], *(matrix.shape[0] for matrix in matrices))
    values = [matrix.detach().double().cpu().tolist() for matrix in matrices] if weights else None
    fitting = tuple(
        words if len(words) == count else () for words, count in zip(names, (widths[0], widths[-1]), strict=True)
    )
    scene = network(widths, most=most, weights=values, skip=skip, names=(fitting[0], fitting[1]), title=title)
    return replace(scene, description=_described(widths, sum(p.numel() for p in model.parameters())))


def _dense_layers(model: "nn.Module") -> tuple[list["Tensor"], tuple[bool, ...]]:
    """Find the matrices of a model in their order, and which layers add their input."""
    from torch import nn

    from lamina.architectures.ode import NeuralODE
    from lamina.layers.residual import SimpleResNetLayer

    if isinstance(model, NeuralODE):
        start = model.padding if model.padded else None if model.projection is None else model.projection.weight
        layers = [(start, False), (model.weight[0], True), (model.readout.weight, False)]
        return [w for w, _ in layers if w is not None], tuple(skips for w, skips in layers if w is not None)
    matrices: list[Tensor] = []
    skip: list[bool] = []
    inner: set[nn.Module] = set()
    for module in model.modules():
        if isinstance(module, SimpleResNetLayer):
            matrices.append(module.affine.weight)
            skip.append(True)
            inner.update(module.modules())
        elif isinstance(module, nn.Linear) and module not in inner:
            matrices.append(module.weight)
            skip.append(False)
        elif not (module in inner or list(module.children()) or _keeps_width(module)):
            raise _not_dense(model, f"it has a layer {type(module).__name__}")
    if not matrices:
        raise _not_dense(model, "it has no dense layer")
    for before, after in pairwise(matrices):
        if before.shape[0] != after.shape[1]:
            raise _not_dense(model, f"a layer with {before.shape[0]} outputs is followed by {after.shape[1]} inputs")
    return matrices, tuple(skip)


def _keeps_width(module: "nn.Module") -> bool:
    """Say whether a layer without arrows may stand between dense ones."""
    from torch import nn

    return isinstance(module, nn.BatchNorm1d | nn.LayerNorm) or not any(True for _ in module.parameters())


def _not_dense(model: "nn.Module", why: str) -> ArgumentError:
    return ArgumentError(
        f"`model` must be dense layers in a row to be drawn as nodes and arrows, got {type(model).__name__}: {why}. "
        "Draw it as a stack of layers instead (drawing.stack.stack_of)."
    )
