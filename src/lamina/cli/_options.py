"""Options that several commands have in common."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from lamina.cli._names import datasets
from lamina.cli._usage import number

Quiet = Annotated[bool, Option("--quiet", "-q", help="Print only the path of the result, and errors.")]
Verbose = Annotated[bool, Option("--verbose", "-v", help="Also print what was decided and why, and how long it took.")]
Track = Annotated[
    list[str] | None,
    Option(help="Also tell tensorboard, mlflow or wandb how the run goes. May be repeated.", metavar="NAME"),
]
Json = Annotated[bool, Option("--json", help="Print the result as JSON.")]
RunPath = Annotated[Path, Argument(metavar="RUN", help="The folder of a run.")]
Data = Annotated[
    str,
    Option(
        help="A name from `lamina data list`, a folder of images or of Parquet files, a table, or a file of texts.",
        autocompletion=datasets,
    ),
]
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
Shares = Annotated[
    str,
    Option(
        "--split",
        metavar="A:B:C",
        help="The shares of training, validation and test examples. Data with an official test set keep it, and divide "
        "the rest by the first two.",
    ),
]
Settings = Annotated[
    list[str] | None,
    Option("--set", metavar="KEY=VALUE", help="Set an option by its name, such as hidden=64; may be repeated."),
]
Epochs = Annotated[
    int | None,
    number(help="Number of passes through the training data; chosen to suit the data by default.", least=1),
]
Device = Annotated[str, Option(help="Where to compute: auto (CUDA, else MPS, else the CPU), cpu, cuda, cuda:1 or mps.")]
RanksOption = Annotated[
    int | None,
    number(
        help="Number of processes on this machine that train together, each with its part of every batch; torchrun "
        "starts them on several machines.",
        least=1,
    ),
]
Threads = Annotated[int, number(help="Number of CPU threads; 0 chooses it to suit the work.", most=1024)]
