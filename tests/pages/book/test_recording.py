"""Recording a page: its controls move one at a time, its work becomes frames, and it stands as before afterwards."""

import textwrap

import pytest

from lamina._errors import RunError
from lamina.pages import kit
from lamina.pages.book import recording
from lamina.pages.book.recording import FRAMES, OPTIONS, PLACES, STEPS, places, record

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
    assert factor.values == [0, 7, 12, 25, 38, 50, 62, 75, 88, 100] and len(factor.values) <= PLACES + 1
    shown = factor.cells[0]
    assert "<dd>14</dd>" in found.cells[0] == shown[1] and "<dd>200</dd>" in shown[9] and "<dd>one</dd>" in shown[9]
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
    text = PAGE.replace("product=factor.value", "product=1 / (factor.value - 12)")
    with pytest.raises(RunError, match="page.py fails with factor at 12: ZeroDivisionError"):
        record(page(text))


def test_lists_have_a_bound(page):
    text = PAGE.replace('["one", "two"]', '["one", *map(str, range(40))]')
    assert len(record(page(text)).moves["word"].values) == OPTIONS


def test_a_walk_is_kept_whole():
    assert places(kit.walk(0, 80, value=40, label="step")) == ("place", [*range(81)])
    assert len(places(kit.walk(0, 1000, value=400, label="step"))[1]) == STEPS + 1


def test_what_repeats_costs_nothing(page, monkeypatch):
    """All that the list shows has more characters than the different pieces of it."""
    text = PAGE.replace("word=word.value)", "word=word.value, **{f'fact {i}': i for i in range(100)})")
    monkeypatch.setattr(recording, "LARGEST", 3000)
    shown = record(page(text)).moves["word"].cells[0]
    assert sum(map(len, shown)) > 2 * 3000
    monkeypatch.setattr(recording, "LARGEST", 1000)
    assert "word" not in record(page(text)).moves
