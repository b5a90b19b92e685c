"""The drawings of the page ch4/resnet18: numbers by hand, and what the notes say of them."""

from lamina.pages.chapters.ch4._shared import race_chart
from lamina.pages.chapters.ch4.resnet18._drawing import nested_fields


def test_drawings_hold_the_numbers():
    rows = [{"a": {"step": 5, "loss": 0.5}}, {"a": {"step": 10, "loss": 0.25}}]
    scene = race_chart(rows, {"a": "line1"}, "loss", until=10, y_label="loss", y_range=(0, 1))
    assert any(getattr(shape, "title", "") == "a" for shape in scene.shapes)
    fields = nested_fields({"A": 11, "E": 435}, 224, "E")
    assert "435 x 435" in fields.description
    assert any(getattr(shape, "stroke", None) and shape.stroke.dash for shape in fields.shapes)
