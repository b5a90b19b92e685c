"""Options that several commands have in common."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

Json = Annotated[bool, Option("--json", help="Print the result as JSON.")]
RunPath = Annotated[Path, Argument(metavar="RUN", help="The folder of a run.")]
Data = Annotated[str, Option(help="A name from `lamina data list`, a folder of images, a table, or a file of texts.")]
Target = Annotated[
    str | None,
    Option(
        help="The column of a table to predict, or several with commas between them (double quotes around a name that "
        "holds a comma)."
    ),
]
Read = Annotated[
    list[str] | None,
    Option(
        metavar="KEY=VALUE", help="How to read the data: kind, text, window, horizon, reverse, ...; may be repeated."
    ),
]
Settings = Annotated[
    list[str] | None,
    Option("--set", metavar="KEY=VALUE", help="Set an option by its name, such as hidden=64; may be repeated."),
]
Epochs = Annotated[
    int | None, Option(help="Number of passes through the training data; chosen to suit the data by default.")
]
Device = Annotated[str, Option(help="Where to compute: cpu or cuda.")]
Threads = Annotated[int, Option(help="Number of CPU threads; 0 chooses it to suit the work.")]
