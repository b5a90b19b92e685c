"""The first view of every page, computed once: text, formulas and drawings before a session has started.

A session of marimo takes a moment, and longer when a whole classroom opens pages at once. So the server runs every page
once, in a process of its own, and puts what it shows into the page it sends; the live page takes its place when it is
complete. Widgets are left out of the first view, only their places are kept.
"""

import importlib.util
import json
import re
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from html import unescape
from pathlib import Path
from typing import Any

from lamina._system import step_back
from lamina.pages.kit._jobs import Job

_WIDGET = re.compile(r"<marimo-ui-element\b[^>]*><marimo-([\w-]+)(.*?)</marimo-ui-element>", re.DOTALL)


def _ghost(widget: re.Match[str]) -> str:
    """Keep the place of a widget; `pages.css` knows how high each kind is, and a long label takes two lines.

    >>> _WIDGET.sub(_ghost, "<marimo-ui-element object-id='a'><marimo-text-area data-rows='3'></marimo-ui-element>")
    '<div class="lamina-ghost text-area" style="--rows:3"><div></div></div>'
    """
    given = dict(re.findall(r"data-([\w-]+)='([^']*)'", widget[2]))
    kind = widget[1] + " full" * (given.get("full-width") == "true") + " area" * ("area" in given.get("kind", ""))
    label = json.loads(unescape(given.get("label", "null"))) or ""
    rows = f' style="--rows:{given["rows"]}"' if given.get("rows", "").isdecimal() else ""
    return f'<div class="lamina-ghost {kind}"{rows}><div>{label}</div></div>'


def _outputs(file: str) -> Sequence[Any]:
    """Run a notebook as a script and return what its cells show."""
    spec = importlib.util.spec_from_file_location("lamina_page", file)
    if spec is None or spec.loader is None:
        return ()
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.app.run()[0]


def still(file: str) -> str:
    """Run a notebook as a script and return what its cells show, without widgets."""
    import marimo as mo

    shown = (mo.as_html(output).text for output in _outputs(file) if output is not None)
    return "\n".join(f"<div>{_WIDGET.sub(_ghost, text)}</div>" for text in shown)


def stills(files: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Run all pages in this process of their own, one after another; a page that fails has no first view."""
    step_back(15)  # readers who are already here go first
    for path, file in files.items():
        try:
            yield path, still(file)
        except Exception:  # the page itself will say what is wrong
            yield path, ""


def rehearse(files: Iterable[str], pause: float = 0.5) -> None:
    """Run all pages once in the process that serves them: what is the same for all readers is then there.

    Args:
        files: the notebooks.
        pause: seconds of rest after each, for the readers who are already here.
    """
    for file in files:
        with suppress(Exception):  # the page itself will say what is wrong
            _outputs(file)
        time.sleep(pause)


class FirstViews:
    """The first views that are ready, filled while the server runs.

    Args:
        files: the notebook of each page.
    """

    def __init__(self, files: dict[str, Path]) -> None:
        self._files = {path: str(file) for path, file in files.items()}
        self._ready: dict[str, str] = {}
        self._job: Job | None = None

    def get(self, path: str) -> str:
        """Return the first view of a page, empty while there is none."""
        return self._ready.get(path, "")

    def start(self) -> None:
        """Begin to compute them, beside the line of jobs."""
        self._job = Job(stills, line=False, files=self._files)
        threading.Thread(target=self._collect, args=(self._job,), daemon=True).start()

    def stop(self) -> None:
        """Give up on those that are missing."""
        if self._job is not None:
            self._job.stop()

    def _collect(self, job: Job) -> None:
        job.start()
        while job.state == "running":
            if job.poll():
                self._ready.update(job.rows)
            time.sleep(0.1)
