"""Recording a page: its controls move one at a time, its work becomes frames, and it stands as before afterwards."""

import textwrap

import pytest

from lamina._errors import RunError
from lamina.pages.book.recording import FRAMES, OPTIONS, PLACES, record

PAGE = """
    import marimo

    app = marimo.App()

    with app.setup:
        import marimo as mo

        from lamina.pages import kit
        from lamina.pages.book_work import count

    @app.cell
    def _(factor, group, word):
        kit.facts(product=factor.value * (3 if group.value[0] else 2), word=word.value)
        return

    @app.cell
    def _():
        factor = kit.slider(0, 100, value=7, label="factor")
        word = kit.dropdown(["one", "two"], value="one", label="word")
        group = mo.ui.array([mo.ui.switch(value=False, label="three")])
        typed = mo.ui.text("", label="typed")
        kit.column(factor, word, group[0], typed)
        return factor, group, word

    @app.cell
    def _():
        go, work = kit.play("Count"), kit.train(count)
        return go, work

    @app.cell
    def _(factor, go, work):
        work.show(lambda job: kit.column(go, kit.facts(rows=len(job.rows))), running=go, to=25 + 0 * factor.value)
        return
"""


@pytest.fixture
def page(tmp_path, monkeypatch):
    import sys
    from types import ModuleType

    made = ModuleType("lamina.pages.book_work")
    made.count = lambda to: iter(range(to))
    monkeypatch.setitem(sys.modules, "lamina.pages.book_work", made)

    def written(text=PAGE):
        file = tmp_path / "page.py"
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        return str(file)

    return written


def test_each_control_is_moved_alone_and_goes_back(page):
    found = record(page())
    assert {*found.moves} == {"factor", "word", "group.0", "go"}  # what is typed stays live
    factor = found.moves["factor"]
    assert factor.values == [0, 7, 13, 26, 39, 52, 65, 78, 91] and len(factor.values) <= PLACES + 1
    shown = factor.cells[0]
    assert "<dd>14</dd>" in found.cells[0] == shown[1] and "<dd>182</dd>" in shown[8] and "<dd>one</dd>" in shown[8]
    assert "<dd>two</dd>" in found.moves["word"].cells[0][1] and "<dd>14</dd>" in found.moves["word"].cells[0][1]
    assert ["<dd>21</dd>" in html for html in found.moves["group.0"].cells[0]] == [False, True]
    assert 'data-key="factor"' in found.cells[1] and 'data-key="group.0"' in found.cells[1]
    assert "object-id" not in "".join(found.cells)


def test_work_becomes_frames(page):
    run = record(page()).moves["go"]
    assert run.kind == "frames" and run.values == list(range(1, FRAMES + 1))
    assert "<dd>3</dd>" in run.cells[3][0] and 'data-state="running"' in run.cells[3][0]
    assert "<dd>25</dd>" in run.cells[3][-1] and 'data-state="done"' in run.cells[3][-1]


def test_a_first_view_alone(page):
    found = record(page(), moves=False)
    assert found.moves == {} and "<dd>14</dd>" in found.cells[0]


def test_a_failing_place_is_named(page):
    text = PAGE.replace("product=factor.value", "product=1 / (factor.value - 13)")
    with pytest.raises(RunError, match="page.py fails with factor at 13: ZeroDivisionError"):
        record(page(text))


def test_lists_have_a_bound(page):
    text = PAGE.replace('["one", "two"]', '["one", *map(str, range(40))]')
    assert len(record(page(text)).moves["word"].values) == OPTIONS
