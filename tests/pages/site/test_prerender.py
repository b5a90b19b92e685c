"""The first view of a page, before it lives."""

from lamina.pages.site import contents
from lamina.pages.site._prerender import still


def test_a_first_view_has_everything_but_widgets():
    html = still(str(contents.PAGES[0].file))
    assert html.count('class="lamina-section"') == 5 and "marimo-tex" in html and "<svg" in html
    assert "marimo-slider" not in html and "lamina-ghost" in html
