"""Printing needs a browser and says so; drawings need none."""

import re

import pytest

from lamina._errors import ArgumentError
from lamina._markup import Markup
from lamina.drawing.scene import Scene
from lamina.pages.book import printing
from lamina.pages.book.recording import Recording
from lamina.pages.site import contents


def test_without_a_browser_there_is_a_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(printing, "_ELSEWHERE", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CHROMIUM", raising=False)
    with pytest.raises(ArgumentError, match="`--pdf` needs a Chromium, Chrome or Edge.*found none: install one"):
        printing.find_browser()
    monkeypatch.setenv("CHROMIUM", "nothing-of-this-name")
    with pytest.raises(ArgumentError, match="the variable CHROMIUM names nothing-of-this-name, which is no program"):
        printing.find_browser()


def test_a_pdf_is_called_one(tmp_path):
    with pytest.raises(ArgumentError, match="`--pdf` must end in .pdf, got '.*book.txt'"):
        printing.print_book(tmp_path / "book.txt")


def test_panels(tmp_path):
    written = printing.panels(tmp_path / "slides", only=["ch5/dictionary"])
    assert written and all(label for _, label in written)
    for path, _ in written:
        assert path.read_text(encoding="utf-8").startswith("<svg") and "var(--" not in path.read_text(encoding="utf-8")
        assert path.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
    assert [path.stem for path, _ in written] == [f"ch5-dictionary-0{number}" for number in (1, 2, 3)]
    assert (tmp_path / "slides/contents.txt").read_text(encoding="utf-8") == "".join(
        f"{path.stem}: {label}\n" for path, label in written
    )
    with pytest.raises(ArgumentError, match="`--panels` must be a folder, but .* is a file"):
        printing.panels(written[0][0])


def test_answers_are_open_on_paper():
    """A question with a prediction has an answer that is revealed; on paper nobody can press."""
    page = str(printing._printed(contents.find("ch1/perceptron")))
    questions = page.count('class="lamina-try"')
    assert questions == 5 and page.count("<details open") == questions
    assert re.findall(r"<details open[^>]*><summary>(\w+)</summary>", page) == ["Reveal"] * questions


def test_a_book_has_contents_and_corrections_and_links_stay_inside():
    wanted = [contents.find("ch1/perceptron"), contents.find("ch2/backpropagation")]
    parts = [
        Markup('<p id="ch1/perceptron"><a href="/errata#E45">E45</a> <a href="/ch2/backpropagation">b</a></p>'),
        Markup('<p id="ch2/backpropagation"><a href="/catalogue#N2.01">N2.01</a> <a href="/ch3/lenet">n</a></p>'),
    ]
    text = printing.bound(wanted, parts)
    body = text[text.index("<body>") :]
    inside = ["#ch1/perceptron", "#ch2/backpropagation", "#E45", "#ch2/backpropagation"]
    assert re.findall(r'<a href="([^"]*)"', body) == inside
    assert "<span>N2.01</span> <span>n</span>" in body
    assert re.findall(r"<h2>([^<]*)</h2>", body) == ["1 · Introduction", "2 · Feedforward neural network"]
    assert re.findall(r'<dt id="(E\d+)">', body) == ["E45"] and "Heaviside in PyTorch" in body
    assert "Corrections" not in printing.bound(wanted[1:], parts[1:])


def test_no_button_is_talked_about_on_paper():
    page = str(printing._printed(contents.find("ch4/blocks")))
    assert "After 114 steps" in page and "press the button" not in page


def test_drawings_are_in_the_order_of_the_page():
    """The cell of the lab runs after those that it draws with."""
    one, two, three = (Scene(1.0 + i, 1.0, (), "t") for i in range(3))
    cells = ['<div aria-label="a &lt; b">', '<div aria-label="first"></div><div aria-label="c">']
    found = printing._in_order(Recording(cells, {}, [("c", one), ("first", two), ("svg", "<svg/>"), ("a < b", three)]))
    assert found == [("a < b", three), ("first", two), ("c", one)]
