"""From the folder of a run, a study or a cross-validation to its report: the two functions that others call."""

from pathlib import Path

from lamina._errors import ArgumentError, choice
from lamina.report._cross_validation import cross_validation_page
from lamina.report._formatting import printable
from lamina.report._markdown import markdown
from lamina.report._page import page
from lamina.report._record import read
from lamina.report._study_page import study_page
from lamina.training.cross_validation import FILE
from lamina.training.files import write
from lamina.training.folder import RunFolder

_FORMATS = {"html": page, "md": markdown}


def render(folder: str | Path, format: str = "html") -> str:
    """Write the report of a run, a study or a cross-validation as a text; the same folder gives the same bytes.

    Args:
        folder: the folder; nothing else is read.
        format: "html" for a page that stands alone, "md" for Markdown (of a run).

    Raises:
        RunError: it is no such folder, or one of its files is damaged.
    """
    choice("format", format, tuple(_FORMATS))
    crossed = (Path(folder) / FILE).is_file()
    if crossed and format == "html":
        return printable(cross_validation_page(Path(folder)))
    if crossed:
        raise ArgumentError("the report of a cross-validation is a web page: use --format html.")
    if not (Path(folder) / "study.toml").is_file():
        return printable(_FORMATS[format](read(folder)))
    if format != "html":
        raise ArgumentError("the report of a study is a web page: use --format html.")
    from lamina.report._study import read as read_study

    return printable(study_page(read_study(folder)))


def write_report(folder: str | Path, format: str = "html", output: str | Path | None = None) -> Path:
    """Write the report of a run or a study into a file, complete or not at all, and return its path.

    Args:
        folder: the folder.
        format: "html" or "md".
        output: the file; `report.html` or `report.md` in the folder by default.
    """
    content = render(folder, format)
    if output is not None:
        write(Path(output), content.encode())
        return Path(output)
    home = RunFolder(folder)
    home.write(f"report.{format}", content.encode())
    return home.path / f"report.{format}"
