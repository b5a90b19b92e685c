"""The API pages of the site: Markdown for every public module, read from the sources without importing them.

A docstring is Markdown with formulas already, so its text stays as it is; its records (`Notes:`, `Corrects:`,
`Differs:`) and sections (`Args:`, `Returns:`, ...) become fields, and ids of the notes and errata become links.
"""

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from copy import copy, deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
sys.path.insert(0, str(SOURCE))
import lamina  # noqa: E402

PACKAGES = sorted({*lamina._PACKAGES, *(home.split(".")[0] for home in lamina._NAMES if home[0] != "_")})
FIELD = re.compile(r"(Notes|Corrects|Differs|Args|Attributes|Returns|Yields|Raises): *(.*)")
LISTED = ("Args", "Attributes", "Raises")
SHOWN = tuple(f"lamina.{name}." for name in ("functional", "layers", "classical", "backprop"))  # the code stands below

Definition = ast.FunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Module:
    """A public module: its dotted name, its file, its text and its tree."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        """Say whether the module is a package."""
        return self.path.name == "__init__.py"

    @cached_property
    def origins(self) -> dict[str, str]:
        """The full name of whatever the module imports or defines: `Run` alone may be one of two."""
        found = {}
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom):
                found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        return found | {name: f"{self.name}.{name}" for name in (*self.constants, *self.definitions)}

    @cached_property
    def definitions(self) -> dict[str, Definition]:
        """The public functions and classes that have a docstring, by name."""
        nodes = (node for node in self.tree.body if isinstance(node, Definition))
        return {node.name: node for node in nodes if node.name[0] != "_" and ast.get_docstring(node)}

    @cached_property
    def constants(self) -> dict[str, tuple[str, str]]:
        """The public assignments by name: as they are written, and the string below them."""
        found = {}
        for node, below in zip(self.tree.body, [*self.tree.body[1:], None], strict=True):
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            if isinstance(target, ast.Name) and target.id[0] != "_":
                said = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and below.value.value
                value = " ".join(ast.unparse(node).split())
                shown = value if len(value) < 100 else f"{target.id} = ..."
                found[target.id] = (shown, said if isinstance(said, str) else "")
        return found


def _module(path: Path) -> Module:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    text = path.read_text(encoding="utf-8")
    return Module(".".join(parts[:-1] if parts[-1] == "__init__" else parts), path, text, ast.parse(text))


def modules() -> dict[str, Module]:
    """Return all modules of the public packages whose names have no underscore, packages included."""
    paths = [path for package in PACKAGES for path in (SOURCE / "lamina" / package).rglob("*.py")]
    found = [_module(path) for path in paths]
    public = (module for module in found if "._" not in module.name)
    return {module.name: module for module in sorted(public, key=lambda module: module.name)}


def linked(text: str) -> str:
    """Link the ids of the notes' items and of errata."""
    text = re.sub(r"\bN([1-5])\.(\d\d)\b", r"[N\1.\2](../notes-to-code.md#n\1-\2)", text)
    return re.sub(r"\bE(\d\d)\b", r"[E\1](../errata.md#e\1)", text)


def _prose(text: str) -> str:
    """Put formulas between blank lines and escape what Markdown would take for HTML; code stays as it is."""
    pieces = re.split(r"(\$\$.*?\$\$|`[^`]*`|(?<![\w$])\$[^$]+\$)", text, flags=re.DOTALL)
    for i, piece in enumerate(pieces):
        if piece.startswith("$$"):
            pieces[i] = f"\n\n{piece}\n\n"
        elif piece.startswith("$"):
            pieces[i] = " ".join(piece.split())
        elif not piece.startswith("`"):
            pieces[i] = linked(piece.replace("<", r"\<").replace("*", r"\*"))
    return re.sub(r"\n{3,}", "\n\n", "".join(pieces)).strip()


def _entries(lines: list[str]) -> str:
    """Turn the indented lines of `Args:` into a list; a line that is not indented further begins an entry."""
    text = inspect.cleandoc("\n" + "\n".join(lines))
    entries = [" ".join(entry.split()) for entry in re.split(r"\n(?=\S)", text)]
    named = (re.match(r"([\w*][\w., *]*): (.*)", entry) for entry in entries)
    return "".join(
        f"\n  - `{match[1]}`: {_prose(match[2])}" if match else f"\n  - {_prose(entry)}"
        for match, entry in zip(named, entries, strict=True)
    )


def markdown(docstring: str) -> str:
    """Turn a docstring into Markdown: text, then examples in fences, with the records and sections as fields."""
    lines, parts, i = docstring.splitlines(), [], 0
    while i < len(lines):
        start, line = i, lines[i]
        i += 1
        if match := FIELD.fullmatch(line):
            while i < len(lines) and lines[i].strip() and not FIELD.fullmatch(lines[i]) and ">>>" not in lines[i]:
                i += 1
            name, inside = match[1], lines[start + 1 : i]
            if name in LISTED:
                parts.append(f":{name}:{_entries(inside)}")
            else:
                parts.append(f":{name}: " + " ".join(_prose("\n".join([match[2], *inside])).split()))
            if i < len(lines) and FIELD.fullmatch(lines[i]):
                continue
        elif line.startswith(">>>"):
            while i < len(lines) and lines[i].strip():
                i += 1
            parts.append("\n```pycon\n" + "\n".join(lines[start:i]) + "\n```\n")
        elif line.startswith("    "):
            while i < len(lines) and (not lines[i].strip() or lines[i].startswith("    ")):
                i += 1
            parts.append("\n```python\n" + inspect.cleandoc("\n" + "\n".join(lines[start:i])) + "\n```\n")
        else:
            while i < len(lines) and not FIELD.fullmatch(lines[i]) and not lines[i].startswith((">>>", "    ")):
                i += 1
            parts.append(_prose("\n".join(lines[start:i])) + "\n")
    return "\n".join(parts).strip()


def _makes(node: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef) and node.name == "__init__"


class _Qualified(ast.NodeTransformer):
    """Write the names within annotations in full, so that each leads to its own description."""

    def __init__(self, origins: dict[str, str]) -> None:
        self.origins = origins

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.origins.get(node.id, node.id))


def _qualified(node: Definition, module: Module) -> Definition:
    """Return a copy of what a signature needs of a definition, with full names in its annotations."""
    node, visitor = copy(node), _Qualified(module.origins)
    if isinstance(node, ast.FunctionDef):
        node.body = []
    node.body = [part for part in node.body if isinstance(part, ast.AnnAssign) or _makes(part)]
    for part in ast.walk(node := deepcopy(node)):
        for name in ("annotation", "returns"):
            if isinstance(part, ast.arg | ast.AnnAssign | ast.FunctionDef) and getattr(part, name, None):
                setattr(part, name, visitor.visit(getattr(part, name)))
    return node


def _fields(node: ast.ClassDef) -> str | None:
    """Return the arguments of a dataclass, or None for other classes."""
    if not any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
        return None
    arguments = []
    for field in (field for field in node.body if isinstance(field, ast.AnnAssign)):
        written = ast.unparse(field)
        if "ClassVar" not in written:
            written = re.sub(r"= field\(default_factory=([\w.]+)\)$", r"= \1()", written)
            written = re.sub(r"= field\(.*default=([^,()]+).*\)$", r"= \1", written)
            arguments.append(re.sub(r" = field\(.*\)$", " = ...", written))
    return ", ".join(arguments)


def _signature(node: Definition) -> str:
    if isinstance(node, ast.ClassDef):
        made = next(filter(_makes, node.body), None)
        fields = _fields(node)
        written = fields if fields is not None else re.sub(r"^self(, )?", "", ast.unparse(made.args)) if made else ""
        return f"{node.name}({written})" if written else node.name
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({re.sub(r'^(self|cls)(, )?', '', ast.unparse(node.args))}){returns}"


def _directive(node: Definition, *, inside: bool) -> tuple[str, str]:
    """Return the directive and its options for a function, a class, a method or a property."""
    if isinstance(node, ast.ClassDef):
        return "py:exception" if node.name.endswith("Error") else "py:class", ""
    marks = {ast.unparse(decorator).split("(")[0].split(".")[-1] for decorator in node.decorator_list}
    if {"property", "cached_property"} & marks:
        return "py:property", f":type: {ast.unparse(node.returns)}\n" if node.returns else ""
    kinds = "".join(f":{mark}:\n" for mark in ("classmethod", "staticmethod") if mark in marks)
    return "py:method" if inside else "py:function", kinds


def _methods(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    seen: set[str] = set()
    for method in (method for method in node.body if isinstance(method, ast.FunctionDef)):
        if method.name[0] != "_" and method.name not in seen and ast.get_docstring(method):
            seen.add(method.name)
            yield method


def _code(module: Module, node: Definition) -> str:
    """Return the code of a definition without its docstring, folded up."""
    lines = module.text.splitlines()
    said = node.body[0]
    first, last = min(n.lineno for n in (node, *node.decorator_list)), node.end_lineno
    kept = inspect.cleandoc("\n" + "\n".join(lines[first - 1 : said.lineno - 1] + lines[said.end_lineno : last]))
    return f"\n<details><summary>Code</summary>\n\n```python\n{kept}\n```\n\n</details>\n"


def described(module: Module, node: Definition, *, inside: bool = False) -> str:
    """Return the description of a function or a class with its public methods."""
    qualified = _qualified(node, module)
    directive, options = _directive(qualified, inside=inside)
    signature = node.name if directive == "py:property" else _signature(qualified)
    body = markdown(inspect.cleandoc(ast.get_docstring(node) or ""))
    if isinstance(node, ast.ClassDef):
        body += "\n\n" + "\n".join(described(module, method, inside=True) for method in _methods(node))
    if not inside and module.name.startswith(SHOWN):
        body += "\n" + _code(module, node)
    fence = ":" * (4 if inside else 5)
    return f"\n{fence}{{{directive}}} {signature}\n{options}\n{body}\n{fence}\n"


def page(module: Module, known: dict[str, Module]) -> str:
    """Return the page of a module; that of a package lists its modules."""
    text = [f"# {module.name}", f"\n:::{{py:module}} {module.name}\n:::\n"]
    text.append(markdown(inspect.cleandoc(ast.get_docstring(module.tree) or "")))
    if module.is_package:
        inside = [name for name in known if name.rpartition(".")[0] == module.name]
        entries = [f"{name.rpartition('.')[2]} <{name}>" for name in inside]
        text.append("\n```{toctree}\n:maxdepth: 1\n\n" + "\n".join(entries) + "\n```\n")
    for name, (value, said) in module.constants.items():
        text.append(f"\n:::::{{py:data}} {name}\n\n`{value}`\n\n{markdown(inspect.cleandoc(said))}\n:::::\n")
    text += [described(module, node) for node in module.definitions.values()]
    return "\n".join(text)


def names(known: dict[str, Module]) -> set[str]:
    """Return the full name of everything that the pages describe, methods included."""
    found = set(known)
    for module in known.values():
        found |= {f"{module.name}.{name}" for name in (*module.constants, *module.definitions)}
        classes = (node for node in module.definitions.values() if isinstance(node, ast.ClassDef))
        found |= {f"{module.name}.{node.name}.{method.name}" for node in classes for method in _methods(node)}
    return found


def front(known: dict[str, Module]) -> str:
    """Return the page of `lamina` itself: every public name with a line and a link to where it is described."""
    errors = _module(SOURCE / "lamina/_errors.py").definitions
    described_names, here = names(known), []
    text = ["# lamina", "\n:::{py:module} lamina\n:::\n"]
    for line in (lamina.__doc__ or "").splitlines():
        if match := re.fullmatch(r"    (\w+) {2,}(\S.+)", line):
            name, said = match.groups()
            home = ".".join(part for part in ("lamina", lamina._HOME[name], name) if part)
            if home.startswith("lamina._errors."):
                here.append(name)
                home = f"lamina.{name}"
            elif home not in described_names:
                raise KeyError(f"{name} is public, but {home} is on no page.")
            text.append(f"- {{py:obj}}`{name} <{home}>`: {said}")
        elif re.fullmatch(r"[A-Z]\w+", line):
            text.append(f"\n## {line}\n")
    packages = [f"{name.removeprefix('lamina.')} <{name}>" for name in known if name.count(".") == 1]
    text.append("\n```{toctree}\n:hidden:\n\n" + "\n".join(packages) + "\n```\n")
    module = _module(SOURCE / "lamina/__init__.py")
    return "\n".join([*text, *(described(module, errors[name]) for name in here)])
