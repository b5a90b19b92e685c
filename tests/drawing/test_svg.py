import base64
import io
import math
import re
import xml.etree.ElementTree as ElementTree

import pytest
from PIL import Image

from lamina._errors import ArgumentError
from lamina.drawing.colors import THEMES
from lamina.drawing.scene import Circle, Path, Picture, Polygon, Rectangle, Scene, Stroke, Text
from lamina.drawing.svg import png, svg
from lamina.drawing.table import TABLE

SPACE = "{http://www.w3.org/2000/svg}"
PAINT = {
    "fill",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "stroke-opacity",
    "fill-opacity",
    "stroke-linejoin",
    "style",
}
KNOWN = {
    "svg": {"width", "height", "viewBox", "role", "font-family", "style"},
    "style": set(),
    "title": set(),
    "desc": set(),
    "rect": {"x", "y", "width", "height", "rx"} | PAINT,
    "circle": {"cx", "cy", "r"} | PAINT,
    "polygon": {"points"} | PAINT,
    "polyline": {"points"} | PAINT,
    "path": {"d"} | PAINT,
    "text": {
        "x",
        "y",
        "font-size",
        "font-weight",
        "font-style",
        "text-anchor",
        "transform",
        "fill",
        "style",
        "dy",
        "font-family",
    },
    "tspan": {"x", "y", "dx", "dy", "font-size", "font-style", "font-family"},
    "image": {"x", "y", "width", "height", "href", "preserveAspectRatio", "style"},
}
NUMBERS = {"x", "y", "width", "height", "cx", "cy", "r", "rx", "points", "d", "font-size", "stroke-width", "viewBox"}


def validate(text):
    """Check that a document is an SVG of known elements and finite numbers that refers to nothing outside."""
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SPACE}svg"
    assert root[0].tag == f"{SPACE}title"
    assert root[0].text
    for element in root.iter():
        name = element.tag.removeprefix(SPACE)
        assert set(element.attrib) <= KNOWN[name], (name, element.attrib)
        for key, value in element.attrib.items():
            if key in NUMBERS | {"dx", "dy"}:
                found = re.findall(r"[^\s,MC]+", value.removesuffix("em"))
                assert found, (name, key)
                assert all(math.isfinite(float(number)) for number in found)
        href = element.get("href", "data:")
        assert href.startswith("data:")
        assert "url(" not in element.get("style", "")
        if name == "style":
            assert re.fullmatch(r'(@font-face\{[^{}]*url\("data:font/woff2;base64,[^"]*"\)[^{}]*\})+', element.text)
    assert "nan" not in text.replace("nance", "")
    return root


@pytest.mark.parametrize("name", TABLE)
def test_every_drawing_is_valid_svg_in_every_theme(name):
    scene = TABLE[name].make()
    for theme in THEMES:
        validate(svg(scene, theme))
    assert svg(scene) == svg(TABLE[name].make())


def test_texts_stay_texts_with_their_scripts():
    scene = Scene(100, 40, (Text((50, 20), "state $h^{<t>}$ & more", 10, anchor="middle"),), "a < b")
    root = validate(svg(scene))
    text = root.find(f"{SPACE}text")
    assert "".join(text.itertext()) == "state h<t>& more"
    spans = text.findall(f"{SPACE}tspan")
    assert [span.get("font-style") for span in spans] == [None, "italic", None, "italic", None, None][: len(spans)]
    assert spans[2].get("font-size") == "8.26"  # 0.7 of 1.18 times 10
    assert float(spans[2].get("y")) == pytest.approx(20 + 3.6 - 0.4 * 11.8, abs=0.01)
    assert [span.get("font-family", "").startswith("Lamina Math") for span in spans] == [
        False,
        True,
        True,
        True,
        True,
        False,
    ][: len(spans)]
    assert root[0].text == "a < b"


def test_one_run_is_anchored_by_the_reader_of_the_file():
    text = validate(svg(Scene(9, 9, (Text((5, 5), "word", 10, anchor="middle", angle=90, bold=True),), "t"))).find(
        f"{SPACE}text"
    )
    assert text.attrib == {
        "x": "5", "y": "8.6", "text-anchor": "middle", "font-size": "10", "fill": "#16181d", "font-weight": "bold",
        "transform": "rotate(-90 5 5)",
    }  # fmt: skip


def test_a_page_can_change_the_size_of_a_text():
    scene = Scene(100, 40, (Text((50, 20), "$y_1^{[0]}$ of", 10, anchor="middle"),), "t")
    text = validate(svg(scene, "page")).find(f"{SPACE}text")
    assert (text.get("x"), text.get("y"), text.get("dy"), text.get("text-anchor")) == ("50", "20", "0.36em", "middle")
    assert text.get("style").endswith(";--size:10")
    base, below, above, words = text.findall(f"{SPACE}tspan")
    assert (base.get("font-size"), below.get("font-size")) == ("1.18em", "0.83em")
    # Steps are shares of the size of the run: down by 0.32 of 11.8, then up by 0.8 of it, in units of 8.26; then back.
    assert [float(run.get("dy").removesuffix("em")) for run in (below, above)] == pytest.approx([0.46, -1.14], abs=0.01)
    assert float(words.get("dy").removesuffix("em")) == pytest.approx(0.48 * 1.18, abs=0.01)
    assert base.get("dx") is None and words.text == " of"


def test_a_file_brings_the_math_fonts_that_it_needs():
    style = lambda content: svg(Scene(9, 9, (Text((5, 5), content),), "t")).count("@font-face")  # noqa: E731
    assert [style("words"), style("$x$"), style("$x + 1$")] == [0, 1, 2]
    assert "@font-face" not in svg(Scene(9, 9, (Text((5, 5), "$x$"),), "t"), "page")


def test_shapes_are_written_as_they_are():
    shapes = (
        Circle((1, 2), 3, None, Stroke("#102030", 2, (4, 1), 0.5), title="a circle"),
        Rectangle((0.12345, 1), (5, 6), "input", None, radius=2, opacity=0.25),
        Path(((0, 0), (1, 1), (2, 1), (3, 0)), Stroke("ink", 1), curve=True),
        Polygon(((0, 0), (1, 0), (0, 1)), "paper", None),
    )
    lines = svg(Scene(10, 10, shapes, "shapes")).splitlines()[3:]
    assert lines[0] == (
        '<circle cx="1" cy="2" r="3" fill="none" stroke="#102030" stroke-width="2" stroke-dasharray="4 1" '
        'stroke-opacity="0.5" stroke-linejoin="round"><title>a circle</title></circle>'
    )
    assert lines[1] == '<rect x="0.12" y="1" width="5" height="6" rx="2" fill="#009900" fill-opacity="0.25"/>'
    assert lines[2].startswith('<path d="M0,0C1,1 2,1 3,0" fill="none"')
    assert lines[3] == '<polygon points="0,0 1,0 0,1" fill="#ffffff"/>'


def test_themes_fix_colors_or_leave_them_to_the_page():
    scene = Scene(10, 10, (Circle((5, 5), 4, "input!20", None),), "a disc")
    assert 'fill="#16181d"' in svg(scene, "dark")
    page = svg(scene, "page")
    assert "<rect" not in page
    assert "fill:color-mix(in srgb, var(--lamina-input, #009900) 20%, var(--lamina-paper, #ffffff))" in page
    with pytest.raises(ArgumentError, match="`theme` must be one of 'light', 'dark', 'page', got 'blue'"):
        svg(scene, "blue")


def test_pictures_are_png_data():
    rows = [[0, 128, 300], [(255, 0, 0), (0, 255, 0), (1, 2, 3)]]
    image = Image.open(io.BytesIO(png(rows)))
    assert [image.getpixel(p) for p in ((0, 0), (1, 0), (2, 0), (0, 1), (2, 1))] == [
        (0, 0, 0), (128, 128, 128), (255, 255, 255), (255, 0, 0), (1, 2, 3),
    ]  # fmt: skip
    root = validate(svg(Scene(10, 10, (Picture((1, 1), (6, 4), rows, title="pixels"),), "a picture")))
    data = root.find(f"{SPACE}image").get("href").partition(",")[2]
    assert base64.b64decode(data) == png(rows)


def test_numbers_that_are_none_are_refused():
    with pytest.raises(ArgumentError, match="must lie at finite coordinates, got nan"):
        svg(Scene(10, 10, (Circle((math.nan, 1), 1),), "nowhere"))
