"""`lamina report`: write the report of a run or a study."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from lamina._errors import ArgumentError


class Format(StrEnum):
    """What a report can be."""

    html = "html"
    md = "md"


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run or a study.")],
    format: Annotated[Format, typer.Option(help="A page that stands alone, or Markdown.")] = Format.html,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The file; RUN/report.html by default, - prints it.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Write the report of a run or a study: what was trained on what, curves, mistakes, and how to do it again."""
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
    print(json.dumps({"run": str(run), "report": str(written)}) if as_json else f"report: {written}")
