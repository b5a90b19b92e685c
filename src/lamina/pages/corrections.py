"""Where the notes slip, as the code says it: the `Corrects:` lines of the docstrings, collected."""

import ast
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

_ENTRY = re.compile(r"\b(E\d\d),?\s")


@dataclass(frozen=True)
class Correction:
    """One slip of the notes.

    Args:
        id: its number, such as `E34`.
        said: what is right, with the objects of the library that say it.
    """

    id: str
    said: tuple[tuple[str, tuple[str, ...]], ...]


def entries(docstring: str) -> list[tuple[str, str]]:
    r"""Return the pairs (number, sentence) of the `Corrects:` lines of a docstring.

    >>> entries("Do it.\n\nCorrects: E15, K steps; E76, a small gradient\n    is enough.\nArgs:")
    [('E15', 'K steps'), ('E76', 'a small gradient is enough')]
    """
    found = []
    block = re.compile(r"^[ ]*Corrects:((?:.*\n?)(?:(?![ ]*[A-Z][a-z]+:|[ ]*$|[ ]*>>>).+\n?)*)", re.MULTILINE)
    for match in block.finditer(docstring):
        parts = _ENTRY.split(" ".join(match[1].split()))
        found += [(key, words.strip(" ;.")) for key, words in zip(parts[1::2], parts[2::2], strict=True)]
    return [(key, words) for key, words in found if words]


@cache
def corrections() -> tuple[Correction, ...]:
    """Read all corrections from the sources of the library, sorted by number.

    >>> corrections()[0].id
    'E01'
    """
    said: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    root = Path(str(files("lamina")))
    for path in sorted(root.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "Corrects:" not in text or "pages" in path.relative_to(root).parts:
            continue
        module = ".".join(("lamina", *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                name = module if isinstance(node, ast.Module) else f"{module}:{node.name}"
                for key, words in entries(ast.get_docstring(node) or ""):
                    said[key][words].append(name)
    return tuple(
        Correction(key, tuple((words, tuple(names)) for words, names in said[key].items())) for key in sorted(said)
    )
