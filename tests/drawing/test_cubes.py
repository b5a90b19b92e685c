"""Tensors with channels: the color picture, its numbers, the neighborhoods of response normalization, the two views."""

import pytest
import torch

from lamina._errors import ArgumentError
from lamina.drawing._collisions import overlaps
from lamina.drawing.cubes import neighborhood, response_norm, response_norms, rgb_convolution, rgb_numbers
from lamina.drawing.parts import edges
from lamina.drawing.scene import Polygon, Rectangle, Text
from lamina.drawing.views import two_views
from lamina.functional.normalization import local_response_norm, local_response_norm_within


def _numbers(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 10, (3, 6, 6), generator=generator), torch.randint(-2, 3, (3, 3, 3), generator=generator)


@pytest.mark.notes("N3.34")
def test_color_picture_kernel_and_result():
    scene = rgb_convolution(place=(2, 3))
    cells = [s for s in scene.shapes if isinstance(s, Rectangle)]

    def count(word):
        return sum(s.title.startswith(word) for s in cells)

    assert [count(f"picture {c}") for c in "RGB"] == [36, 36, 36]
    assert [count(f"kernel {c}") for c in "RGB"] == [9, 9, 9]
    assert count("result") == 16
    marked = {s.title for s in cells if s.title.startswith("picture G") and s.fill == "input!48"}
    assert marked == {f"picture G ({i},{j})" for i in (2, 3, 4) for j in (3, 4, 5)}
    assert [s.title for s in cells if s.fill == "pooling!35"] == ["result (2,3)"]


@pytest.mark.notes("N3.34")
@pytest.mark.parametrize("flip", [True, False])
def test_color_picture_with_numbers_is_the_convolution_of_torch(flip):
    picture, kernel = _numbers()
    laid = kernel.flip(-1, -2) if flip else kernel
    expected = torch.conv2d(picture[None].double(), laid[None].double())[0, 0]
    scene = rgb_numbers(picture.tolist(), kernel.tolist(), place=(3, 2), flip=flip)
    assert scene.description.endswith(f"= {expected[2, 1]:g}.")
    assert _written(scene, "result") == expected.int().tolist()
    assert _written(scene, "K G") == laid[1].tolist()
    terms = scene.description.split(": ")[1].split(" = ")[0].split(" + ")
    assert sum(map(float, terms)) == expected[2, 1]
    assert [pair for pair in edges(scene) if pair[1] == "+"] == [(f"part {c}", "+") for c in "RGB"]


def _written(scene, name):
    """Read the numbers of a grid back, row by row."""
    cells = [s for s in scene.shapes if isinstance(s, Rectangle) and s.title.startswith(name)]
    texts = {tuple(round(v, 3) for v in s.at): s.content for s in scene.shapes if isinstance(s, Text)}

    def value(c):
        return int(texts[tuple(round(c.corner[a] + c.size[a] / 2, 3) for a in (0, 1))].replace("−", "-"))

    size = int(len(cells) ** 0.5)
    return [[value(c) for c in cells[row * size : (row + 1) * size]] for row in range(size)]


@pytest.mark.notes("N3.53")
@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("position", [(1, 1, 1), (1, 1, 2), (1, 2, 1), (2, 2, 3), (4, 4, 4)])
def test_neighbors_are_those_that_the_formula_reads(position, n, within):
    """The derivative of one normalized activity is nonzero exactly at its neighborhood."""
    norm = local_response_norm_within if within else local_response_norm
    values = torch.rand(4, 4, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).add(0.1)
    values.requires_grad_()
    i, j, k = (p - 1 for p in position)
    out = norm(values[None], n, kappa=1.0, gamma=1.0, beta=0.75)[0, k, i, j]
    (gradient,) = torch.autograd.grad(out, values)
    support = {(row + 1, column + 1, c + 1) for c, row, column in gradient.nonzero().tolist()}
    assert neighborhood(position, (4, 4, 4), n, within=within) == support


@pytest.mark.notes("N3.53")
def test_highlighted_cells_of_figure_25():
    def colored(scene, fill):
        return {s.title for s in scene.shapes if isinstance(s, Polygon) and s.fill == fill}

    across = response_norm((1, 1, 2))
    assert colored(across, "output!80") == {"Y(1,1,2)"}
    assert colored(across, "pooling!70") == {"Y(1,1,1)", "Y(1,1,3)"}  # 3 channels for n = 2
    patch = response_norm((2, 2, 1), kind="pixels")
    assert len(colored(patch, "pooling!70")) == 8  # a 3 x 3 patch for n = 2
    assert all(title.endswith(",1)") for title in colored(patch, "pooling!70"))
    words = [s.content for s in response_norms().shapes if isinstance(s, Text)]
    assert {"$Y_{1,1,1}$", "$Y_{1,1,2}$", "$Y_{1,2,1}$"} <= set(words)


@pytest.mark.parametrize(
    "scene",
    [
        rgb_convolution(),
        rgb_convolution(8, 5, place=(4, 4)),
        rgb_numbers(*(x.tolist() for x in _numbers())),
        rgb_numbers(*(x.tolist() for x in _numbers()), flip=False),
        response_norms(),
        response_norms(4),
        two_views(),
    ],
)
def test_nothing_overlaps(scene):
    assert overlaps(scene, lines=True) == []


def test_refusals():
    with pytest.raises(ArgumentError, match="`picture` and `kernel` must have 3 channels, got 1 and 3"):
        rgb_numbers([[[1]]], [[[1]]] * 3)
    with pytest.raises(ArgumentError, match=r"`place \(row\)` must be in \[1, 4\], got 5"):
        rgb_convolution(place=(5, 1))
    with pytest.raises(ArgumentError, match=r"`position \(channel\)` must be in \[1, 4\], got 5"):
        neighborhood((1, 1, 5), (4, 4, 4))
    with pytest.raises(ArgumentError, match="`kind` must be one of 'channels', 'pixels', got 'batch'"):
        response_norm((1, 1, 1), kind="batch")


@pytest.mark.parametrize("scene", [rgb_convolution(), rgb_numbers([[[1.0] * 4] * 4] * 3, [[[1.0] * 2] * 2] * 3)])
def test_on_a_phone_sheets_and_numbers_are_closer(scene):
    slim = scene.narrower()
    assert slim.width < 448 < scene.width and overlaps(slim) == [] and slim.narrower is None
    words = [sorted(shape.content for shape in each.shapes if isinstance(shape, Text)) for each in (scene, slim)]
    assert words[0] == words[1] and slim.description == scene.description
