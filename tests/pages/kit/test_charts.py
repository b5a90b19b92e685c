"""Charts of the pages are those of the drawings."""

from lamina.drawing.charts import Series
from lamina.drawing.charts import chart as drawn
from lamina.pages import kit

LINE = [Series("loss", [0, 1, 2], [3.0, 2.0, 1.5])]


def test_an_axis_is_its_name_or_its_name_and_its_ends():
    named = kit.chart(LINE, x="step", y=("loss", 0, 4), size=(300, 200), log_x=False)
    assert named == drawn(LINE, x_label="step", y_label="loss", y_range=(0, 4), width=300, height=200)
    bare = kit.chart(LINE, x=("", 0, 2))
    assert bare == drawn(LINE, x_range=(0, 2))


def test_a_plot_is_a_chart_with_its_label_and_caption():
    scene = kit.chart(LINE, x="step", size=(300, 200))
    shown = kit.plot("The loss falls", LINE, x="step", size=(300, 200), caption="the loss", wide=500)
    assert shown.text == kit.svg(scene, "The loss falls", caption="the loss", width=500).text
