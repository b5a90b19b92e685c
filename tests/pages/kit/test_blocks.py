"""The blocks escape what comes from outside, name what they show, and refuse unknown ids."""

import pytest

from lamina._errors import ArgumentError, DataError
from lamina.drawing.charts import Series, chart
from lamina.functional.dense import neuron
from lamina.pages import kit
from lamina.pages.chapters.ch1.perceptron.drawing import live_neuron
from lamina.pages.site.editing import copy_page


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
    assert "1e−09" in kit.facts(loss=1e-9).text


def test_a_drawing_takes_the_colors_of_the_page_and_a_label():
    scene = chart(lines=[Series("y", [0, 1], [0, 1], "line1")])
    html = kit.svg(scene, 'a "line"', caption="up").text
    assert 'aria-label="a &quot;line&quot;"' in html and "var(--lamina-line1" in html and "<figcaption>" in html


def test_source_shows_the_library():
    html = kit.source(neuron).text
    assert "lamina.functional.dense.neuron" in html and "<details" in html


def test_a_picture_is_a_png():
    assert 'src="data:image/png;base64,iVBOR' in kit.picture([[0.0, 1.0], [1.0, 0.0]], "checks").text


def test_progress_stays_between_0_and_1():
    assert 'value="1.0000"' in kit.progress(3.0).text and 'value="0.0000"' in kit.progress(-1.0).text


class Upload:
    def __init__(self, name, contents):
        self.name, self.contents = name, contents


def test_an_uploaded_table_becomes_a_data_set():
    rows = "\n".join(f"{i},{i % 3},{'ab'[i % 2]}" for i in range(40))
    data = kit.read_table(Upload("mine.csv", f"u,v,label\n{rows}\n".encode()), target="label")
    assert len(data) == 40 and data.spec.task == "classification"


@pytest.mark.parametrize(
    ("name", "contents", "words"),
    [
        ("mine.exe", b"", r"mine\.exe must end in \.csv"),
        ("mine.csv", b"x" * 20_000_001, r"mine\.csv has 20 MB, a page takes 20: use  lamina train"),
        ("mine.csv", b"", r"mine\.csv"),
    ],
)
def test_bad_tables_are_refused_without_paths(name, contents, words):
    with pytest.raises(DataError, match=words) as said:
        kit.read_table(Upload(name, contents), target="label")
    assert "/tmp" not in str(said.value)


def test_bad_pictures_are_refused():
    with pytest.raises(DataError, match=r"mine\.png cannot be read as a picture"):
        kit.read_picture(Upload("mine.png", b"no"))
    with pytest.raises(DataError, match=r"mine\.txt must end in \.png"):
        kit.read_picture(Upload("mine.txt", b"no"))


def test_a_picture_becomes_gray_values():
    import io

    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (3, 2), (255, 255, 255)).save(file, "PNG")
    pixels = kit.read_picture(Upload("mine.png", file.getvalue()))
    assert pixels.tolist() == [[1.0] * 3] * 2


def test_the_live_neuron_has_no_overlapping_words():
    from lamina.drawing.collisions import overlaps

    scene = live_neuron([1.0, -2.0, 0.5], [-3.0, 3.0, 0.1], -3.0, -8.95, -8.95, "leaky ReLU")
    assert overlaps(scene) == []


def test_a_copy_never_overwrites(tmp_path):
    first, second = copy_page("ch1/perceptron", tmp_path), copy_page("ch1/perceptron", tmp_path)
    assert (first.name, second.name) == ("ch1-perceptron.py", "ch1-perceptron-2.py")
    assert first.read_text() == second.read_text() and "import marimo" in first.read_text()
