"""Record the runs that the pages show before their buttons are pressed: `python tools/record_runs.py [CHAPTER/PAGE …]`.

Each page is run as a script; what its `kit.train`s would start with the settings of the first view is run to the end,
and the rows are written to `src/lamina/pages/shipped/recorded`. Rows that are much alike are thinned.
"""

import inspect
import json
import runpy
import sys
from pathlib import Path
from typing import Any

import torch

from lamina.pages.kit import _jobs
from lamina.pages.kit._runs import name_of, plain, settled
from lamina.pages.site.contents import pages

FOLDER = Path(__file__).parents[1] / "src" / "lamina" / "pages" / "shipped" / "recorded"
MOST, LARGEST = 60, 120_000
"""How many rows of a run are kept, and how many bytes a record may have."""
LEFT_OUT = {"ch2.playground.learn", "ch4.resnet18.stages", "ch4.transfer.own_pictures", "tools.playground.ask"}
"""Works whose page shows something at first anyway, or that need a visitor's files."""
LIVE = ("network", "run", "folder", "packed", "rate")
"""Parts of a row that only a live run has: what is too large, and where it lies."""


def main(*wanted: str) -> None:
    """Record the runs of some pages; of all by default."""
    torch.set_num_threads(1)
    FOLDER.mkdir(exist_ok=True)
    found: list[tuple[Any, str, dict[str, Any]]] = []
    first = _jobs.train._idle

    def note(self: Any, settings: dict[str, Any]) -> Any:
        found.append((self._work, self._keep, settings))
        return first(self, {})

    _jobs.train._idle = note  # type: ignore[method-assign]
    for page in pages():
        if not wanted or page.path in wanted:
            runpy.run_path(str(page.file), run_name="__main__")
    for work, keep, settings in found:
        name = name_of(work)
        if name in LEFT_OUT or name.startswith("lamina."):
            continue
        rows = [{key: value for key, value in row.items() if key not in LIVE} for row in map(dict, work(**settings))]
        step = -(-len(rows) // MOST)
        kept = rows[-1:] if keep == "last" else [*rows[:-1][::step], rows[-1]]
        text = json.dumps({"settings": settled(settings), "rows": plain(kept)}, ensure_ascii=False)
        if len(text) > LARGEST:
            raise SystemExit(
                f"{name} has {len(text):,} bytes, at most {LARGEST:,} are shipped: {inspect.getfile(work)}"
            )
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        print(f"{name}: {len(kept)} of {len(rows)} rows, {len(text):,} bytes", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
