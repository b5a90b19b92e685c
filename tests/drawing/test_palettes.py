"""One home for the colors of numbers: what it gives, and that planes, nodes, matrices and maps take it from there."""

import base64
import math
import re
import struct
import zlib
from importlib.resources import files
from pathlib import Path

import pytest
import torch

from lamina.drawing._tikz import tikz
from lamina.drawing.colors import DARK, LIGHT, channels, resolve
from lamina.drawing.palettes import CLASSES, amount, classed, mixed_classes, signed, signed_fill, signed_pixels
from lamina.drawing.scene import Picture, Rectangle, Scene
from lamina.drawing.svg import png, svg
from lamina.pages.chapters.ch2.playground._drawing import decision_surface, pictured_network
from lamina.pages.chapters.ch3._shared import pixels as gray_pixels
from lamina.pages.chapters.ch3._shared import shades
from lamina.pages.chapters.ch3.convolution._drawing import matrix_of_convolution
from lamina.pages.chapters.ch3.receptive_field._drawing import seen_pixels
from lamina.pages.chapters.ch5._shared import cell_grid

HOME = Path(str(files("lamina")))


def pictures(scene):
    return [shape.pixels for shape in scene.shapes if isinstance(shape, Picture)]


def test_a_signed_number_is_more_opaque_the_larger_it_is_and_zero_is_the_paper():
    opacities = [signed(k / 20)[3] for k in range(21)]
    assert opacities == sorted(opacities) and (opacities[0], opacities[-1]) == (0, 255)
    assert signed(0.4)[3] == signed(-0.4)[3] == 102 and signed(5.0) == signed(1.0)
    assert signed(1.0)[:3] == channels(LIGHT["above"]) == channels(DARK["above"])
    assert signed_pixels([[-3.0]], 6.0) == [[signed(-0.5)]] == [[(*channels(LIGHT["below"]), 128)]]
    # A filled shape has the color that the pixel has on its paper.
    for theme, paper in (("light", 255), ("dark", None)):
        red, _, _ = channels(resolve(signed_fill(0.5), theme))
        ground = channels(resolve("paper", theme))[0] if paper is None else paper
        assert red == pytest.approx(ground + 0.5 * (channels(LIGHT["above"])[0] - ground), abs=1)


def test_planes_nodes_matrices_filters_and_states_take_their_colors_from_here():
    values = [[1.0, -0.5], [0.0, 0.25]]
    wanted = signed_pixels(values)
    nodes = pictured_network((1, 1), [[[1.0]]], [[values[::-1]], [values[::-1]]])
    assert pictures(nodes) == [wanted, wanted], "nodes of the playground, the row of the highest y first"
    shares = [
        [[1 - (v + 1) / 2 for v in row] for row in values[::-1]],
        [[(v + 1) / 2 for v in row] for row in values[::-1]],
    ]
    plane = decision_surface(shares, (0, 1), (0, 1), [])
    assert pictures(plane)[0] == [[signed(v, 0.5) for v in row] for row in values], "the plane of two classes"
    assert (classed(0), classed(1)) == ("negative", "positive"), "the points on it"
    assert shades(torch.tensor(values)) == wanted, "filters and feature maps"
    assert pictures(cell_grid(values, ["a", "b"], low=-1, high=1))[0] == wanted, "states"
    assert pictures(cell_grid([[0.5]], ["a"]))[0] == [[amount(0.5)]], "gates have no sign"
    cells = [s for s in matrix_of_convolution(torch.tensor(values), 0).shapes if isinstance(s, Rectangle)]
    assert [cell.fill for cell in cells[:4]] == [signed_fill(v) for row in values for v in row], "matrices"
    assert [resolve(classed(k)) for k in (0, 1)] == [LIGHT["below"], LIGHT["above"]], "of one color with their plane"
    assert mixed_classes([0.0, 0.0, 1.0]) == (*channels(CLASSES[2]), 128), "three classes are mixed"


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
def test_what_is_no_finite_number_is_gray_and_nothing_else_is(broken):
    gray, solid = (128, 128, 128), (128, 128, 128, 255)
    assert (amount(broken), signed(broken), signed(broken, 0.5), signed_fill(broken)) == (gray, solid, solid, "#808080")
    assert mixed_classes([broken, 0.5]) == mixed_classes([0.2, broken, 0.3]) == solid
    wanted = [[solid, *signed_pixels([[-0.5, 1.0]])[0]]]
    assert shades(torch.tensor([[broken, -1.0, 2.0]])) == wanted, "the others keep their colors"
    assert gray_pixels(torch.tensor([[broken, 0.0, 1.0]])) == [[128, 0, 255]], "and pictures stay pictures"
    assert pictures(cell_grid([[broken, -0.5, 1.0]], ["a", "b", "c"], low=-1, high=1))[0] == wanted
    assert pictures(seen_pixels(torch.tensor([[broken, 2.0, 1.0]]), ((0, 0), (0, 0))))[0] == [
        [gray, amount(1.0), amount(0.5)]
    ]
    cells = [s for s in matrix_of_convolution(torch.tensor([[broken, 2.0]]), 0).shapes if isinstance(s, Rectangle)]
    assert [cell.fill for cell in cells[:2]] == ["#808080", "above!100"]
    diverged = decision_surface([[[broken, 0.4]] * 2, [[broken, 0.6]] * 2], (0, 1), (0, 1), [])
    assert pictures(diverged)[0][0] == [solid, signed(0.2, 0.5)]
    assert "nan" not in svg(diverged).replace("nance", "")
    numbers = [amount(k / 1000) for k in range(1001)] + [signed(k / 1000)[:3] for k in range(-1000, 1001)]
    assert all(max(color) - min(color) >= 8 for color in numbers)


def test_nobody_else_has_colors_of_numbers():
    """Whoever draws takes colors from here or from `colors`; what is written out elsewhere is gray."""
    for room in ("drawing", "pages", "report", "experiments", "inspection", "training"):
        for path in sorted((HOME / room).rglob("*.py")):
            if path.name in ("colors.py", "palettes.py"):
                continue
            for color in re.findall(r"[\"'](#[0-9a-fA-F]{6})[\"']", path.read_text(encoding="utf-8")):
                assert max(channels(color)) - min(channels(color)) <= 24, (path.name, color)
    script = (HOME / "pages" / "static" / "reading.js").read_text(encoding="utf-8")
    assert "--lamina-above" in script and not re.findall(r"\[\d+, \d+, \d{2,3}\]", script)


def test_opacity_is_written_as_it_is_by_svg_and_laid_on_the_paper_by_tikz():
    scene = Scene(10, 10, (Picture((0, 0), (10, 10), signed_pixels([[1.0, 0.0]])),), "two pixels")
    data = png(scene.shapes[0].pixels)
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    assert (width, height, depth, kind) == (2, 1, 8, 6)
    place = data.index(b"IDAT") + 4
    assert zlib.decompress(data[place:]) == b"\0" + bytes((*signed(1.0), *signed(0.0)))
    assert base64.b64encode(data).decode() in svg(scene, "page")
    red, green, blue = signed(1.0)[:3]
    assert f"red,{red};green,{green};blue,{blue}" in tikz(scene) and "red,255;green,255;blue,255" in tikz(scene)
    half = Scene(10, 10, (Picture((0, 0), (10, 10), [[(211, 34, 42, 51), (211, 34, 42, 0)]]),), "two pixels")
    ground = channels(DARK["paper"])
    mixed = [round(0.2 * over + 0.8 * below) for over, below in zip((211, 34, 42), ground, strict=True)]
    for wanted in (mixed, ground):
        assert "red,{};green,{};blue,{}".format(*wanted) in tikz(half, theme="dark")
