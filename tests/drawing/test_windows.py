"""Windows of convolutions, one entry with numbers, and receptive fields of nodes."""

import pytest
import torch

from lamina._errors import ArgumentError
from lamina.drawing._collisions import overlaps
from lamina.drawing.grids import put_grid
from lamina.drawing.parts import Board, edges
from lamina.drawing.scene import Circle, Path, Rectangle, Text
from lamina.drawing.windows import CELL, _connections, convolution_entry, convolution_windows, receptive_field_nodes
from lamina.functional.convolution import convolve2d, correlate2d

Y = [[1, 5, -2, 0, 2], [3, 8, 7, 1, 0], [-1, 0, 1, 2, 3], [4, 2, 1, -1, 2]]
K = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]


def _cells(scene, name="pixel"):
    return {s.title: s for s in scene.shapes if isinstance(s, Rectangle) and s.title.startswith(name)}


def _covered(scene):
    """Give for each window its color and the cells that its frame covers."""
    cells, found = _cells(scene), {}
    for s in scene.shapes:
        if isinstance(s, Rectangle) and s.title.startswith("window"):

            def inside(c, s=s):
                return all(s.corner[a] < c.corner[a] + CELL / 2 < s.corner[a] + s.size[a] for a in (0, 1))

            found[s.title] = (s.stroke.color, {t.split()[1] for t, c in cells.items() if inside(c)})
    return found


def _block(top, left):
    return {f"({i},{j})" for i in range(top, top + 3) for j in range(left, left + 3)}


@pytest.mark.notes("N3.24")
def test_windows_of_figure_19():
    scene = convolution_windows()
    assert len(_cells(scene)) == 20
    assert _covered(scene) == {
        "window (1,1)": ("ink", _block(1, 1)),
        "window (1,2)": ("output", _block(1, 2)),
        "window (2,1)": ("input", _block(2, 1)),
    }
    arrows = {s.title: s for s in scene.shapes if isinstance(s, Path)}
    assert {title: s.stroke.color for title, s in arrows.items()} == {"right": "output", "down": "input"}
    (ax, ay), (bx, by) = arrows["right"].points
    assert (bx - ax, by - ay) == (CELL, 0)
    assert "2 x 3 = 6 places" in scene.description


@pytest.mark.notes("N3.28")
def test_windows_of_figure_20_move_by_two():
    scene = convolution_windows(7, 7, stride=2)
    found = {title: cells for title, (_, cells) in _covered(scene).items()}
    assert found == {"window (1,1)": _block(1, 1), "window (1,2)": _block(1, 3), "window (2,1)": _block(3, 1)}
    assert "3 x 3 = 9 places" in scene.description


def test_padding_is_drawn_around_the_numbers():
    scene = convolution_windows(numbers=Y, padding=1)
    cells = _cells(scene)
    assert len(cells) == 42
    assert sum(bool(c.stroke.dash) for c in cells.values()) == 22
    words = [s.content for s in scene.shapes if isinstance(s, Text)]
    assert words.count("0") == 22 + 3
    assert "8" in words
    assert "−2" in words


@pytest.mark.notes("N3.24")
@pytest.mark.parametrize("flip", [True, False])
def test_an_entry_with_its_numbers(flip):
    scene = convolution_entry(Y, K, (2, 1), flip=flip)
    y, k = torch.tensor(Y, dtype=torch.float64), torch.tensor(K, dtype=torch.float64)
    value = int((convolve2d if flip else correlate2d)(y, k)[1, 0])
    assert scene.description.endswith(f"= {value}.")
    marked = {s.title for s in scene.shapes if isinstance(s, Rectangle) and s.fill == "weights!25" and "Y" in s.title}
    assert marked == {f"Y {place}" for place in _block(2, 1)}
    terms = scene.description.split(" is ")[1].split(" = ")[0].replace("−", "-").split(" + ")
    assert sum(int(a) * int(b) for a, b in (term.split("·") for term in terms)) == value


def test_on_a_phone_the_result_stands_on_a_line_of_its_own():
    wide = convolution_entry(Y, K)
    slim = wide.narrower()
    cells = [{s.title: s for s in scene.shapes if isinstance(s, Rectangle) and s.title} for scene in (wide, slim)]
    assert set(cells[0]) == set(cells[1]) and slim.description == wide.description
    assert slim.width < 330 < wide.width
    tops = {name: cells[1][f"{name} (1,1)"].corner[1] for name in ("Y", "K", "result")}
    assert tops["result"] >= tops["Y"] + 4 * 32, "below the last row of Y"
    assert convolution_entry([[1, 2], [3, 4]], [[1]]).narrower is None, "a small one fits as it is"


def test_the_first_entry_of_example_3_6():
    assert convolution_entry(Y, K).description.endswith("= 119.")


@pytest.mark.notes("N3.37")
@pytest.mark.parametrize("node", [1, 3, 5])
def test_colored_nodes_are_those_that_autograd_finds(node):
    scene = receptive_field_nodes(node=node)
    colored = {s.title for s in scene.shapes if isinstance(s, Circle) and s.fill.startswith("pooling")}
    y0 = torch.randn(1, 1, 5, dtype=torch.float64, requires_grad=True, generator=torch.Generator().manual_seed(0))
    kernel = torch.ones(1, 1, 3, dtype=torch.float64)
    y1 = torch.conv1d(y0, kernel, padding=1)
    y2 = torch.conv1d(y1, kernel, padding=1)
    grads = torch.autograd.grad(y2[0, 0, node - 1], (y0, y1, y2), allow_unused=True)
    support = {f"y[{layer}]{k + 1}" for layer, g in enumerate(grads[:2]) for k in range(5) if g[0, 0, k] != 0}
    assert colored == support | {f"y[2]{node}"}


@pytest.mark.notes("N3.37")
def test_figure_22():
    scene = receptive_field_nodes()
    colored = [s.title for s in scene.shapes if isinstance(s, Circle) and s.fill.startswith("pooling")]
    assert colored == ["y[0]1", "y[0]2", "y[0]3", "y[0]4", "y[0]5", "y[1]2", "y[1]3", "y[1]4", "y[2]3"]
    assert len(edges(scene)) == 26
    assert len(_connections(5, 3, padding=1)) == 13


@pytest.mark.parametrize(("size", "m", "s", "p"), [(5, 3, 1, 1), (8, 3, 2, 0), (7, 2, 2, 1), (6, 5, 1, 2)])
def test_connections_are_the_nonzero_derivatives(size, m, s, p):
    kernel = torch.ones(1, 1, m, dtype=torch.float64)

    def layer(u):
        return torch.conv1d(u[None, None], kernel, stride=s, padding=p)[0, 0]

    support = torch.autograd.functional.jacobian(layer, torch.zeros(size, dtype=torch.float64)) != 0
    assert _connections(size, m, s, p) == [(i + 1, j + 1) for j, i in support.nonzero().tolist()]


@pytest.mark.parametrize(
    "scene",
    [
        convolution_windows(),
        convolution_windows(7, 7, stride=2),
        convolution_windows(numbers=Y, padding=1),
        convolution_entry(Y, K),
        convolution_entry(Y, K, (4, 5), padding=1, flip=False),
        receptive_field_nodes(),
        receptive_field_nodes(9, (3, 3, 3), strides=(2, 1, 1), paddings=(1, 1, 0), node=2),
    ],
)
def test_nothing_overlaps(scene):
    assert overlaps(scene, lines=True) == []


def test_refusals():
    with pytest.raises(ArgumentError, match=r"`places \(row\)` must be in \[1, 2\], got 3"):
        convolution_windows(places=((3, 1),))
    with pytest.raises(ArgumentError, match=r"`len\(places\)` must be in \[1, 6\], got 0"):
        convolution_windows(places=())
    with pytest.raises(ArgumentError, match=r"`place \(column\)` must be in \[1, 3\], got 4"):
        convolution_entry(Y, K, (1, 4))
    with pytest.raises(ArgumentError, match=r"`node` must be in \[1, 5\], got 6"):
        receptive_field_nodes(node=6)
    with pytest.raises(ArgumentError, match=r"`strides` must have as many entries as `kernel_sizes` \(2\), got 1"):
        receptive_field_nodes(strides=(1,))
    with pytest.raises(ArgumentError, match="`numbers` must be 2 x 2, got 1 x 2: give one number for each cell"):
        put_grid(Board(), (0, 0), 2, 2, 10, numbers=[[1, 2]])
