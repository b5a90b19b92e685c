"""The documentation site: every page in the navigation, every public name in the API, no dead link, no host asked."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

import lamina

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def tools():
    """The two programs in tools/, which is no package."""
    before = sys.path[:]
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import api_pages
        import docs

        yield docs, api_pages
    finally:
        sys.path[:] = before
        for name in ("docs", "api_pages"):
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def pages(tools):
    return tools[0].pages()


def test_every_page_is_in_the_navigation_once(pages, tools):
    listed = re.findall(r"^(?:.* <)?([a-z0-9/-]+)>?$", pages["index"].split("```{toctree}", 1)[1], re.MULTILINE)
    assert sorted(listed) == sorted(name for name in pages if not name.startswith("api/lamina.") and name != "index")
    assert {path.stem for path in DOCS.glob("*.md")} - {*listed} == {"search"} and "searching" in listed
    assert tools[0].navigation({"index", "training", "brand-new"})["More"] == ["brand-new"]


def test_each_public_module_has_a_page_and_each_public_name_is_described(pages, tools):
    _, api = tools
    public = [*lamina._PACKAGES, "report"]
    files = [path for package in public for path in (ROOT / "src/lamina" / package).rglob("*.py")]
    names = [path.relative_to(ROOT / "src/lamina").as_posix() for path in files]
    expected = sum(not re.search(r"(^|/)_(?!_init__\.py)", name) for name in names) + 1  # and `lamina` itself
    found = [name for name in pages if name.startswith("api/")]
    assert len(found) == expected and expected > 200
    for name in {*lamina.__all__} - {"__version__"}:
        home = re.search(rf"`{name} <(lamina[\w.]*)>`: \S", pages["api/lamina"])[1]
        module, _, last = home.rpartition(".")
        described = rf"^:+{{py:(function|class|exception)}} {last}\b"
        assert f"api/{home}" in pages or re.search(described, pages[f"api/{module}"], re.MULTILINE), home
    functional = {name for name in vars(lamina.functional) if name[0] != "_"}
    described = {full.rpartition(".")[2] for full in api.names(api.modules()) if full.startswith("lamina.functional.")}
    assert functional - described - {"jaxtyping"} == set()  # which is there while shapes are checked


def test_a_docstring_becomes_a_page(pages):
    page = pages["api/lamina.functional.recurrent"]
    assert page.startswith("# lamina.functional.recurrent\n")
    _, step = page.split("{py:function} rnn_step(")
    assert "\n\n$$h^{<t>} = \\sigma(W_{in} [h^{<t-1>}; u^{<t>}] + b), \\qquad \\sigma = \\tanh$$\n\nwith u =" in step
    assert ":Notes: [N5.05](../notes-to-code.md#n5-05), [N5.07]" in step
    assert ":Corrects: [E64](../errata.md#e64), sigma is tanh here" in step
    assert ":Args:\n  - `inputs`: the input of this time step.\n  - `state`:" in step
    assert "```pycon\n>>> u, h = torch.tensor([1.0]), torch.tensor([0.0])\n" in step
    assert "    return activation(torch.cat([h, u], -1) @ W_in.T + b)\n```" in step


def test_a_dataclass_shows_its_fields(pages):
    recipe = pages["api/lamina.training.recipe"]
    assert "{py:class} GD(learning_rate: float = 0.1, line_search: bool = False)\n" in recipe


def test_programs_of_two_libraries_stand_side_by_side(pages):
    assert pages["if-you-know"].count("::::{container} pair\n```py\n") == 5
    text = (DOCS / "if-you-know.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```py\n(.*)$", text, re.MULTILINE)
    assert len(blocks) == 5 and all(first.endswith(", not run here") for first in blocks)


def test_errata_are_those_of_the_table(pages):
    from lamina._catalogue import errata

    assert re.findall(r"^## (E\d\d):", pages["errata"], re.MULTILINE) == [*errata()]
    assert "[N1.47](notes-to-code.md#n1-47)" in pages["errata"]
    assert "{py:obj}`functional.optimizers:adam <lamina.functional.optimizers.adam>`" in pages["errata"]


def test_items_of_the_notes_have_anchors_and_lead_to_the_api(pages):
    from lamina._catalogue import items

    rows = re.findall(r"^\| \[(N\d\.\d\d)\]{#(n\d-\d\d)} \| .* \| (.*) \|$", pages["notes-to-code"], re.MULTILINE)
    assert [key for key, _, _ in rows] == [*items()]
    assert all(anchor == key.lower().replace(".", "-") for key, anchor, _ in rows)
    tests = dict((key, cells) for key, _, cells in rows)["N1.04"]
    assert tests.startswith("{py:obj}`functional.activations:heaviside <lamina.functional.activations.heaviside>`<br>")
    assert "<summary>1 test</summary>`tests/functional/test_activations.py::test_heaviside" in tests


def test_katex_is_whole_and_small(tools):
    katex = tools[0].KATEX
    style = (katex / "katex.min.css").read_text()
    fonts = {*re.findall(r"fonts/(\w+-\w+\.woff2)", style)}
    assert {path.name for path in (katex / "fonts").iterdir()} == fonts and len(fonts) == 20
    assert "MIT" in (katex / "LICENSE").read_text()
    assert sum(path.stat().st_size for path in katex.rglob("*") if path.is_file()) < 1_000_000


class Links(HTMLParser):
    """What a page defines, links to and loads."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.add(given["href"])
        elif tag == "link" and given.get("rel") not in ("index", "search", "next", "prev", "canonical"):
            self.loaded.add(given["href"])
        self.loaded |= {given["src"]} if given.get("src") else set()


def read(path: Path) -> Links:
    found = Links()
    found.feed(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.slow
@pytest.mark.linux
def test_the_site_builds_without_network_and_without_a_warning(tmp_path):
    site = tmp_path / "site"
    command = [sys.executable, ROOT / "tools/offline.py", sys.executable, ROOT / "tools/docs.py", site]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT / "src")})
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    found = {path: read(path) for path in site.rglob("*.html")}
    assert len(found) > 250
    for path, page in found.items():
        for target in page.loaded:
            assert not re.match(r"(https?:)?//", target), (path, target)
            assert target.startswith("data:") or (path.parent / unquote(target).split("?")[0]).exists(), (path, target)
        for link in page.links:
            if re.match(r"https?:|mailto:", link):
                continue
            target, _, anchor = unquote(link).partition("#")
            other = (path.parent / target).resolve() if target else path
            assert other.exists(), (path, link)
            if anchor and other.suffix == ".html":
                assert anchor in found[other].ids, (path, link)
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert not re.search(r"url\([\"']?(https?:)?//|@import", styles)
