"""The table of contents: in order, and every row of the notes is on a page."""

import ast

import pytest

from lamina._catalogue import items
from lamina._errors import ArgumentError
from lamina.pages.site import contents
from lamina.pages.site.contents import pages


def shown_ids(page):
    tree = ast.parse(page.file.read_text(encoding="utf-8"))
    return {
        constant.value
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "kit.section"
        for word in call.keywords
        if word.arg == "ids"
        for constant in ast.walk(word.value)
        if isinstance(constant, ast.Constant)
    }


def test_the_table_of_contents_is_in_order():
    paths = [page.path for page in contents.PAGES]
    assert len(set(paths)) == len(paths)
    chapters = [page.chapter for page in contents.PAGES]
    assert chapters == sorted(chapters, key=list(contents.CHAPTERS).index)
    first = contents.pages()[0]
    assert contents.neighbors(first)[0] is None
    with pytest.raises(ArgumentError, match=r"there is no page 'ch9/none': choose one of ch1/perceptron"):
        contents.find("ch9/none")


@pytest.mark.parametrize("chapter", ["ch1", "ch2", "ch3", "ch4", "ch5"])
def test_the_pages_of_a_chapter_show_every_row_of_it(chapter):
    shown = set().union(*(shown_ids(page) for page in pages() if page.chapter == chapter))
    assert shown == {key for key in items() if key.startswith(f"N{chapter[2:]}.")}
