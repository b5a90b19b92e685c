"""`lamina repair`: look at every file of a run or a study and mend what can be mended."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from lamina.cli._options import Json
from lamina.cli._tables import show, show_json


def repair(
    run: Annotated[Path, Argument(metavar="RUN", help="The folder of a run or a study.")],
    accept: Annotated[
        list[str] | None,
        Option(metavar="FILE", help="A file that you changed on purpose, right as it is; may be repeated."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check every file against its digest, bring back what checkpoints hold, and say what is lost."""
    from lamina.training.repair import LOST, WHOLE
    from lamina.training.repair import repair as mend

    found = mend(run, accept or ())
    lost = any(each.state == LOST for each in found)
    if as_json:
        show_json([each._asdict() for each in found])
    elif all(each.state == WHOLE for each in found):
        print(f"{run}: all {len(found)} files are as they were written")
    else:
        show(("file", "is", "what that means"), [each for each in found if each.state != WHOLE])
    if lost:
        raise typer.Exit(1)
