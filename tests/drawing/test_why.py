import pytest

from lamina.drawing.scene import Path, Rectangle, Text
from lamina.drawing.why import MARGIN, colored_words, heated, parts_chart


def test_heat_turns_a_picture_gray_and_colors_it_by_sign():
    found = heated([[(30, 60, 90), 100]], [[0.0, -4.0]], strength=1.0)
    assert found == [[(60, 60, 60), (26, 102, 214)]]  # the full color of what speaks against
    assert heated([[200]], [[0.0]]) == [[(200, 200, 200)]]


def test_bars_begin_at_zero_and_are_as_long_as_their_numbers():
    scene = parts_chart([("a", 4.0), ("b", -1.0), ("c", 0.0)], title="why", unit="euro", wide=100.0)
    bars = [shape for shape in scene.shapes if isinstance(shape, Rectangle)]
    (axis,) = (shape for shape in scene.shapes if isinstance(shape, Path))
    zero = axis.points[0][0]
    assert [bar.size[0] for bar in bars] == [100.0, 25.0]
    assert bars[0].corner[0] == pytest.approx(zero) and bars[1].corner[0] == pytest.approx(zero - 25)
    words = [shape.content for shape in scene.shapes if isinstance(shape, Text)]
    assert words == ["why", "a", "+4", "b", "-1", "c", "+0", "euro"]
    right = max(s.at[0] for s in scene.shapes if isinstance(s, Text))
    assert right < scene.width and zero + 100 < scene.width


def test_words_break_into_lines_and_keep_their_order():
    scene = colored_words(["word"] * 40, [1.0] * 40, wide=200.0)
    boxes = [shape for shape in scene.shapes if isinstance(shape, Rectangle)]
    lines = sorted({box.corner[1] for box in boxes})
    assert len(lines) > 3 and all(box.corner[0] + box.size[0] <= MARGIN + 200.0 for box in boxes)
    places = [(box.corner[1], box.corner[0]) for box in boxes]
    assert places == sorted(places) and scene.height > lines[-1]
