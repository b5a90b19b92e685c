"""Every option and argument of every command with ten bad values: one sentence and exit code 2, nothing written.

The commands are found by walking the app, so that a new option is tried as soon as it exists. What a command would do
with a value that is fine is stopped before it begins; where any text is fine, `FINE` says why.
"""

import itertools
import sys
from importlib import import_module
from pathlib import Path

import pytest
from typer.main import get_command

import lamina
from lamina._errors import LaminaError
from lamina.architectures.table import TABLE
from lamina.cli import app, main
from lamina.cli._values import reading, settings
from lamina.data.load import SETS, load, option_types
from lamina.training.plan import check_options
from lamina.training.plan import option_types as training_types

pytestmark = pytest.mark.usefixtures("as_user")

BAD = ("abc", "", "-3", "1.5", "nan", "inf", "9" * 30, "0,01", "Ä√日", "[](")
BASES = {
    "data get": ["NAMES=digits"],
    "data show": ["DATA=moons"],
    "train": ["ARCH=fnn", "--data", "moons"],
    "resume": ["RUN={run}"],
    "evaluate": ["RUN={run}"],
    "predict": ["RUN={run}", "INPUT={rows}"],
    "search": ["WORDS=fnn learning_rate=1e-3,1e-2", "--data", "moons"],
    "report": ["RUN={run}"],
    "draw": ["NAME=gru"],
    "inspect": ["ARCH=fnn", "--inputs", "2", "--outputs", "2"],
    "notes": ["--no-browser"],
    "figures": ["--only", "6"],
    "experiment": ["ID=N1.68"],
}
"""The smallest right command line of each verb: its arguments, as METAVAR=value, and what else it needs."""

A_PATH, A_TEXT = "any name is that of a file or folder to write", "any text is one"
FINE = {
    ("train", "out"): A_PATH,
    ("search", "folder"): A_PATH,
    ("figures", "output"): A_PATH,
    ("data get", "to"): A_PATH,
    ("report", "output"): A_PATH,
    ("notes", "export"): A_PATH,
    ("notes", "panels"): A_PATH,
    ("draw", "scale"): "1.5 pixels per point are",
    ("predict", "inputs"): A_TEXT,
    ("evaluate", "data"): "whether it is there is seen when it is read",
    ("notes", "token"): "any secret is one, and an empty one is none",
    ("notes", "host"): "the server says whether it is an address",
    ("catalogue", "words"): "any words may occur in the catalogue",
    ("errata", "words"): "any words may occur in the errata",
    ("predict", "length_penalty"): "real numbers are",
    ("predict", "temperature"): "real numbers are",
}


class Reached(BaseException):
    """The command line was right, and the command would begin."""


def commands(group=None, path=""):
    for name, command in (group or get_command(app)).commands.items():
        here = f"{path} {name}".strip()
        yield from commands(command, here) if hasattr(command, "commands") else [(here, command)]


PARAMETERS = [(name, parameter) for name, command in commands() for parameter in command.params]


def words_of(name, parameter, value, places):
    """Write a command line that is right but for one value."""
    base = [word.format(**places) for word in BASES.get(name, [])]
    arguments = [word.partition("=")[2].split(" ") for word in base if word.partition("=")[0].isupper()]
    rest = [word for word in base if not word.partition("=")[0].isupper()]
    own = [p for _, p in PARAMETERS if _ == name and p.param_type_name == "argument"]
    if parameter.param_type_name == "argument":
        arguments = arguments + [["x"]] * (len(own) - len(arguments))
        arguments[[p.name for p in own].index(parameter.name)] = [value]
        return [*name.split(), *rest, "--", *itertools.chain(*arguments)]
    flag = max(parameter.opts, key=len)
    given = [f"{flag}={value}"] if not getattr(parameter, "nargs", 1) == 2 else [flag, value, value]
    return [*name.split(), *itertools.chain(*arguments), *rest, *given]


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """A small run, and rows to predict."""
    home = tmp_path_factory.mktemp("bad")
    network = lamina.build("fnn", inputs=2, outputs=2, hidden=2)
    data = lamina.load("moons", count=60)
    run = lamina.fit(network, data, lamina.Recipe(epochs=1), folder=home / "run", runtime=lamina.Runtime("cpu"))
    run.evaluate()
    rows = home / "rows.csv"
    rows.write_text("x1,x2\n0.1,0.2\n")
    return {"run": str(run.folder), "rows": str(rows)}


@pytest.fixture
def stopped(monkeypatch, tmp_path):
    """Stop every command where it would begin to work for long or to write."""

    def reached(*_, **__):
        raise Reached

    monkeypatch.chdir(tmp_path)
    for place in (
        "training.fit:fit", "training.fit:resume", "studies.study:Study.create", "studies.search:go_on",
        "pages.site.server:serve", "pages.book.writing:export", "pages.book.printing:panels",
        "experiments.figures_sheet:write_figures",
        "drawing.save:save", "data.store:get", "report.render:write", "cli._experiment:_options",
        "training.run:Run.evaluate", "training.run:Run.predict",
    ):  # fmt: skip
        module, _, path = place.partition(":")
        *owner, name = path.split(".")
        home = import_module(f"lamina.{module}")
        monkeypatch.setattr(getattr(home, owner[0]) if owner else home, name, reached)


def tried(words, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["lamina", *words])
    try:
        main()
    except SystemExit as end:
        code = int(end.code or 0)
    except Reached:
        code = 0
    return code, capsys.readouterr().err


def judge(name, parameter, value, places, monkeypatch, capsys):
    words = words_of(name, parameter, value, places)
    code, err = tried(words, monkeypatch, capsys)
    assert not list(Path().iterdir()), (words, "wrote something")
    if code == 2:
        lines = [line for line in err.splitlines() if not line.startswith("note: ")]
        assert len(lines) == 1 and lines[0].startswith("lamina: ") and len(lines[0]) > 20, (words, err)
        return False
    assert (name, parameter.name) in FINE, (words, code, err)
    return True


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS, ids=[f"{name} {p.name}" for name, p in PARAMETERS])
def test_ten_bad_values_for_every_option(name, parameter, places, stopped, monkeypatch, capsys):
    fine = [judge(name, parameter, value, places, monkeypatch, capsys) for value in BAD]
    assert any(fine) == ((name, parameter.name) in FINE), "FINE names it, but no value was fine"


def refused_or_right(doing):
    """Do something with bad values: a sentence of Lamina's, or nothing at all where the value is right."""
    try:
        doing()
    except LaminaError as error:
        assert "\n" not in str(error) and len(str(error)) > 20


@pytest.mark.parametrize("name", TABLE)
def test_ten_bad_values_for_every_setting(name):
    declared = training_types(name)
    for key, value in itertools.product(declared, BAD):
        refused_or_right(lambda: check_options(name, settings([f"{key}={value}"], declared)))  # noqa: B023


@pytest.mark.parametrize("name", sorted(set(SETS) - {"million", "phrasebook", "digit-words"}))
def test_ten_bad_values_for_every_reading_option_of_a_set(name):
    for key, value in itertools.product(option_types(name), BAD):
        refused_or_right(lambda: load(name, **reading([f"{key}={value}"], name)))  # noqa: B023


@pytest.mark.filterwarnings("ignore::lamina._errors.DataWarning")
@pytest.mark.parametrize("kind", ["table", "text", "pairs", "language", "series", "descriptions"])
def test_ten_bad_values_for_every_reading_option_of_a_file(kind, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("text,b,label\n" + "".join(f"some words {i},{i},{i % 2}\n" for i in range(30)), encoding="utf-8")
    for key, value in itertools.product(option_types(str(path), kind=kind), BAD):
        words = [f"kind={kind}", f"{key}={value}"]
        refused_or_right(lambda: load(str(path), **reading(words, str(path))))  # noqa: B023


@pytest.mark.parametrize(
    ("name", "width", "why"),
    [
        ("fnn", 10**20, "hidden=100000000000000000000: `hidden` must be at most 9,223,372,036,854,775,807, got"),
        ("many-to-one", 2**63 - 1, "there is not enough memory for this. Choose a smaller network"),  # with its inputs
    ],
)
def test_a_search_among_widths_that_no_tensor_has(typed, name, width, why):
    data = {"fnn": "iris", "many-to-one": "wave"}[name]
    code, _, err = typed("search", name, f"hidden=4,{width}", "--grid", "--data", data, "--epochs", "1")
    assert code == 2 and why in err
