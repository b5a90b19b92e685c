"""How Sphinx builds the site; `tools/docs.py` says why, lays out what is read, and calls it."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.writers.html5 import HTML5Translator

import lamina

project, author = "Lamina", "the authors of Lamina"
version = release = lamina.__version__
extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath", "colon_fence", "fieldlist", "attrs_inline"]
myst_heading_anchors = 4
myst_dmath_allow_digits = False
python_maximum_signature_line_length = 90
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries_show_parents = "hide"
exclude_patterns = [".doctrees"]

html_theme = "furo"
html_title = "Lamina"
html_static_path = ["_static"]
html_css_files = ["katex/katex.min.css", "site.css"]
html_js_files = ["katex/katex.min.js", "formulas.js"]
html_copy_source = html_show_sourcelink = False
html_math_renderer = "katex"
pygments_style, pygments_dark_style = "friendly", "monokai"


def _inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(self.starttag(node, "span", "", CLASS="formula") + self.encode(node.astext()) + "</span>")
    raise nodes.SkipNode


def _display(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", "", CLASS="formula") + self.encode(node.astext()) + "</div>")
    raise nodes.SkipNode


def _short(app: Sphinx, env: BuildEnvironment, node: nodes.Element, shown: nodes.Element) -> nodes.Element | None:
    """Show the last word only of a type that has no page here, such as `collections.abc.Iterator`."""
    return nodes.inline("", node["reftarget"].split(".")[-1]) if node.get("refdomain") == "py" else None


def setup(app: Sphinx) -> None:
    """Leave formulas to formulas.js, which calls the KaTeX beside it; those of Sphinx ask a host."""
    app.add_html_math_renderer("katex", (_inline, None), (_display, None))
    app.connect("missing-reference", _short)
