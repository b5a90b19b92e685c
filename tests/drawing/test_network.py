import math
from itertools import pairwise

import pytest
import torch
from torch import nn

import lamina
from lamina._errors import ArgumentError
from lamina.drawing._collisions import overlaps
from lamina.drawing.network import CLOSE, RADIUS, network, network_of
from lamina.drawing.scene import Circle, Path, Text


def nodes(scene):
    return [shape for shape in scene.shapes if isinstance(shape, Circle)]


def arrows(scene):
    return [shape for shape in scene.shapes if isinstance(shape, Path) and not shape.curve]


def words(scene):
    return [shape.content for shape in scene.shapes if isinstance(shape, Text)]


def parameters(widths):
    return sum((a + 1) * b for a, b in pairwise(widths))


@pytest.mark.notes("N1.03", "N1.72", "N2.08", "N2.13")
@pytest.mark.parametrize(
    ("widths", "count", "lines", "numbers"),
    [((3, 1), 4, 3, 4), ((2, 1), 3, 2, 3), ((2, 2, 1), 5, 6, 9), ((3, 5, 5, 5, 1), 19, 70, 86)],
)
def test_the_networks_of_the_notes_have_their_nodes_and_arrows(widths, count, lines, numbers):
    scene = network(widths)
    assert (len(nodes(scene)), len(arrows(scene)), parameters(widths)) == (count, lines, numbers)
    assert f"{lines} arrows, {numbers} parameters" in scene.description
    assert {"input", "output"} <= set(words(scene))
    assert ("hidden layers" in words(scene)) == (len(widths) > 3)
    assert overlaps(scene) == []
    labels = [f"$y_{{{i + 1}}}^{{[{layer}]}}$" for layer, width in enumerate(widths) for i in range(width)]
    assert [word for word in words(scene) if word.startswith("$y")] == labels
    fills = [node.fill.split("!")[0] for node in nodes(scene)]
    assert fills == ["input"] * widths[0] + ["hidden"] * sum(widths[1:-1]) + ["output"] * widths[-1]


def test_every_arrow_joins_the_borders_of_two_nodes():
    scene = network((3, 5, 1))
    centers = [node.center for node in nodes(scene)]
    for arrow in arrows(scene):
        start, end = arrow.points
        for point in (start, end):
            assert min(math.dist(point, center) for center in centers) == pytest.approx(RADIUS + 1.5)
        assert start[0] < end[0]
        assert arrow.arrow == "end"


@pytest.mark.notes("N2.59")
def test_dots_stand_for_the_nodes_that_are_left_out():
    scene = network((784, None, None, None, 10), drawn=(5, 4, 3, 2, 2))
    assert len(nodes(scene)) == 16
    assert len(arrows(scene)) == 5 * 4 + 4 * 3 + 3 * 2 + 2 * 2
    assert words(scene).count(r"$\vdots$") == 5
    for layer in range(5):
        assert f"$y_{{n_{{{layer}}}}}^{{[{layer}]}}$" in words(scene)
    assert {"$n_0 = 784$", "$n_4 = 10$"} <= set(words(scene))
    assert "$n_1" not in " ".join(words(scene))
    columns = sorted({node.center[0] for node in nodes(scene)})
    assert [sum(node.center[0] == x for node in nodes(scene)) for x in columns] == [5, 4, 3, 2, 2]
    assert overlaps(scene) == []


@pytest.mark.notes("N2.66")
def test_the_chain_names_its_weights_and_ends_at_the_loss():
    scene = network((1, 1, 1, 1), weight_names=True, loss=True)
    assert (len(nodes(scene)), len(arrows(scene))) == (4, 4)
    assert [w for w in words(scene) if "W" in w] == ["$W^{[0]}$", "$W^{[1]}$", "$W^{[2]}$"]
    assert r"$\mathscr{L}$" in words(scene)
    assert [w for w in words(scene) if "y" in w and "$" in w] == [f"$y^{{[{layer}]}}$" for layer in range(4)]
    last = max(nodes(scene), key=lambda node: node.center[0])
    assert arrows(scene)[-1].points[1][0] > last.center[0] + RADIUS
    assert overlaps(scene, lines=True) == []


@pytest.mark.notes("N4.07")
def test_skip_connections_are_curved_arrows_over_each_layer():
    plain, residual = (network((1, 1, 1, 1), weight_names=True, loss=True, skip=skip) for skip in (False, True))
    curves = [shape for shape in residual.shapes if isinstance(shape, Path) and shape.curve]
    assert len(curves) == 3
    assert not any(isinstance(shape, Path) and shape.curve for shape in plain.shapes)
    assert len(arrows(residual)) == len(arrows(plain))
    centers = sorted(node.center for node in nodes(residual))
    for curve, (before, after) in zip(curves, pairwise(centers), strict=True):
        assert math.dist(curve.points[0], before) == pytest.approx(RADIUS + 1.5)
        assert math.dist(curve.points[-1], after) == pytest.approx(RADIUS + 1.5)
        assert curve.points[1][1] < before[1] - RADIUS
    assert overlaps(residual, lines=True) == []


def test_skip_connections_can_be_chosen_and_need_a_projection_between_widths():
    scene = network((2, 3, 3, 1), skip=(True, True, False))
    curves = [shape for shape in scene.shapes if isinstance(shape, Path) and shape.curve]
    assert len(curves) == 1 + 3  # one with P from 2 to 3 nodes, then node by node
    assert words(scene).count("$P$") == 1


def test_weights_color_the_arrows():
    scene = network((2, 1), weights=[[[-2.0, 0.5]]])
    weak, strong = arrows(scene)  # strong ones are painted last
    assert (weak.stroke.color, strong.stroke.color) == ("positive", "negative")
    assert strong.stroke.width == pytest.approx(2.8)
    assert weak.stroke.width == pytest.approx(0.5 + 2.3 / 4, abs=0.01)
    assert strong.title == "W[0] 1,1: -2"
    assert weak.title == "W[0] 1,2: 0.5"
    zero = arrows(network((1, 1), weights=[[[0.0]]]))[0]
    assert zero.stroke.color == "muted"


def test_a_model_is_drawn_with_its_own_weights():
    model = lamina.build("fnn", inputs=12, outputs=2, hidden=(3,), seed=1)
    scene = network_of(model, most=4)
    weight = model.weights[0]
    titles = {arrow.title for arrow in arrows(scene)}
    assert f"W[0] 3,12: {weight[2, 11].item():.4g}" in titles  # the last input is drawn, the fifth is not
    assert not any(title.startswith("W[0] 1,5:") for title in titles)
    assert len(arrows(scene)) == 4 * 3 + 3 * 2
    assert scene.title == "Network 12-3-2"
    assert {arrow.stroke.color for arrow in arrows(network_of(model, weights=False))} == {"arrow"}


def test_perceptrons_residual_networks_and_plain_linear_layers_are_dense():
    assert network_of(lamina.build("perceptron")).title == "Network 3-1"
    residual = network_of(lamina.build("dense-resnet", inputs=2, outputs=1, hidden=(2, 2)))
    assert residual.title == "Network 2-2-2-1"
    assert sum(isinstance(shape, Path) and shape.curve for shape in residual.shapes) == 4
    plain = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))
    assert network_of(plain).title == "Network 2-4-1"
    wider = network_of(lamina.build("dense-resnet", inputs=2, outputs=1, hidden=(4, 4)))
    assert wider.description == "Layers of 2, 4, 4 and 1 nodes, 28 arrows, 45 parameters."  # 8 of them are P's


@pytest.mark.parametrize(
    ("options", "widths", "count"),
    [
        ({}, "2, 2 and 1", 6 + 3),
        ({"width": 3}, "2, 3, 3 and 1", 6 + 12 + 4),
        ({"width": 3, "projection": "zero-pad", "knots": 2}, "2, 3, 3 and 1", 2 * 12 + 4),
    ],
)
def test_a_neural_ode_is_drawn_as_one_step_of_it(options, widths, count):
    model = lamina.build("neural-ode", inputs=2, outputs=1, **options)
    scene = network_of(model)
    assert scene.description.startswith(f"Layers of {widths} nodes, ")
    assert scene.description.endswith(f" arrows, {count} parameters.")
    state = model.config.widths[1]
    assert len([arrow for arrow in scene.shapes if getattr(arrow, "title", "") == "skip"]) == state
    place = 0 if not options else 1
    shown = {arrow.title for arrow in scene.shapes if getattr(arrow, "title", "").startswith(f"W[{place}]")}
    assert f"W[{place}] 1,2: {model.weight[0, 0, 1].item():.4g}" in shown and len(shown) == state**2


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: network((3,)), r"`widths` must name at least 2 layers, input and output, got \(3,\)"),
        (lambda: network((3, 0)), "`widths` must be at least 1, got 0"),
        (lambda: network((3, 1), most=1), "`most` must be at least 2, got 1"),
        (lambda: network((3, 1), drawn=(3,)), "`drawn` must be one number for each of the 2 layers, got 1"),
        (lambda: network((3, 2), drawn=(4, 2)), "`drawn` must be at least 2 and at most the width 3, got 4"),
        (lambda: network((3, 1), weights=[]), "`weights` must be 1 matrices, one between layers, got 0"),
        (
            lambda: network((3, 1), weights=[[[1.0]]]),
            r"`weights\[0\]` must have the shape \(1, 3\) of its layers, got \(1, 1\)",
        ),
        (
            lambda: network((1, 1), weights=[[[math.nan]]]),
            r"`weights\[0\]` must be finite numbers, got nan at \(0, 0\)",
        ),
        (lambda: network((1, 1), skip=(True, True)), "`skip` must be one truth value for each of the 1 steps"),
        (lambda: network_of(nn.ReLU()), "got ReLU: it has no dense layer"),
        (lambda: network_of(nn.Conv2d(1, 1, 3)), "it has a layer Conv2d. Draw it as a stack of layers instead"),
        (
            lambda: network_of(nn.Sequential(nn.Linear(2, 3), nn.Linear(4, 1))),
            "a layer with 3 outputs is followed by 4",
        ),
    ],
)
def test_what_is_no_network_is_refused(make, sentence):
    torch.manual_seed(0)
    with pytest.raises(ArgumentError, match=sentence):
        make()


def test_names_stand_beside_inputs_and_outputs():
    scene = network((2, 3, 2), names=(("width, $", "a name that is longer than twenty-four"), ("yes", "no")))
    found = {text.title: text for text in scene.shapes if isinstance(text, Text) and text.title}
    assert [(text.content, text.anchor) for text in found.values()] == [
        (r"width, \$", "end"), ("a name that is longer t…", "end"), ("yes", "start"), ("no", "start"),
    ]  # fmt: skip
    circles = [shape for shape in scene.shapes if isinstance(shape, Circle)]
    assert found["yes"].at[1] == circles[5].center[1] and found["yes"].at[0] > circles[5].center[0] + circles[5].radius
    assert found["width, $"].at[0] < circles[0].center[0] - circles[0].radius
    with pytest.raises(ArgumentError, match="`names` must be one for each of the 2 inputs, got 1"):
        network((2, 1), names=(("a",), ()))


def test_of_a_model_only_names_that_fit_are_written():
    net = lamina.build("fnn", inputs=2, outputs=1, hidden=(2,))
    words = [
        text.content for text in network_of(net, names=(("a", "b", "c"), ("price",))).shapes if isinstance(text, Text)
    ]
    assert "price" in words and "a" not in words


@pytest.mark.parametrize("widths", [(3, 5, 5, 5, 1), (784, 64, 32, 10), (1, 1, 1, 1, 1), (4, 4, 4, 4, 2, 1)])
@pytest.mark.parametrize("loss", [False, True])
def test_layers_are_closer_on_a_phone(widths, loss):
    scene = network(widths, loss=loss)
    slim = scene.narrower()
    least = network(widths, loss=loss, column=CLOSE).width
    assert slim.width == pytest.approx(max(300, least)) and slim.width < 0.9 * scene.width
    assert overlaps(slim) == [] and slim.height == scene.height
    count = lambda drawn: sorted(type(shape).__name__ for shape in drawn.shapes)  # noqa: E731
    assert count(slim) == count(scene) and slim.description == scene.description
    assert network((2, 2, 1)).narrower is None
