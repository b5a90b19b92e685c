"""The first view of a page, before it lives."""

from lamina.pages.site import contents
from lamina.pages.site._prerender import rehearse, still


def test_a_first_view_has_everything_but_widgets():
    html = still(str(contents.PAGES[0].file))
    assert html.count('class="lamina-section"') == 5 and "marimo-tex" in html and "<svg" in html
    assert "marimo-slider" not in html and "lamina-ghost" in html


PAGE = """
import marimo
app = marimo.App()
@app.cell
def _():
    from pathlib import Path
    Path({place!r}).write_text("seen", encoding="utf-8")
    return
"""


def test_pages_are_rehearsed_and_a_broken_one_stops_nobody(tmp_path):
    broken, whole, mark = tmp_path / "broken.py", tmp_path / "whole.py", tmp_path / "mark"
    broken.write_text("1 / 0", encoding="utf-8")
    whole.write_text(PAGE.format(place=str(mark)), encoding="utf-8")
    rehearse([str(broken), str(whole)], pause=0)
    assert mark.read_text(encoding="utf-8") == "seen"
