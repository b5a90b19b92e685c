"""The pages without a notebook."""

import re

from lamina.pages.site import _plain as plain


def test_the_index_links_every_page_and_what_was_read():
    html = plain.index()
    assert 'href="/ch1/perceptron"' in html and 'data-progress="ch1/perceptron"' in html


def test_the_catalogue_links_code_and_errata():
    html = plain.catalogue()
    assert 'href="/errata#E70"' in html[html.index('id="N5.37"') : html.index('id="N5.38"')]
    assert 'id="N5.49"' in html and "lamina.functional.dense:<wbr>neuron" in html.replace(".<wbr>", ".")


def test_every_erratum_says_what_is_right_and_where():
    html = plain.errata()
    assert [f"E{number:02d}" for number in range(1, 78)] == re.findall(r'<th id="(E\d\d)"', html)
    row = html[html.index('<th id="E70"') : html.index('<th id="E71"')]
    cells = dict(re.findall(r'<td data-is="([^"]+)">(.*?)</td>', row))
    assert cells["the notes say"] == "The forget gate multiplies the old candidate."
    assert cells["what is right"].startswith("It multiplies the old cell state,")
    assert "lamina.<wbr>drawing.<wbr>cells:<wbr>cell" in cells["where the library does it"]
    assert 'href="/catalogue#N5.37"' in row and 'href="/ch5/gates"' in row and "lstm_<wbr>step" in row


def test_what_was_asked_for_is_escaped():
    html = plain.missing("/nothing/<b>")
    assert "&lt;b&gt;" in html and "<b>" not in html
