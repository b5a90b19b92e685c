"""Build the documentation site: `python tools/docs.py [FOLDER]`, `build/docs` when no folder is given.

The builder is Sphinx with MyST. The pages under docs/ are Markdown that GitHub shows too, and MyST reads them as they
are; Sphinx describes Python objects in a domain of its own, checks every link and turns warnings into errors. Of the
others, mkdocs-material is in maintenance and the API pages of Zensical are preliminary. Docstrings are Markdown with
formulas, so autodoc, which expects reStructuredText, is not used: `tools/api_pages.py` writes a page for each public
module. KaTeX lies with the live pages, and no page asks for a host. The book, which is all live pages without a server,
is written into FOLDER/book.

What Sphinx reads is laid out in FOLDER-source: the pages of docs/, README as the first page, CONTRIBUTING, CHANGELOG,
the errata, the examples, and the API. A page of docs/ that `SECTIONS` does not name is listed under "More".
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import api_pages
from api_pages import ROOT, linked

from lamina._catalogue import errata
from lamina.pages.book.writing import export

DOCS = ROOT / "docs"
KATEX = ROOT / "src/lamina/pages/static/katex"
"""What sets formulas, here and in the book."""
SECTIONS = {
    "Start": ["installing", "if-you-know", "verbs"],
    "How to, by kind of data": [
        "howto-pictures", "howto-table", "howto-texts", "howto-pairs", "howto-series", "own-data", "large-data",
    ],
    "Training": [
        "training", "sequences", "optimizers", "own-loss", "augmentation", "transfer", "searching", "ranks", "scale",
        "tracking", "estimators", "export",
    ],
    "Looking inside": ["inspection", "drawing", "figures", "experiments", "notes", "book", "homework"],
    "The notes and the code": ["architectures", "conventions", "notes-to-code", "errata", "api/lamina"],
    "Results": ["results", "benchmarks", "faults", "examples"],
    "How Lamina is made": ["design", "contributing", "changelog"],
}  # fmt: skip
TITLES = {"api/lamina": "API <api/lamina>", "contributing": "Contributing <contributing>"}
MOVED = {  # where a file is found on the site; search.html is Sphinx's own
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "docs/search.md": "searching.md",
    "examples": "examples.md",
}


def navigation(pages: set[str]) -> dict[str, list[str]]:
    """Return which pages stand under which heading: each once, and those that no section names under "More"."""
    listed = {title: [name for name in names if name in pages] for title, names in SECTIONS.items()}
    more = sorted(pages - {name for names in listed.values() for name in names} - {"index"})
    return listed | ({"More": more} if more else {})


def _relinked(text: str, folder: Path) -> str:
    """Point the links of a page at the pages of the site; what the site does not have keeps its words only."""

    def replaced(match: re.Match[str]) -> str:
        words, target, anchor = match[1], match[2], match[3] or ""
        path = (folder / target).resolve()
        place = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
        if place in MOVED or place.startswith("docs/"):
            return f"[{words}]({MOVED.get(place, place.removeprefix('docs/'))}{anchor})"
        return words if path.exists() else match[0]

    parts = re.split(r"(^```.*?^```|`[^`\n]*`)", text, flags=re.MULTILINE | re.DOTALL)
    link = r"\[([^\]\[]*)\]\((?!https?:)([^)#\s]+)(#[^)]*)?\)"
    return "".join(part if part.startswith("`") else re.sub(link, replaced, part) for part in parts)


def _paired(text: str) -> str:
    """Put a program of another library (fenced as `py`, never run) and ours below it side by side."""
    pair = r"^(```py\n.*?^```)\n+(```python\n.*?^```)$"
    return re.sub(pair, r"::::{container} pair\n\1\n\n\2\n::::", text, flags=re.MULTILINE | re.DOTALL)


def _object(name: str, known: set[str]) -> str:
    """Link `module:object` to its description, where there is one."""
    full = name.replace(":", ".")
    shown = name.removeprefix("lamina.")
    return f"{{py:obj}}`{shown} <{full}>`" if full in known else f"`{shown}`"


def _notes_to_code(text: str, known: set[str]) -> str:
    """Give every item an anchor, link the objects to their descriptions and fold the tests up."""

    def replaced(match: re.Match[str]) -> str:
        chapter, number, what, code, tests, page = match.groups()
        code = re.sub(r"`(lamina[\w.]*:[\w.]+)`", lambda name: _object(name[1], known), code)
        count = f"{tests.count('::')} test{'s' if tests.count('::') > 1 else ''}"
        folded = f"<details><summary>{count}</summary>{tests}</details>" if "::" in tests else tests
        return f"| [N{chapter}.{number}]{{#n{chapter}-{number}}} | {what} | {code}<br>{folded} {page} |"

    row = r"^\| N(\d)\.(\d\d) \| (.*) \| (.*) \| (.*) \| (.*) \|$"
    text = re.sub(row, replaced, text, flags=re.MULTILINE)
    return text.replace("| code | test | page |\n| --- | --- | --- |", "| code, tests, page |\n| --- |")


def _errata(known: set[str]) -> str:
    text = [
        "# Errata",
        "",
        "Where the lecture notes slip, claim too much, leave something open or differ from PyTorch.",
    ]
    text.append("The same list is printed by `lamina errata` and shown by `lamina notes` at `/errata`.")
    for key, slip in errata().items():
        objects = ", ".join(_object(name, known) for name in slip.code)
        rows = linked(", ".join(slip.rows)).replace("../", "")
        says, right = (said.replace("<", r"\<").replace("*", r"\*") for said in (slip.says, slip.right))
        text += [f"\n({key.lower()})=\n", f"## {key}: {slip.title}", "", f":Kind: {slip.kind}", f":Items: {rows}"]
        text += [f":The notes say: {says}", f":What is right: {right}", *([f":Code: {objects}"] if objects else [])]
        text += [":Pages: " + ", ".join(f"`{page}`" for page in slip.page)] if slip.page else []
    return "\n".join(text) + "\n"


def _examples() -> str:
    text = ["# Examples", "", "Scripts to start from; each fails when it does not reach what it promises."]
    for path in sorted((ROOT / "examples").glob("*.py")):
        text.append(f"\n## {path.name}\n\n```python\n{path.read_text(encoding='utf-8')}```")
    return "\n".join(text) + "\n"


def _toctrees(pages: set[str]) -> str:
    return "".join(
        f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n"
        + "\n".join(TITLES.get(name, name) for name in names)
        + "\n```\n"
        for title, names in navigation(pages).items()
    )


def pages() -> dict[str, str]:
    """Return the text of every page of the site by its name, the API included."""
    modules = api_pages.modules()
    known = api_pages.names(modules)
    found = {}
    for path in {*DOCS.glob("*.md"), *(ROOT / name for name in MOVED if name.endswith(".md"))}:
        name = path.relative_to(ROOT).as_posix()
        text = _paired(_relinked(path.read_text(encoding="utf-8"), path.parent))
        found[MOVED.get(name, path.name).removesuffix(".md")] = text
    found["notes-to-code"] = _notes_to_code(found["notes-to-code"], known)
    found |= {"errata": _errata(known), "examples": _examples(), "api/lamina": api_pages.front(modules)}
    found["index"] += _toctrees({*found})
    return found | {f"api/{name}": api_pages.page(module, modules) for name, module in modules.items()}


def lay_out(folder: Path) -> None:
    """Write what Sphinx reads."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("conf.py", "_static", "figures"):
        copy = shutil.copytree if (DOCS / name).is_dir() else shutil.copy
        folder.mkdir(parents=True, exist_ok=True)
        copy(DOCS / name, folder / name)
    shutil.copytree(KATEX, folder / "_static/katex")
    for name, text in pages().items():
        path = folder / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def main() -> None:
    """Lay the sources out and build; a warning is an error."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/docs")
    source = out.with_name(out.name + "-source")
    lay_out(source)
    shutil.rmtree(out, ignore_errors=True)
    options = ["-W", "--keep-going", "-q", "-j", "auto", "-d", str(source / ".doctrees")]
    done = subprocess.run([sys.executable, "-m", "sphinx", "-b", "html", *options, str(source), str(out)])
    if done.returncode:
        sys.exit(done.returncode)
    export(out / "book")
    print(f"The site is in {out}: open {out / 'index.html'}.")


if __name__ == "__main__":
    main()
