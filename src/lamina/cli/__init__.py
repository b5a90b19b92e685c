"""The `lamina` command: verbs that parse, call and print. It computes nothing itself."""

import errno
import os
import sys
from typing import Annotated, NoReturn

import typer
from typer import Option

from lamina import __version__
from lamina._errors import InstructionError, LaminaError, memory_asked
from lamina._processor import LIMIT
from lamina._system import open_streams, restart, use_any_console
from lamina.cli import _train as train_verbs
from lamina.cli._cross_validate import cross_validate
from lamina.cli._data import data_app
from lamina.cli._draw import draw
from lamina.cli._experiment import experiment
from lamina.cli._explain import explain
from lamina.cli._export import export, push
from lamina.cli._figures import figures
from lamina.cli._inspect import inspect
from lamina.cli._lookup import catalogue, show_errata
from lamina.cli._notes import notes
from lamina.cli._options import Json
from lamina.cli._plan import plan
from lamina.cli._progress import Reading
from lamina.cli._repair import repair
from lamina.cli._report import report
from lamina.cli._search import search
from lamina.cli._tables import show, show_json
from lamina.cli._tune import tune
from lamina.cli._usage import wrong_use
from lamina.cli._voice import say
from lamina.data._progress import watched

app = typer.Typer(
    help="Train, search, inspect and draw the networks of the lecture notes 'Neural Network Architectures'.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool | None) -> None:
    if wanted:
        print(f"lamina {__version__}")
        raise typer.Exit


@app.callback()
def _lamina(
    version: Annotated[
        bool | None, Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = None,
) -> None:
    pass


@app.command("list")
def _list(as_json: Json = False) -> None:
    """List the architectures of the notes, with where they are described and how many parameters they have."""
    from lamina.architectures.table import TABLE

    if as_json:
        names = ("name", "title", "place", "parameters", "options")
        show_json([{name: getattr(entry, name) for name in names} for entry in TABLE.values()])
        return
    rows = [(e.name, e.title, e.place, f"{e.parameters:,}") for e in TABLE.values()]
    show(("name", "architecture", "notes", "parameters"), rows, right=(3,))
    say("next: lamina train lenet5 --data digits", 'In Python:  lamina.build("lenet5", outputs=10)')


app.command()(catalogue)
app.command("errata")(show_errata)
app.add_typer(data_app, name="data")
app.command()(train_verbs.train)
app.command()(cross_validate)
app.command()(train_verbs.resume)
app.command()(train_verbs.evaluate)
app.command()(train_verbs.predict)
app.command()(explain)
app.command()(search)
app.command()(tune)
app.command()(plan)
app.command()(report)
app.command()(repair)
app.command()(export)
app.command()(push)
app.command()(draw)
app.command()(inspect)
app.command()(notes)
app.command()(figures)
app.command()(experiment)


def main() -> None:
    """Run the command; bad input ends with one sentence and exit code 2."""
    open_streams()
    use_any_console()
    try:
        _somewhere()
        with watched(Reading()):
            code = app(prog_name="lamina", standalone_mode=False)
        sys.exit(code or 0)
    except InstructionError as error:
        if error.limit is None or LIMIT in os.environ:
            _refuse(error)
        print(f"note: this CPU runs bfloat16 with {LIMIT}={error.limit}; restarting with this setting", file=sys.stderr)
        restart({LIMIT: error.limit})
    except LaminaError as error:
        _refuse(error, code=1 if type(error).__name__ == "RanksError" else 2)
    except _WrongUse as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # help was asked for by saying nothing
            sys.exit(2)
        _refuse(wrong_use(error))
    except (MemoryError, RuntimeError, TypeError) as error:  # torch has no type for all of them
        size = memory_asked(error)
        if size is None:
            raise
        _refuse(
            f"there is not enough memory{f': {size} more were asked for' if size else ' for this'}. Choose a smaller "
            "network, fewer or smaller examples, or a smaller batch_size; --set micro_batch=N computes a batch in "
            "pieces of N examples, and the update stays the same."
        )
    except OSError as error:
        if error.errno == errno.EACCES and _secret(str(error.filename)):
            _refuse(f"{error.filename} cannot be read (permission denied): become its owner, or copy it.")
        if error.errno in _NO_PLACE:
            _refuse(f"cannot write {error.filename or 'the result'}: {_NO_PLACE[error.errno]}.")
        if error.filename is None or error.strerror is None:
            raise
        _refuse(f"{error.filename} cannot be read or written ({error.strerror.lower()}): choose another place.")
    except (KeyboardInterrupt, typer.Abort):
        _refuse("interrupted.", code=130)


_WrongUse: type[Exception] = typer.BadParameter.__mro__[1]  # click's UsageError, wherever typer keeps click
_NO_PLACE = {
    errno.ENOSPC: "the disk is full: free some space",
    errno.EDQUOT: "the disk quota is used up: free some space",
    errno.EROFS: "the file system is read-only: choose another place",
    errno.EACCES: "permission denied: choose another place",
}


def _somewhere() -> None:
    """Refuse to begin in a folder that is gone: libraries that are loaded later end the process there."""
    try:
        os.getcwd()
    except FileNotFoundError:
        _refuse("the folder in which you are has been removed: change to another one.")


def _secret(path: str) -> bool:
    """Say whether a file may not be read; one that may not be written may still be."""
    return os.path.isfile(path) and not os.access(path, os.R_OK)


def _refuse(why: object, code: int = 2) -> NoReturn:
    ranks = sys.modules.get("lamina.training.ranks")
    if ranks is None or not ranks.said_already(why):
        print(f"lamina: {why}", file=sys.stderr)
    sys.exit(code)
