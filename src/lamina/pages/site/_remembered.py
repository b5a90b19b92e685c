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
- What the files of settings say, which are read six times for every visitor.
- How a message to a page is read: marimo makes a new decoder for each, which takes longer than reading it.
- That IPython shows things in marimo's way: marimo puts its way around the last one for every visitor, and all of them
  stay.

Files and cells are read by one thread at a time. Marimo's way of showing for matplotlib is loaded before any visitor is
said to have it: another one's cell could end meanwhile, looked for it in vain, and a page did not open.
"""

import time
from collections.abc import Callable, Iterable
from copy import copy, deepcopy
from functools import cache, lru_cache, wraps
from importlib import import_module
from pathlib import Path
from typing import Any

from lamina.pages.kit._reading import READING

TEXTS = 8192
"""Texts whose markup is remembered; those with numbers in them change as sliders move."""


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
    toml = import_module("marimo._utils.toml").toml_reader
    if not getattr(toml.read, "remembered", False):
        toml.read = _settings(toml.read)
    view = import_module("marimo._session.state.session_view")
    if hasattr(view, "deserialize_kernel_message"):
        from marimo._messaging.notification import NotificationMessage
        from msgspec.json import Decoder

        decoder: Any = Decoder(NotificationMessage)
        vars(view)["deserialize_kernel_message"] = decoder.decode
    shown = import_module("marimo._output.formatters.formatters").THIRD_PARTY_FACTORIES.get("IPython")
    if shown is not None and "register" not in vars(shown):
        shown.register = cache(shown.register)
    figures = import_module("marimo._output.formatters.formatters").THIRD_PARTY_FACTORIES.get("matplotlib")
    if figures is not None and "register" not in vars(figures):
        figures.register = _behind("marimo._output.mpl", figures.register)
    for holder in (compiler, runtime):
        compiling = vars(holder).get("compile_cell")
        if compiling is not None and not getattr(compiling, "remembered", False):
            vars(holder)["compile_cell"] = _compiler(compiling)


def _behind(module: str, action: Callable[[], Any]) -> Callable[[], Any]:
    """Load a module before something is done.

    Of two threads that wait for each other Python gives one the half of a module; the other one, which loads it, does
    it then.
    """

    def done() -> Any:
        half = getattr(import_module(module).__spec__, "_initializing", False)
        return None if half else action()

    return done


def _alone(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let one thread at a time call a function that makes syntax trees."""

    @wraps(function)
    def alone(*arguments: Any, **options: Any) -> Any:
        with READING:
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


def _settings(read: Callable[[Any], dict[str, Any]]) -> Any:
    """Give a reader of settings that reads a file once and hands out copies."""
    kept = cache(read)

    def settings(path: Any) -> dict[str, Any]:
        return deepcopy(kept(str(path)))

    settings.remembered = True  # type: ignore[attr-defined]
    return settings


def _copied(cell: Any) -> Any:
    """Copy a compiled cell that has not run: what a session writes into is its own."""
    made = copy(cell)
    own = vars(made)
    for name in ("config", "import_workspace", "_status", "_run_result_status", "_stale", "_output", "defs", "refs",
                 "sql_refs", "temporaries", "variable_data", "deleted_refs", "closed_over_temporaries"):  # fmt: skip
        own[name] = copy(own[name])
    own["import_workspace"].imported_defs = set(own["import_workspace"].imported_defs)
    return made


def compile_ahead(files: Iterable[Path], pause: float = 0.05) -> None:
    """Compile the cells of pages before their readers come, with pauses for those who are already there."""
    from marimo._ast import compiler, load

    for file in files:
        app = load.load_app(str(file))
        for cell_id, cell in app._cell_manager.valid_cells() if app is not None else ():
            compiler.compile_cell(cell._cell.code, cell_id=cell_id, filename=str(file))
            time.sleep(pause)
