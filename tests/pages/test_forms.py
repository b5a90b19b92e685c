"""The forms of a drawing and the rules by which a page chooses between them."""

import re

from lamina.drawing.charts import Series, chart
from lamina.drawing.panels import panels
from lamina.pages._forms import STEPS, drawn, rules


def test_every_step_has_a_rule_for_width_and_height():
    found = re.findall(r"@container \(max-(width|height): (\d+)px\) \{ \.wide\[data-(wide|high)='(\d+)'\]", rules())
    wanted = {(side, str(n), kind, str(n)) for side, kind in (("width", "wide"), ("height", "high")) for n in STEPS}
    assert set(found) == wanted and len(found) == len(wanted)


def test_a_wide_chart_is_drawn_a_second_time_at_the_width_of_a_phone():
    both = drawn(chart([Series("loss", [0, 1], [0, 1])], width=500, height=400))
    head = r"<svg class='(\w+)' data-wide='(\d+)' data-high='(\d+)'[^>]* width=\"(\d+)\" height=\"(\d+)\""
    wide, narrow = re.findall(head, both)
    assert wide == ("wide", "440", "320", "500", "400")
    assert narrow == ("narrow", "440", "320", "300", "250")
    assert drawn(chart([Series("loss", [0, 1], [0, 1])], width=340, height=200)).count("<svg") == 1


def test_panels_stand_below_each_other_in_a_narrow_place():
    one = chart([Series("loss", [0, 1], [0, 1])], width=400, height=200)
    both = panels([one, one], 2, gap=10, title="two")
    slim = both.narrower()
    assert (both.width, both.height) == (810, 200)
    assert (slim.width, slim.height, slim.title) == (300, 410, "two")
    assert one.narrower() == chart([Series("loss", [0, 1], [0, 1])], width=300, height=200)
