"""Find cycles among the modules of `src/lamina`, also those that hide behind imports inside functions.

    python tools/imports.py [--json]

Read are the files alone, nothing is imported. An import under `if TYPE_CHECKING:` never runs and does not count; one
inside a function is late. A late import breaks a cycle if it would close one at the head of its file: the module that
it names leads back to it by imports at the head of files. That a module runs the `__init__` of its packages first is
left out, and so are names in texts, as `importlib.import_module` reads them.
"""

import ast
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent / "src" / "lamina"
Graph = Mapping[str, set[str]]


@dataclass(frozen=True, order=True)
class Import:
    """One module names another, at the head of its file or late, in a line."""

    importer: str
    imported: str
    late: bool
    line: int

    def __str__(self) -> str:
        return f"{self.importer} -> {self.imported}"


def modules(home: Path = HOME) -> dict[str, Path]:
    """Give the files of a package by the names of their modules."""
    found = {}
    for path in sorted(home.rglob("*.py")):
        parts = (home.name, *path.relative_to(home).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(home: Path = HOME) -> list[Import]:
    """List which module of a package imports which other one, each pair once; at the head goes before late."""
    files = modules(home)
    found: dict[tuple[str, str], Import] = {}
    for importer, path in files.items():
        for node, late in _statements(ast.parse(path.read_text(encoding="utf-8")).body, False):
            for imported in _named(node, importer, path, files):
                new = Import(importer, imported, late, node.lineno)
                old = found.get((importer, imported))
                if imported != importer and (old is None or (old.late and not late)):
                    found[importer, imported] = new
    return sorted(found.values())


def _statements(nodes: Iterable[ast.AST], late: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Go through all imports that can run, and say which stand inside a function."""
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, late
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield from _statements(node.orelse, late)
        elif not isinstance(node, ast.expr):
            inside = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from _statements(ast.iter_child_nodes(node), inside)


def _named(node: ast.Import | ast.ImportFrom, importer: str, path: Path, files: Mapping[str, Path]) -> Iterator[str]:
    """Name the modules of the package that an import asks for: `from a import b` means `a.b` if that is a module."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in files)
        return
    base = node.module or ""
    if node.level:
        package = importer.split(".")[: None if path.name == "__init__.py" else -1]
        base = ".".join([*package[: len(package) - node.level + 1], *([base] if base else [])])
    for alias in node.names:
        name = f"{base}.{alias.name}"
        if name in files or base in files:
            yield name if name in files else base


def graph(found: Iterable[Import]) -> dict[str, set[str]]:
    """Give for each module those that it imports."""
    edges: dict[str, set[str]] = {}
    for one in found:
        edges.setdefault(one.importer, set()).add(one.imported)
    return edges


def reached(edges: Graph, start: str) -> set[str]:
    """Find everything that a module leads to."""
    seen, rest = set[str](), [start]
    while rest:
        for module in edges.get(rest.pop(), set()) - seen:
            seen.add(module)
            rest.append(module)
    return seen


def knots(edges: Graph) -> list[list[str]]:
    """Find the sets of modules that all lead to each other: those of one cycle or of several that touch."""
    beyond = {module: reached(edges, module) for module in edges}
    inside = {module for module, others in beyond.items() if module in others}
    found = {tuple(sorted(other for other in inside if other in beyond[m] and m in beyond[other])) for m in inside}
    return [list(knot) for knot in sorted(found)]


def breakers(found: Iterable[Import]) -> list[Import]:
    """List the late imports that would close a cycle at the head of their file."""
    found = list(found)
    head = graph(one for one in found if not one.late)
    return [one for one in found if one.late and one.importer in reached(head, one.imported)]


def main() -> None:
    """Print cycles, and the late imports that hide one."""
    found = imports()
    head, hidden = knots(graph(one for one in found if not one.late)), knots(graph(found))
    late, closing = [one for one in found if one.late], breakers(found)
    if "--json" in sys.argv:
        counts = {"modules": len(modules()), "imports": len(found), "late": len(late)}
        print(json.dumps({**counts, "knots": head, "hidden": hidden, "breakers": list(map(str, closing))}, indent=1))
        return
    for title, rows in (("at the head of files", head), ("with late imports", hidden)):
        print(f"{len(rows)} knots of modules that import each other {title}")
        print(*(f"  {', '.join(knot)}" for knot in rows), sep="\n")
    print(f"{len(closing)} of {len(late)} late imports break a cycle")
    print(*(f"  {one}  (line {one.line})" for one in closing), sep="\n")


if __name__ == "__main__":
    main()
