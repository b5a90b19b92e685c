"""Keep `src/lamina/catalogue.toml` true: read `Notes:` lines of docstrings and docs, and `notes` marks of tests.

    python tools/catalogue.py           # report what is out of date or missing, exit 1 if anything is
    python tools/catalogue.py --write   # write the code, test and page columns and docs/notes-to-code.md

The columns `code`, `test` and `page` are rewritten, and a row that a page shows is no longer waiting for one. The rest
of `pending` is edited by hand and only ever shrinks (a test holds that): a figure whose numbers are already tested
stays pending until it is drawn.
"""

import ast
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))
from lamina._catalogue import Item, items  # noqa: E402

TOML, PAGE = ROOT / "src/lamina/catalogue.toml", ROOT / "docs/notes-to-code.md"
ID = re.compile(r"N[1-5]\.\d\d")
CHAPTERS = {
    "N1": "Introduction",
    "N2": "Feedforward neural network",
    "N3": "Convolutional neural network",
    "N4": "ResNet",
    "N5": "Recurrent neural network",
}


def cited(text: str) -> list[str]:
    """Return the ids on the `Notes:` lines of a docstring or page; `N1.73-N1.75` stands for all three."""
    found: list[str] = []
    for line in re.findall(r"^\s*Notes:(.*)$", text, flags=re.MULTILINE):
        for first, last in re.findall(r"(N[1-5]\.\d\d)(?:\s*-\s*(N[1-5]\.\d\d))?", line):
            end = int(last[3:]) if last else int(first[3:])
            found += [f"{first[:3]}{number:02d}" for number in range(int(first[3:]), end + 1)]
    return found


def misplaced(text: str) -> list[str]:
    """Say which ids on `Notes:` lines stand without their section."""
    wrong = []
    for line in re.findall(r"^\s*Notes:.*$", text, flags=re.MULTILINE):
        named = set(re.findall(r"§(\d(?:\.\d)*)", line))
        wrong += [f"{key} without §{items()[key].section}" for key in cited(line) if items()[key].section not in named]
    return wrong


def _definitions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield prefix + node.name, node
            yield from _definitions(node, prefix + node.name + ".")


def scan_code() -> dict[str, list[str]]:
    """Map each id to the objects and pages whose text cites it."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "src/lamina").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
        for key in cited(ast.get_docstring(tree) or ""):
            found[key].append(module)
        for name, node in _definitions(tree):
            for key in cited(ast.get_docstring(node) or ""):  # type: ignore[arg-type]
                found[key].append(f"{module}:{name}")
    for path in sorted((ROOT / "docs").glob("*.md")):
        if path != PAGE:
            for key in cited(path.read_text(encoding="utf-8")):
                found[key].append(str(path.relative_to(ROOT)))
    return {key: sorted(set(names)) for key, names in found.items()}


def scan_tests() -> dict[str, list[str]]:
    """Map each id to the test functions that carry it in a `notes` mark."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name, node in _definitions(ast.parse(path.read_text(encoding="utf-8"))):
            for decorator in getattr(node, "decorator_list", []):
                if ast.unparse(decorator).startswith("pytest.mark.notes("):
                    for key in ID.findall(ast.unparse(decorator)):
                        found[key].append(f"{path.relative_to(ROOT)}::{name.replace('.', '::')}")
    return {key: sorted(set(names)) for key, names in found.items()}


def scan_pages() -> dict[str, list[str]]:
    """Map each id to the live pages that have a `section(..., ids=(...))` with it."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "src/lamina/pages/chapters").rglob("*.py")):
        page = f"{path.parent.name}/{path.stem.replace('_', '-')}"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("section", "kit.section"):
                for key in ID.findall(" ".join(ast.unparse(word) for word in node.keywords if word.arg == "ids")):
                    found[key].append(page)
    return {key: sorted(set(names)) for key, names in found.items()}


def updated() -> dict[str, Item]:
    """Return the catalogue with its code, test and page columns as the sources have them now."""
    code, test, page, rows = scan_code(), scan_tests(), scan_pages(), {}
    for key, row in items().items():
        shown = tuple(page.get(key, ()))
        left = tuple(part for part in row.pending if not (part == "page" and shown))
        rows[key] = replace(row, code=tuple(code.get(key, ())), test=tuple(test.get(key, ())), page=shown, pending=left)
    return rows


def problems(rows: dict[str, Item]) -> list[str]:
    """Say in sentences what is wrong: unknown ids, and rows without code or test that are not pending."""
    said = [f"{name} cites {key}, which is not in the catalogue" for found in (scan_code(), scan_tests(), scan_pages())
            for key in found.keys() - rows.keys() for name in found[key]]  # fmt: skip
    for path in sorted((ROOT / "src/lamina").rglob("*.py")):
        said += [f"{path.relative_to(ROOT)} cites {place}" for place in misplaced(path.read_text(encoding="utf-8"))]
    for row in rows.values():
        said += [
            f"{row.id} ({row.title}) has no {part} and is not pending"
            for part in ("code", "test", "page")
            if not getattr(row, part) and part not in row.pending
        ]
    return said


def as_toml(rows: dict[str, Item]) -> str:
    """Write the rows in the one format of the file."""
    text = [
        "# Every item of the lecture notes: what it is, the issue that owns it, the code that implements it, the test",
        "# that checks it, the page that shows it. `make catalogue` fills in code, test and page.",
    ]
    for key, row in rows.items():
        text.append(f'\n["{key}"]')
        for name, value in asdict(row).items():
            if name != "id" and value not in ((), []):
                text.append(f"{name} = {json.dumps(value, ensure_ascii=False)}")
    return "\n".join(text) + "\n"


def as_page(rows: dict[str, Item]) -> str:
    """Write the index notes -> code -> test -> page as a Markdown page."""
    text = [
        "# Notes → code → test → page",
        "",
        "Made by `make catalogue` from `src/lamina/catalogue.toml`; do not edit. Ids are those of our catalogue",
        "of the lecture notes; *issue n* marks what a later issue brings. Pages open with `lamina notes`.",
    ]
    for chapter, title in CHAPTERS.items():
        text += [
            "",
            f"## {chapter[1]} {title}",
            "",
            "| id | what | code | test | page |",
            "| --- | --- | --- | --- | --- |",
        ]
        for row in rows.values():
            if row.id.startswith(chapter):
                code, test, page = (
                    "<br>".join([f"`{name}`" for name in names] + [f"*issue {owner}*"] * (part in row.pending))
                    for part, names, owner in (
                        ("code", row.code, row.owner), ("test", row.test, row.owner), ("page", row.page, 7)
                    )
                )  # fmt: skip
                text.append(
                    f"| {row.id} | {row.title} ({row.kind}; §{row.section}, {row.place}) | {code} | {test} "
                    f"| {page} |".replace("||", "\\|\\|")
                )
    return "\n".join(text) + "\n"


def main() -> int:
    """Report, or write."""
    rows = updated()
    wrong = problems(rows)
    if "--write" in sys.argv:
        TOML.write_text(as_toml(rows), encoding="utf-8")
        PAGE.write_text(as_page(rows), encoding="utf-8")
    else:
        if TOML.read_text(encoding="utf-8") != as_toml(rows) or PAGE.read_text(encoding="utf-8") != as_page(rows):
            wrong.append("catalogue.toml or docs/notes-to-code.md is out of date: run  make catalogue")
    print(*wrong, sep="\n")
    left = {part: sum(part in row.pending for row in rows.values()) for part in ("code", "test", "page")}
    print(f"{len(rows)} rows; pending: {left}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
