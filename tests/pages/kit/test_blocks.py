"""The blocks escape what comes from outside, name what they show, and refuse unknown ids."""

import re

import pytest

from lamina._errors import ArgumentError
from lamina.drawing.charts import Series, chart
from lamina.drawing.scene import Scene
from lamina.functional.dense import affine, neuron
from lamina.pages import kit


def test_a_section_has_a_link_and_its_ids():
    html = kit.section("OR, AND & XOR", ids=("N1.02",)).text
    assert '<h2 id="or-and-xor">' in html and 'href="#or-and-xor"' in html and "OR, AND &amp; XOR" in html
    assert 'href="/catalogue#N1.02"' in html
    with pytest.raises(ArgumentError, match=r"`ids` must be rows of the catalogue, N1\.01 to N5\.49, got N9\.99"):
        kit.section("x", ids=("N9.99",))


def test_blocks_are_exact_strings_and_escape():
    assert type(kit.table(["a"], [["<b>"]]).text) is str
    assert "<td>&lt;b&gt;</td>" in kit.table(["a"], [["<b>"]]).text
    assert "&lt;script&gt;" in kit.note("<script>", "bad").text
    with pytest.raises(ArgumentError, match=r"`kind` must be one of 'plain', 'good', 'warn', 'bad', got 'loud'"):
        kit.note("x", "loud")


def test_numbers_in_tables_have_four_digits():
    html = kit.table(["x", "n"], [[-0.123456, 12]]).text
    assert "−0.1235" in html and '<td class="right">12</td>' in html
    assert "<dd>10⁻⁹</dd>" in kit.facts(loss=1e-9).text and "<dd>−2.5·10⁸</dd>" in kit.facts(x=-2.5e8).text
    assert "1.1·10⁻¹² of" in kit.note("the first state gets 1.1e-12 of the last one's gradient").text


def test_a_drawing_takes_the_colors_of_the_page_and_a_label():
    scene = chart(lines=[Series("y", [0, 1], [0, 1], "line1")])
    html = kit.svg(scene, 'a "line"', caption="up").text
    assert 'aria-label="a &quot;line&quot;"' in html and "var(--lamina-line1" in html and "<figcaption>" in html


def test_source_is_one_button_with_the_code_behind_it():
    one = kit.source(neuron).text
    assert one.count("<details") == 1 and 'aria-label="Code: lamina.functional.dense.neuron">Code</summary>' in one
    assert "lamina.functional.dense.neuron</code>" in one and "def" in one
    two = kit.source(neuron, affine).text
    assert two.count('class="lamina-code"') == 1 and two.count("<details") == 3, "one button, one line for each"
    assert two.startswith('<details class="lamina-code">')


def test_a_prediction_comes_before_the_task_and_the_answer():
    text = kit.question("Move $W$.", "It grows.", ("upwards", "downwards"), right=1, predict="Which way?").text
    places = [
        text.index(words) for words in ("Predict", "Which way?", "upwards", "downwards", "Move", "Reveal", "It grows.")
    ]
    assert places == sorted(places) and text.count('type="radio"') == 2 and text.count("data-right") == 1
    assert text.index("data-right") > text.index("upwards"), "the second option is right"
    assert "Now try it" in kit.question("Which way?", "Up.", ("up", "down")).text
    names = {re.search(r'name="([^"]+)"', kit.question(word, "", ("a", "b")).text)[1] for word in ("one", "two")}
    assert len(names) == 2, "the predictions of two questions do not exclude each other"
    folded = kit.question("Which words?", "These.").text
    assert "Try it" in folded and "radio" not in folded
    with pytest.raises(ArgumentError, match="`right` must be one of at least 2 options, counted from 0, got 2 of 2"):
        kit.question("?", "!", ("a", "b"), right=2)


def test_a_picture_is_a_png():
    assert 'src="data:image/png;base64,iVBOR' in kit.picture([[0.0, 1.0], [1.0, 0.0]], "checks").text


def test_progress_stays_between_0_and_1():
    assert 'value="1.0000"' in kit.progress(3.0).text and 'value="0.0000"' in kit.progress(-1.0).text


def test_a_formula_among_words_is_shown_as_a_formula():
    text = r"""
        Before it.
        $$\begin{aligned} a &= b \\
        c &= d \end{aligned}$$
        After it.
        $$x$$
    """
    formulas = kit.formula("\\begin{aligned} a &= b \\\\\nc &= d \\end{aligned}"), kit.formula("x")
    words = kit.prose("Before it."), kit.prose("After it.")
    assert kit.prose(text).text == kit.column(words[0], formulas[0], words[1], formulas[1]).text
    assert "lamina-formula" not in kit.prose("$$x$$").text + kit.prose("It costs $$, not $.").text


def test_the_controls_of_a_panel_have_a_name():
    group = kit.controls("Step size & start", "one", "two").text
    assert 'role="group" aria-label="Step size &amp; start"' in group and "one" in group and "two" in group
    assert kit.panel(["one"], "shown").text == kit.panel(kit.controls("Controls", "one"), "shown").text


def test_a_lab_sorts_what_it_is_given():
    first, second = (kit.svg("<svg></svg>", label) for label in ("a plane", "a curve"))
    text = kit.lab(
        ["a slider"],
        kit.note("a remark"),
        kit.row(first, kit.table(("x",), [(1,)], caption="a table"), second),
        kit.facts(loss=1),
        play="the buttons",
        about="Algorithm 6, line by line",
    ).text
    order = ("lamina-stage", "a plane", "a curve", "lamina-strip", "loss", "lamina-dock", "the buttons", "a slider",
             "#algorithm-6-line-by-line", "lamina-more", "a remark", "a table")  # fmt: skip
    assert [text.index(word) for word in order] == sorted(text.index(word) for word in order)
    assert 'data-count="2"' in text and text.count("a plane") == 1
    assert (
        "data-answers" not in text and "data-answers" in kit.lab(["a slider"], first, kit.facts(x=1), answers=True).text
    )


@pytest.mark.parametrize(
    ("sizes", "flow"),
    [
        (((380, 350), (340, 310)), None),
        (((380, 350), (380, 350)), "equal"),
        (((600, 200), (340, 310)), "rows"),
        (((400, 300), (560, 62)), "foot"),
        (((600, 200), (340, 310), (340, 310)), "top"),
        (((380, 350), (340, 310), (340, 310)), None),
        (((600, 200),), None),
    ],
)
def test_the_stage_of_a_lab_is_divided_by_the_shapes_of_its_pictures(sizes, flow):
    pictures = [kit.svg(Scene(*size, (), "a scene"), f"picture {place}") for place, size in enumerate(sizes)]
    text = kit.lab(["a slider"], *pictures).text
    assert f'data-count="{len(sizes)}"' in text
    assert (f'data-flow="{flow}"' in text) if flow else ("data-flow" not in text)


def test_a_lab_without_a_picture_shows_its_first_block():
    text = kit.lab(["a slider"], kit.note("first"), kit.note("then")).text
    assert text.index("lamina-stage") < text.index("first") < text.index("lamina-dock") < text.index("then")


def test_a_picture_can_have_words_below_it():
    from lamina.pages.kit._blocks import picture

    plain, said = picture([[0, 1]], "two pixels"), picture([[0, 1]], "two pixels", caption="One of *ours*.")
    assert plain.text.startswith("<img") and said.text.startswith("<figure")
    assert plain.text in said.text and "<em>ours</em>" in said.text
    assert plain.lamina_kind == said.lamina_kind == "picture"
