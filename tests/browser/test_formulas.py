"""KaTeX of the documentation site understands every formula of the docstrings and of docs/."""

import html
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\w$\\])\$([^$\n]+)\$(?!\d)", re.DOTALL)
CODE = re.compile(r"^(`{3,}).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)


@pytest.mark.browser
def test_every_formula_is_rendered(driver, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    import docs

    found = [pair for text in docs.pages().values() for pair in FORMULA.findall(CODE.sub("", text))]
    assert len(found) > 400
    body = "".join(
        f'<div class="formula">{html.escape(shown)}</div>'
        if shown
        else f'<span class="formula">{html.escape(within)}</span>'
        for shown, within in found
    )
    places = (docs.KATEX / "katex.min.js", ROOT / "docs/_static/formulas.js")
    scripts = "".join(f'<script src="{place.as_uri()}"></script>' for place in places)
    page = tmp_path / "formulas.html"
    page.write_text(f"<!doctype html><meta charset=utf-8>{scripts}{body}", encoding="utf-8")
    driver.get(page.as_uri())
    # an undefined command would only turn red on the page: here it is an error
    refused = """return arguments[0].filter((formula) => {
        try { katex.renderToString(formula, {throwOnError: true}); return false; } catch { return true; }
    })"""
    assert driver.execute_script(refused, [r"\sgima(x)", r"\sigma(x)"]) == [r"\sgima(x)"]
    assert driver.execute_script(refused, [shown or within for shown, within in found]) == []
    assert driver.execute_script("return document.querySelectorAll('.formula > *').length") == len(found)
    for name in ("docs", "api_pages"):
        sys.modules.pop(name, None)
