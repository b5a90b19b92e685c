"""The networks of the notes as stacks."""

import pytest

import lamina
from lamina.drawing._collisions import overlaps
from lamina.drawing._layers import Stage
from lamina.drawing._model_layers import layers_of
from lamina.drawing.famous import alexnet, lenet5, resnet18
from lamina.drawing.scene import Path, Rectangle, Text
from lamina.drawing.stack import stack_of


def titles(scene, kind):
    """List the solid fronts or boxes of a kind, by what their tooltips say."""
    return [s.title for s in scene.shapes if isinstance(s, Rectangle) and s.title.startswith(kind)]


def fills(scene, kind):
    return {s.fill.split("!")[0] for s in scene.shapes if isinstance(s, Rectangle) and s.title.startswith(kind)}


def words(scene):
    return [s.content for s in scene.shapes if isinstance(s, Text)]


@pytest.mark.notes("N3.06")
def test_lenet_has_its_shapes_and_colors():
    scene = lenet5()
    assert titles(scene, "convolution") == ["convolution 6×28×28", "convolution 16×10×10"]
    assert titles(scene, "pooling") == ["pooling 6×14×14", "pooling 16×5×5"]
    assert titles(scene, "fully connected") == [f"fully connected {n}" for n in (120, 84, 10)]
    assert titles(scene, "input") == ["input 1×28×28"]
    colors = {kind: fills(scene, kind) for kind in ("convolution", "detector", "pooling", "fully")}
    assert colors == {
        "convolution": {"weights"}, "detector": {"activation"}, "pooling": {"pooling"}, "fully": {"dense"},
    }  # fmt: skip
    assert {"convolution", "detector", "pooling", "fully connected"} <= set(words(scene))  # the legend
    assert overlaps(scene, lines=True) == []


@pytest.mark.notes("N3.49")
def test_alexnet_has_the_shapes_of_the_notes():
    text = alexnet().description
    shapes = [part.rsplit(" ", 1)[1] for part in text.rstrip(".").split(", ")]
    assert shapes == [
        "3×227×227", "96×55×55", "96×27×27", "256×27×27", "256×13×13", "384×13×13", "384×13×13", "256×13×13",
        "256×6×6", "4096", "4096", "1000",
    ]  # fmt: skip
    assert len(titles(alexnet(), "LRN")) == 2


@pytest.mark.notes("N4.30")
def test_resnet18_has_its_stages_and_skip_connections():
    scene = resnet18()
    assert [w for w in words(scene) if w in "ABCDE"] == list("ABCDE")
    shown = [w for w in words(scene) if w in ("64", "56×56", "128", "28×28", "256", "14×14", "512", "7×7", "1000")]
    assert shown == ["64", "56×56", "64", "56×56", "128", "28×28", "256", "14×14", "512", "7×7", "512", "1000"]
    assert len(titles(scene, "convolution")) == 17  # with the dense layer the 18 of its name
    skips = [s for s in scene.shapes if isinstance(s, Path) and s.title == "skip connection"]
    assert len(skips) == 8
    assert overlaps(scene, lines=True) == []


@pytest.mark.notes("N4.30")
@pytest.mark.parametrize("style", ["blocks", "boxes"])
def test_skip_connections_of_resnet18_end_between_the_second_normalization_and_its_relu(style):
    scene = resnet18(style)
    fronts = [s for s in scene.shapes if isinstance(s, Rectangle) and s.title.startswith(("normal", "relu"))]
    norms, relus = fronts[0::2][2::2], fronts[1::2][2::2]  # without those of stage A, the second of each block
    skips = [s for s in scene.shapes if isinstance(s, Path) and s.title == "skip connection"]
    assert len(norms) == len(relus) == len(skips) == 8
    for norm, relu, skip in zip(norms, relus, skips, strict=True):
        x, y = skip.points[-1]
        if style == "blocks":  # the tip touches the edge between both lids, which rises to the right by 45 degrees
            assert x - relu.corner[0] == pytest.approx(relu.corner[1] - y)
        else:
            assert norm.corner[0] + norm.size[0] < x < relu.corner[0]


@pytest.mark.parametrize("style", ["blocks", "boxes"])
@pytest.mark.parametrize("make", [lenet5, alexnet, resnet18])
def test_texts_keep_clear_in_both_styles(make, style):
    assert overlaps(make(style), lines=True) == []


@pytest.mark.notes("N3.06")
def test_the_drawn_lenet_is_the_model():
    model = lamina.build("lenet5")
    assert stack_of(model, (1, 28, 28)).description == lenet5().description


@pytest.mark.slow
@pytest.mark.notes("N3.49", "N4.30")
def test_the_drawn_alexnet_and_resnet_are_the_models():
    assert stack_of(lamina.build("alexnet"), (3, 227, 227)).description == alexnet().description
    items = layers_of(lamina.build("resnet18"), (3, 224, 224))
    stages = [item for item in items if isinstance(item, Stage)]
    assert [(stage.layers[-1].shape, len(stage.layers)) for stage in stages] == [
        ((64, 56, 56), 2), ((128, 28, 28), 2), ((256, 14, 14), 2), ((512, 7, 7), 2),
    ]  # fmt: skip


def test_skip_connections_of_resnet18_start_at_the_arrow_or_behind_the_relu_before_and_three_are_projected():
    scene = resnet18()
    skips = [s for s in scene.shapes if isinstance(s, Path) and s.title == "skip connection"]
    arrows = [s for s in scene.shapes if isinstance(s, Path) and s.arrow == "end" and not s.curve]
    relus = [s for s in scene.shapes if isinstance(s, Rectangle) and s.title.startswith("relu")][
        1:
    ]  # without that of A
    for number, skip in enumerate(skips):
        (x, y), stage = skip.points[0], number // 2
        if number % 2:  # the second block starts with what the relu of the first gave
            relu = relus[4 * stage + 1]
            assert relu.corner[0] + relu.size[0] < x < relus[4 * stage + 2].corner[0]
        else:  # the first one where the arrow of the row arrives, at its height
            assert any(abs(arrow.points[-1][1] - y) < 1e-6 for arrow in arrows)
            assert x < relus[4 * stage].corner[0]
    boxes = [s for s in scene.shapes if isinstance(s, Rectangle) and s.title.startswith("1×1 convolution")]
    assert len(boxes) == 3
    for box, skip in zip(boxes, skips[2::2], strict=True):
        assert skip.points[0][0] < box.corner[0] < skip.points[-1][0]
