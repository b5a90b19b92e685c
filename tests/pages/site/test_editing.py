"""A page as a copy of the reader's own."""

from lamina.pages.site.editing import copy_page


def test_a_copy_never_overwrites(tmp_path):
    first, second = copy_page("ch1/perceptron", tmp_path), copy_page("ch1/perceptron", tmp_path)
    assert (first.name, second.name) == ("ch1-perceptron.py", "ch1-perceptron-2.py")
    assert first.read_text() == second.read_text() and "import marimo" in first.read_text()
