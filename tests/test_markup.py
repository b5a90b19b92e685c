"""Nothing that is not made by `tag` gets into a page as markup."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina._markup import Markup, join, tag


def test_children_and_attributes_are_escaped():
    assert tag("p", "<b> & 'q' \"d\"") == "<p>&lt;b&gt; &amp; &#x27;q&#x27; &quot;d&quot;</p>"
    assert tag("td", 3, title='"><script>') == '<td title="&quot;&gt;&lt;script&gt;">3</td>'
    assert tag("p", tag("b", "<i>")) == "<p><b>&lt;i&gt;</b></p>"
    assert tag("p", ["a", None, [tag("br"), "<"]]) == "<p>a<br/>&lt;</p>"


def test_attributes_none_false_and_true():
    assert tag("details", "x", open=True, hidden=False, class_=None, aria_label="y") == (
        '<details open aria-label="y">x</details>'
    )


def test_shapes_close_themselves_unless_they_hold_a_title():
    assert tag("circle", r=3) == '<circle r="3"/>'
    assert tag("circle", tag("title", "a<b"), r=3) == '<circle r="3"><title>a&lt;b</title></circle>'


def test_joining_gives_markup():
    assert isinstance(join(["<"]), Markup)
    assert join(["<", Markup("<br/>")]) == "&lt;<br/>"


@given(st.text())
@pytest.mark.parametrize("place", ("child", "attribute"))
def test_no_text_can_open_a_tag(place, text):
    made = tag("p", text) if place == "child" else tag("p", "", title=text)
    assert made.count("<") == 2 and made.count(">") == 2
