"""Keep `src/lamina/catalogue.toml` and `errata.toml` true: read docstrings, docs, pages and `notes` marks of tests.

    python tools/catalogue.py           # report what is out of date or missing, exit 1 if anything is
    python tools/catalogue.py --write   # write the code, test and page columns and docs/notes-to-code.md

Rows are cited on `Notes:` lines, errata under `Corrects:` and `Differs:`; pages link `/errata#E70`. In a row the
readable function of the equation comes first, its fast paths come last.

The columns `code`, `test` and `page` are rewritten, and a row that a page shows is no longer waiting for one. The rest
of `pending` is edited by hand and only ever shrinks (a test holds that): a figure whose numbers are already tested
stays pending until it is drawn.
"""

import ast
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))
from lamina._catalogue import Erratum, Item, errata, items  # noqa: E402

TOML, PAGE = ROOT / "src/lamina/catalogue.toml", ROOT / "docs/notes-to-code.md"
ERRATA = ROOT / "src/lamina/errata.toml"
ID = re.compile(r"N[1-5]\.\d\d")
CORRECTION = re.compile(r"^ *(?:Corrects|Differs):.*\n?(?:(?! *[A-Z][a-z]+:| *>>>| *$).+\n?)*", re.MULTILINE)
PACKAGES = (
    "functional", "backprop", "classical", "layers", "architectures", "data", "training", "inspection", "populations",
    "studies", "drawing", "experiments", "pages", "kernels",
)  # fmt: skip
HOMES = {"figure": r"drawing\.|experiments\.figures", "experiment": r"experiments\.", "dataset": r"data\."}
SERVING = {"functional.activations", "functional.ode"}  # what equations of other modules are made of
FAST = re.compile(r"^lamina\.kernels\b|\bkernels\.|\.fused")
FIRST = {"N1.74": "lamina.architectures.logic:logic_gate", "N3.07": "lamina.architectures.lenet:LeNet5"}
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


def corrected(text: str) -> list[str]:
    """Return the errata that a docstring or page names under `Corrects:` or `Differs:`."""
    return re.findall(r"\bE\d\d\b", " ".join(CORRECTION.findall(text)))


def scan_code(named: Callable[[str], list[str]]) -> dict[str, list[str]]:
    """Map each id to the objects and pages whose text names it, in the order of the sources."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for path in sorted((ROOT / "src/lamina").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
        for key in named(ast.get_docstring(tree) or ""):
            found[key][module] = None
        for name, node in _definitions(tree):
            for key in named(ast.get_docstring(node) or ""):  # type: ignore[arg-type]
                found[key][f"{module}:{name}"] = None
    for path in sorted((ROOT / "docs").glob("*.md")):
        if path != PAGE:
            for key in named(path.read_text(encoding="utf-8")):
                found[key][str(path.relative_to(ROOT))] = None
    return {key: list(names) for key, names in found.items()}


def in_order(names: list[str], row: Item | None = None) -> tuple[str, ...]:
    """Put the readable function of an equation first, then what is built on it; its fast paths come last."""
    home = re.compile(HOMES.get(row.kind.partition(",")[0], r"(?!)") if row else r"(?!)")

    def place(name: str) -> tuple[object, ...]:
        module, _, own = name.removeprefix("lamina.").partition(":")
        package = module.partition(".")[0]
        rank = PACKAGES.index(package) if package in PACKAGES else len(PACKAGES)
        record = own.endswith("Config") or (package in ("functional", "backprop", "classical") and own[:1].isupper())
        chosen = row is not None and name == FIRST.get(row.id)
        return not chosen, bool(FAST.search(module)), not home.match(module), rank, module in SERVING, module, record

    return tuple(sorted(names, key=place))


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
    """Map each row to the live pages whose `section(..., ids=(...))` has it, and each erratum to those that link it."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted((ROOT / "src/lamina/pages/chapters").rglob("page.py")):
        page, text = f"{path.parts[-3]}/{path.parts[-2].replace('_', '-')}", path.read_text(encoding="utf-8")
        for key in re.findall(r"/errata#(E\d\d)", text):
            found[key].add(page)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("section", "kit.section"):
                for key in ID.findall(" ".join(ast.unparse(word) for word in node.keywords if word.arg == "ids")):
                    found[key].add(page)
    return {key: sorted(names) for key, names in found.items()}


def updated() -> tuple[dict[str, Item], dict[str, Erratum]]:
    """Return the catalogue and the errata with their columns as the sources have them now."""
    code, test, page, rows = scan_code(cited), scan_tests(), scan_pages(), {}
    for key, row in items().items():
        shown, own = tuple(page.get(key, ())), in_order(code.get(key, []), row)
        left = tuple(part for part in row.pending if not (part == "page" and shown))
        rows[key] = replace(row, code=own, test=tuple(test.get(key, ())), page=shown, pending=left)
    code = scan_code(corrected)
    return rows, {
        key: replace(slip, code=in_order(code.get(key, [])), page=tuple(page.get(key, ())))
        for key, slip in errata().items()
    }


def problems(rows: dict[str, Item], slips: dict[str, Erratum]) -> list[str]:
    """Say in sentences what is wrong: unknown ids, rows without code or test that are not pending, bare errata."""
    known = rows.keys() | slips.keys()
    said = [f"{name} cites {key}, which is not in the catalogue"
            for found in (scan_code(cited), scan_code(corrected), scan_tests(), scan_pages())
            for key in found.keys() - known for name in found[key]]  # fmt: skip
    for path in sorted((ROOT / "src/lamina").rglob("*.py")):
        said += [f"{path.relative_to(ROOT)} cites {place}" for place in misplaced(path.read_text(encoding="utf-8"))]
    for row in rows.values():
        said += [
            f"{row.id} ({row.title}) has no {part} and is not pending"
            for part in ("code", "test", "page")
            if not getattr(row, part) and part not in row.pending
        ]
    for slip in slips.values():
        said += [f"{slip.id} ({slip.title}) has no code: name it under `Corrects:`"] * (not slip.code)
        said += [f"{slip.id} ({slip.title}) has no page: link /errata#{slip.id} there"] * (not slip.page)
        said += [f"{slip.id} belongs to {key}, which is not in the catalogue" for key in slip.rows if key not in rows]
    return said


HEADS = {
    TOML: """\
# Every item of the lecture notes: what it is, the issue that owns it, the code that implements it, the test
# that checks it, the page that shows it. `make catalogue` fills in code, test and page.""",
    ERRATA: """\
# Every place where the lecture notes slip, claim too much, leave something open or differ from PyTorch: what they say,
# what is right, and the rows of the catalogue it belongs to. `make catalogue` fills in code and page.""",
}


def as_toml(head: str, rows: Mapping[str, Item | Erratum]) -> str:
    """Write the rows in the one format of both files."""
    text = [head]
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
    rows, slips = updated()
    wrong = problems(rows, slips)
    files = {TOML: as_toml(HEADS[TOML], rows), ERRATA: as_toml(HEADS[ERRATA], slips), PAGE: as_page(rows)}
    for path, text in files.items():
        if "--write" in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            wrong.append(f"{path.relative_to(ROOT)} is out of date: run  make catalogue")
    print(*wrong, sep="\n")
    left = {part: sum(part in row.pending for row in rows.values()) for part in ("code", "test", "page")}
    print(f"{len(rows)} rows; pending: {left}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
