"""Count the public names of `src/lamina`, and say for each package who uses them.

    python tools/surface.py [--only PACKAGE] [--json]

A public name is a function or class defined at module level without a leading underscore, in a module none of whose
path components starts with an underscore (`__init__.py` aside). Notebooks, the files that make a `marimo.App`, do not
count. Files are only read, nothing is imported.

Each name falls into one class, that of its farthest user:

- *packages*: another package of lamina uses it, or `lamina` itself exports it;
- *docs*: else the README, a page of docs/, an example, a benchmark or the catalogue of the notes does;
- *tests*: else a test or a tool does;
- *package*: else only other modules of its own package do;
- *module*: else only its own module does;
- *nowhere*: nothing does.

A file uses a name if it imports it, reaches it through a module that it imports (`kit.button`), asks for it by
`getattr` or `setattr`, or holds it in a string that is a path or a program, in a doctest, or between backticks in
Markdown. Where several modules define the same word, the file must also name the module or a package that it is in. So
a name may be used less widely than the table says. A `+` marks a name that the `__init__` of its package exports; that
alone does not count as a use.
"""

import argparse
import ast
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLASSES = ("packages", "docs", "tests", "package", "module", "nowhere")
DOCS, TESTS = ("docs", "examples", "benchmarks"), ("tests", "tools")
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, order=True)
class Public:
    """A name, the module that defines it, its class, and whether its package exports it."""

    module: str
    name: str
    used: str
    exported: bool

    @property
    def package(self) -> str:
        """The package right under the root, or the module that stands there."""
        return self.module.split(".")[1] if "." in self.module else self.module

    def __str__(self) -> str:
        return f"{self.module.partition('.')[2] or self.module}.{self.name}{'+' if self.exported else ''}"


def _module(home: Path, path: Path) -> str:
    parts = (home.name, *path.relative_to(home).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _defined(home: Path, path: Path, tree: ast.Module, text: str) -> list[str]:
    parts = path.relative_to(home).with_suffix("").parts
    if any(part.startswith("_") for part in parts if part != "__init__") or "marimo.App(" in text:
        return []
    return [node.name for node in tree.body if isinstance(node, Definition) and not node.name.startswith("_")]


def _strings(text: str) -> Iterator[str]:
    """Give the words of a string that is a path into a package or a program, and of the doctests in any string."""
    code = text if re.fullmatch(r"\w+([.:]\w+)+", text) or re.search(r"\bimport\b", text) else ""
    for line in (code, *re.findall(r"^\s*(?:>>>|\.\.\.) (.*)$", text, re.MULTILINE)):
        yield from re.findall(r"\w+", line)


def _chain(node: ast.expr) -> list[str]:
    """Give the names of `a.b.c`, or none if it does not start with a name."""
    if isinstance(node, ast.Attribute):
        left = _chain(node.value)
        return [*left, node.attr] if left else []
    return [node.id] if isinstance(node, ast.Name) else []


def words(path: Path, package: str) -> set[str]:
    """Find the words by which a file can use what another one defines."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return set(re.findall(r"\w+", " ".join(re.findall(r"```.*?```|`[^`]*`", text, re.DOTALL))))
    if path.suffix == ".toml":
        return set(re.findall(r"\w+", text))
    found, bound = set[str](), set[str]()
    nodes = list(ast.walk(ast.parse(text)))
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            source = getattr(node, "module", None) or (node.names[0].name if isinstance(node, ast.Import) else package)
            if source.split(".")[0] != package and not getattr(node, "level", 0):
                continue
            found.update(source.split("."))
            found.update(part for alias in node.names for part in alias.name.split("."))
            bound.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
    for node in nodes:
        if isinstance(node, ast.Attribute) and (names := _chain(node)) and names[0] in bound:
            found.update(names[1:])
        elif isinstance(node, ast.Call) and _chain(node.func)[-1:] in (["getattr"], ["setattr"]):
            found.update(a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.update(_strings(node.value))
    return found


def _at_home(tree: ast.Module) -> set[str]:
    """Find the names that a module uses itself: variables, attributes, and what a decorator registers."""
    nodes = list(ast.walk(tree))
    found = {node.id for node in nodes if isinstance(node, ast.Name)}
    found |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return found | {
        node.name for node in tree.body if isinstance(node, Definition) and node.decorator_list and not _plain(node)
    }


def _plain(node: Definition) -> bool:
    """Say if the decorators of a definition only change it (`@dataclass`, `@cache`), and do not register it."""
    return isinstance(node, ast.ClassDef) or not any(isinstance(d, ast.Call) for d in node.decorator_list)


def _files(root: Path, folders: Iterable[str]) -> list[Path]:
    return [p for folder in folders for p in sorted((root / folder).rglob("*")) if p.suffix in (".py", ".md")]


def surface(root: Path = ROOT, package: str = "lamina") -> list[Public]:
    """List the public names of `root/src/package` with the class of each."""
    home = root / "src" / package
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(home.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    defined = {path: _defined(home, path, trees[path], text) for path, text in texts.items()}
    often = Counter(name for names in defined.values() for name in names)
    held = {path: words(path, package) for path in texts}
    docs = [words(p, package) for p in (*_files(root, DOCS), root / "README.md", home / "catalogue.toml") if p.exists()]
    tests = [words(path, package) for path in _files(root, TESTS)]
    room = {path: path.relative_to(home).parts[0] for path in texts}
    found = []
    for path, names in defined.items():
        module = _module(home, path)
        near = set(module.split(".")[1:])
        doors = {parent / "__init__.py" for parent in path.parents if home in parent.parents} & held.keys() - {path}
        groups = (
            [held[p] for p in texts if room[p] != room[path]],
            docs,
            tests,
            [held[p] for p in texts if room[p] == room[path] and p != path and p not in doors],
        )
        home_use = _at_home(trees[path])
        for name in names:
            uses = [
                any(name in text and (often[name] == 1 or (near - {name}) & text) for text in group) for group in groups
            ]
            uses += [name in home_use, True]
            exported = any(name in held[door] for door in doors)
            found.append(Public(module, name, CLASSES[uses.index(True)], exported))
    return sorted(found)


def table(found: Iterable[Public]) -> str:
    """Write the counts of each package and of all, a row each."""
    found = list(found)
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for one in found:
        rows[one.package][one.used] += 1
    lines = [f"{'package':16}{'public':>8}" + "".join(f"{name:>10}" for name in CLASSES)]
    for package, row in [*sorted(rows.items()), ("all", Counter(one.used for one in found))]:
        lines.append(f"{package:16}{row.total():8}" + "".join(f"{row[name]:10}" for name in CLASSES))
    return "\n".join(lines)


def main() -> None:
    """Print the table, and for each package the names that no other package and no doc uses."""
    parser = argparse.ArgumentParser(description="Count the public names of lamina and say who uses them.")
    parser.add_argument("--only", help="list the names of this package only")
    parser.add_argument("--json", action="store_true", help="print every name with its class")
    asked = parser.parse_args()
    found = surface()
    if asked.json:
        print(json.dumps({f"{one.module}.{one.name}": one.used for one in found}, indent=1))
        return
    print(table(found))
    for package in sorted({one.package for one in found if asked.only in (None, one.package)}):
        print(f"\n{package}")
        for used in CLASSES[2:]:
            names = [str(one) for one in found if one.package == package and one.used == used]
            if names:
                print(f"  {used} ({len(names)}): {', '.join(names)}")


if __name__ == "__main__":
    main()
