"""What marimo finds out anew for every slider and every visitor, remembered: none of it changes while the server runs.

- Whether an installed package replaces the way in which cells run: marimo reads the metadata of all of them each time,
  which took half of the time of moving a slider.
- Which line of the file a cell begins at: marimo remembers one file, so that two pages that open at the same time parse
  their files again for every cell.
- The cells of a file, and which of them end in a semicolon: found out for every visitor, the first of them while all
  others wait.
- What a cell compiles to, and which names it uses: found out twice for every visitor, which took most of the time in
  which a page came alive.
- What the last few thousand texts in Markdown look like, of which most are the same for everybody: about a quarter of
  the time of the cells themselves.

Files and cells are read by one thread at a time: before Python 3.11.8 two that make syntax trees at once may fail with
"SystemError: AST constructor recursion depth mismatch", and a page did not open.
"""

import threading
import time
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import replace
from functools import cache, lru_cache, wraps
from importlib import import_module
from pathlib import Path
from typing import Any

TEXTS = 8192
"""Texts whose markup is remembered; those with numbers in them change as sliders move."""
_READING = threading.RLock()


def remember() -> None:
    """Remember it from now on; nothing happens where marimo has come to do it differently."""
    from marimo._ast import compiler, parse
    from marimo._entrypoints import registry
    from marimo._runtime import runtime

    for module, name, most in (
        (registry, "get_entry_points", None),
        (compiler, "_build_source_position_map", None),
        (compiler, "ends_with_semicolon", None),
        (parse, "parse_notebook", None),
        (import_module("marimo._output.md"), "_render_markdown", TEXTS),
    ):
        found = getattr(module, name, None)
        if found is not None and not getattr(found, "remembered", False):
            plain = getattr(found, "__wrapped__", found)
            kept = lru_cache(most)(_alone(plain) if module in (compiler, parse) else plain)
            kept.remembered = True  # type: ignore[attr-defined]
            setattr(module, name, kept)
    for holder in (compiler, runtime):
        compiling = vars(holder).get("compile_cell")
        if compiling is not None and not getattr(compiling, "remembered", False):
            vars(holder)["compile_cell"] = _compiler(compiling)


def _alone(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let one thread at a time call a function that makes syntax trees."""

    @wraps(function)
    def alone(*arguments: Any, **options: Any) -> Any:
        with _READING:
            return function(*arguments, **options)

    return alone


@cache
def _compiler(compile_cell: Any) -> Any:
    """Give a compiler that compiles a cell once and hands out copies, since a session writes into its cells."""

    @cache
    @_alone
    def once(code: str, cell_id: Any, filename: str | None) -> Any:
        return compile_cell(code, cell_id=cell_id, filename=filename)

    def compiled(
        code: str, cell_id: Any, source_position: Any = None, carried_imports: Any = None, test_rewrite: bool = False,
        filename: str | None = None,
    ) -> Any:  # fmt: skip
        if source_position or carried_imports or test_rewrite:
            return compile_cell(code, cell_id, source_position, carried_imports, test_rewrite, filename)
        return _copied(once(code, cell_id, filename))

    compiled.remembered = True  # type: ignore[attr-defined]
    return compiled


def _copied(cell: Any) -> Any:
    """Copy a compiled cell that has not run: what a session writes into is its own."""
    state = ("config", "import_workspace", "_status", "_run_result_status", "_stale", "_output")
    names = ("defs", "refs", "sql_refs", "temporaries", "variable_data", "deleted_refs", "closed_over_temporaries")
    return replace(cell, **{name: deepcopy(getattr(cell, name)) for name in state},
                   **{name: getattr(cell, name).copy() for name in names})  # fmt: skip


def compile_ahead(files: Iterable[Path], pause: float = 0.05) -> None:
    """Compile the cells of pages before their readers come, with pauses for those who are already there."""
    from marimo._ast import compiler, load

    for file in files:
        app = load.load_app(str(file))
        for cell_id, cell in app._cell_manager.valid_cells() if app is not None else ():
            compiler.compile_cell(cell._cell.code, cell_id=cell_id, filename=str(file))
            time.sleep(pause)
