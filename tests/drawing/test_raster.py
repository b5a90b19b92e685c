import io

import numpy as np
import pytest
from PIL import Image

from lamina._errors import ArgumentError
from lamina.drawing._raster import raster
from lamina.drawing.scene import Circle, Path, Picture, Polygon, Rectangle, Scene, Stroke, Text, text_box


def pixels(scene, theme="light", dpi=72):
    return np.asarray(Image.open(io.BytesIO(raster(scene, "png", theme, dpi))).convert("RGB")).astype(int)


def test_shapes_have_their_places_and_colors():
    shapes = (
        Rectangle((10, 10), (20, 10), "#ff0000", None),
        Circle((60, 20), 8, "#0000ff", None),
        Polygon(((10, 40), (30, 40), (10, 60)), "#00ff00", None),
        Path(((40, 50), (90, 50)), Stroke("#000000", 4)),
    )
    image = pixels(Scene(100, 70, shapes, "four"))
    assert image.shape == (70, 100, 3)
    assert image[15, 20].tolist() == [255, 0, 0]
    assert image[20, 60].tolist() == [0, 0, 255]
    assert image[44, 13].tolist() == [0, 255, 0]
    assert image[50, 65].tolist() == [0, 0, 0]
    assert image[35, 50].tolist() == [255, 255, 255]
    assert image[25, 20].tolist() == [255, 255, 255]


def test_later_shapes_cover_earlier_ones_and_opacity_mixes():
    shapes = (
        Picture((0, 0), (20, 20), [[0]]),
        Rectangle((10, 0), (10, 20), "#ff0000", None),
        Rectangle((0, 10), (5, 10), "#ffffff", None, opacity=0.5),
    )
    image = pixels(Scene(20, 20, shapes, "layers"))
    assert image[5, 5].tolist() == [0, 0, 0]
    assert image[5, 15].tolist() == [255, 0, 0]
    assert image[15, 2].tolist() == pytest.approx([128] * 3, abs=1)


def test_pictures_keep_sharp_pixels():
    image = pixels(Scene(40, 20, (Picture((0, 0), (40, 20), [[0, 255], [255, 0]]),), "checks"))
    assert [image[y, x, 0] for y, x in ((5, 5), (5, 18), (5, 22), (5, 35), (15, 5), (15, 35))] == [
        0,
        0,
        255,
        255,
        255,
        0,
    ]


@pytest.mark.parametrize("angle", [0, 90, 30])
@pytest.mark.parametrize("anchor", ["start", "middle", "end"])
def test_letters_lie_within_the_measured_box(angle, anchor):
    text = Text((150, 150), r"Words $y_1^{[0]} = \sigma(W u + b)$, $\tilde{h}$", 14, anchor=anchor, angle=angle)
    ink = np.argwhere(pixels(Scene(420, 420, (text,), "words").moved(60, 60))[..., 0] < 160)
    (top, left), (bottom, right) = ink.min(0) - 60, ink.max(0) + 1 - 60
    box = text_box(text)
    assert (left, top) >= (box[0] - 1.5, box[1] - 1.5)
    assert right <= box[2] + 1.5
    assert bottom <= box[3] + 1.5
    if not angle:  # and they fill it
        assert (left - box[0], box[2] - right) == pytest.approx((0, 0), abs=3)
        assert (top - box[1], box[3] - bottom) == pytest.approx((0, 0), abs=3)


def test_the_dark_theme_has_dark_paper_and_light_ink():
    image = pixels(Scene(40, 40, (Rectangle((10, 10), (20, 20), "ink", None),), "dark"), "dark")
    assert image[2, 2].tolist() == [0x16, 0x18, 0x1D]
    assert image[20, 20].tolist() == [0xEC, 0xEE, 0xF1]


@pytest.mark.parametrize("kind", ["pdf", "png"])
def test_the_same_scene_gives_the_same_bytes(kind):
    scene = Scene(80, 40, (Circle((20, 20), 10), Text((40, 20), "$y_1$ word")), "the same")
    data = raster(scene, kind)
    assert data == raster(scene, kind)
    assert b"CreationDate" not in data
    assert b"Matplotlib" not in data


def test_what_is_no_file_kind_is_refused():
    scene = Scene(10, 10, (Circle((5, 5), 2),), "a disc")
    with pytest.raises(ArgumentError, match="`kind` must be one of 'pdf', 'png', got 'jpg'"):
        raster(scene, "jpg")
    with pytest.raises(ArgumentError, match="`theme` must be one of 'light', 'dark', got 'page'"):
        raster(scene, "png", "page")
    with pytest.raises(ArgumentError, match="`dpi` must be at least 18, got 1"):
        raster(scene, "png", dpi=1)
