"""`lamina figures`: make the figures of the notes and write them to files."""

import json
import sys
from pathlib import Path
from typing import Annotated

from typer import Option

from lamina.cli._options import Json, Quiet


def figures(
    output: Annotated[Path, Option("-o", "--output", help="The folder to write the figures to.")] = Path("figures"),
    only: Annotated[
        str | None,
        Option(
            metavar="LIST",
            help="Only these figures: numbers, ranges or names separated by commas, such as 6,30 or 33-39.",
        ),
    ] = None,
    formats: Annotated[
        str, Option(metavar="LIST", help="File formats separated by commas: svg, pdf, png and tex (TikZ).")
    ] = "svg,pdf,png",
    history: Annotated[
        tuple[Path, Path] | None,
        Option(metavar="RUN RUN", help="Draw Fig. 30 from two runs; the one with the original block comes first."),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Make all figures of the notes by running code, and a page that shows them."""
    from lamina.experiments.figures import chosen
    from lamina.experiments.figures_sheet import check_formats, write_figures
    from lamina.training.folder import RunFolder

    kinds = tuple(word.strip().lower() for word in formats.split(",") if word.strip())
    check_formats(kinds)
    wanted = chosen(only, history)
    for run in history or ():
        RunFolder.open(run)
    if as_json or quiet or not sys.stdout.isatty():
        written = write_figures(wanted, output, kinds)
    else:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        with Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), transient=True) as bar:
            task = bar.add_task("figures", total=len(wanted) + 1)
            written = write_figures(
                wanted, output, kinds, lambda f: bar.update(task, advance=1, description=f"{f.label} {f.title}"[:48])
            )
    if as_json:
        print(
            json.dumps({"folder": str(output), "figures": [f.name for f in wanted], "files": list(map(str, written))})
        )
        return
    if quiet:
        print(written[-1])
        return
    print(f"{len(wanted)} figure{'s' * (len(wanted) != 1)} in {output} ({', '.join(kinds)})\npage: {written[-1]}")
