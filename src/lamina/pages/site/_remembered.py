"""What marimo finds out anew for every slider and every visitor, remembered: none of it changes while the server runs.

- Whether an installed package replaces the way in which cells run: marimo reads the metadata of all of them each time,
  which took half of the time of moving a slider.
- Which line of the file a cell begins at: marimo remembers one file, so that two pages that open at the same time parse
  their files again for every cell.
- The cells of a file, and which of them end in a semicolon: found out for every visitor, the first of them while all
  others wait.
"""

from functools import cache


def remember() -> None:
    """Remember it from now on; nothing happens where marimo has come to do it differently."""
    from marimo._ast import compiler, parse
    from marimo._entrypoints import registry

    for module, name in (
        (registry, "get_entry_points"),
        (compiler, "_build_source_position_map"),
        (compiler, "ends_with_semicolon"),
        (parse, "parse_notebook"),
    ):
        found = getattr(module, name, None)
        if found is not None and not getattr(found, "remembered", False):
            kept = cache(getattr(found, "__wrapped__", found))
            kept.remembered = True  # type: ignore[attr-defined]
            setattr(module, name, kept)
