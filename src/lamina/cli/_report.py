"""`lamina report`: write the report of a run or a study."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from lamina._errors import ArgumentError
from lamina.cli._options import Json, Quiet


class _Format(StrEnum):
    """What a report can be."""

    html = "html"
    md = "md"


def report(
    run: Annotated[Path, Argument(metavar="RUN", help="The folder of a run, a study or a cross-validation.")],
    format: Annotated[_Format, Option(help="A self-contained web page, or Markdown.")] = _Format.html,
    output: Annotated[
        Path | None,
        Option("-o", "--output", help="The file to write; RUN/report.html by default; - prints the report."),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write the report of a run, a study or a cross-validation: what was done, curves, mistakes, how to repeat it."""
    from lamina.report.render import render, write_report

    if output == Path("-"):
        sys.stdout.buffer.write(render(run, format).encode())
        sys.stdout.buffer.flush()
        return
    if output is not None and output.is_dir():
        raise ArgumentError(f"`--output` must be a file, but {output} is a folder: add a name such as report.{format}.")
    if output is not None and not output.parent.is_dir():
        raise ArgumentError(f"the folder of `--output`, {output.parent}, does not exist: make it first.")
    written = write_report(run, format, output)
    if as_json:
        print(json.dumps({"run": str(run), "report": str(written)}))
        return
    print(written if quiet else f"report: {written}")
