"""Small pictures: what they keep of a drawing; every page has one that is small and takes the colors of the page."""

import re
from xml.etree import ElementTree

from lamina.drawing.charts import Series, chart
from lamina.drawing.famous import lenet5
from lamina.drawing.thumbnail import LONGEST, MOST, thumbnail
from lamina.pages.site._plain import index, thumbnails
from lamina.pages.site.contents import pages


def test_of_a_chart_the_axes_lines_and_some_marks_are_kept():
    xs = [float(i) for i in range(400)]
    drawn = chart(
        [Series("loss", xs, [x * x for x in xs], "line2", titles=["a tooltip"])],
        [Series("", xs, xs, "line1")],
        x_label="epoch",
        title="words",
    )
    small = ElementTree.fromstring(thumbnail(drawn))
    lines = [[*map(float, re.findall(r"[-\d.]+", line.get("points")))] for line in small.iter("polyline")]
    assert [len(line) // 2 for line in lines] == [3, LONGEST], "the axes and the line, without grid and legend"
    wide = next(shape for shape in drawn.shapes if getattr(shape, "title", "") == "a tooltip").points
    assert abs(lines[1][0] - wide[0][0]) < 1 and abs(lines[1][-1] - wide[-1][1]) < 1, "both ends"
    marks = [*small.iter("circle")]
    assert 0.9 * MOST < len(marks) <= MOST
    assert not [*small.iter("text"), *small.iter("title")]
    left, _, width, height = map(float, small.get("viewBox").split())
    assert left <= lines[0][0] and width < drawn.width and height < drawn.height


def test_of_a_stack_the_squares_of_its_legend_go():
    small = ElementTree.fromstring(thumbnail(lenet5()))
    sizes = [(float(box.get("width")), float(box.get("height"))) for box in small.iter("rect")]
    assert len(sizes) == 12 and (12.0, 12.0) not in sizes, "the fronts of twelve layers"


def test_every_page_has_a_small_picture_in_the_colors_of_the_page():
    found = thumbnails()
    assert set(found) == {page.path for page in pages()}, "python tools/thumbnails.py draws them anew"
    text = index()
    for path, markup in found.items():
        assert len(markup) < 18_000 and markup in text, path
        small = ElementTree.fromstring(markup)
        assert small.get("aria-hidden") == "true" and not [*small.iter("text"), *small.iter("title")]
        plain = set(re.findall(r"(?:fill|stroke):(#[0-9a-f]{6})", markup)) - {"#ffffff", "#111111"}  # of handles
        assert "var(--lamina-" in markup, path
        assert not plain or path in ("tools/search", "ch1/descent"), "what stands on a colored surface alone"
    assert sum(map(len, found.values())) < 150_000
