"""From a run folder to a report: the two functions that others call."""

from pathlib import Path

from lamina._errors import choice
from lamina.report.formatting import printable
from lamina.report.markdown import markdown
from lamina.report.page import page
from lamina.report.record import read
from lamina.training.files import write

FORMATS = {"html": page, "md": markdown}


def render(folder: str | Path, format: str = "html") -> str:
    """Write the report of a run as a text; the same folder gives the same bytes.

    Args:
        folder: the folder of the run; nothing else is read.
        format: "html" for a page that stands alone, "md" for Markdown.

    Raises:
        RunError: it is no run folder, or one of its files is damaged.
    """
    choice("format", format, tuple(FORMATS))
    return printable(FORMATS[format](read(folder)))


def write_report(folder: str | Path, format: str = "html", output: str | Path | None = None) -> Path:
    """Write the report of a run into a file, complete or not at all, and return its path.

    Args:
        folder: the folder of the run.
        format: "html" or "md".
        output: the file; `report.html` or `report.md` in the folder by default.
    """
    content = render(folder, format)
    path = Path(output) if output is not None else Path(folder) / f"report.{format}"
    write(path, content.encode())
    return path
