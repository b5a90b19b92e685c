"""What every signature promises, run over all: seeds start at 0, rules are not scaled, records do not change."""

import dataclasses
import inspect
from importlib import import_module
from pkgutil import iter_modules

import pytest

PROMISES = {"seed": 0, "scale": 1.0}
CHANGING = {"loop.Progress"}  # the state of a run


def things(*packages):
    """Yield what the modules of some packages define, with its place."""
    for package in packages:
        for module in iter_modules(import_module(f"lamina.{package}").__path__):
            if not module.name.endswith("_triton"):  # imports what only a GPU has
                for name, thing in vars(import_module(f"lamina.{package}.{module.name}")).items():
                    if getattr(thing, "__module__", None) == f"lamina.{package}.{module.name}":
                        yield f"{module.name}.{name}", thing


def defaults():
    """Yield the arguments that have one of these names and a default."""
    for place, thing in things("functional", "layers", "backprop", "classical", "architectures"):
        call = thing.__init__ if inspect.isclass(thing) else thing
        if inspect.isfunction(call):
            for argument in PROMISES.keys() & inspect.signature(call).parameters.keys():
                default = inspect.signature(call).parameters[argument].default
                if default is not inspect.Parameter.empty:
                    yield place, argument, default


@pytest.mark.parametrize(("place", "argument", "default"), sorted(defaults()))
def test_defaults_are_the_same_everywhere(place, argument, default):
    assert default == PROMISES[argument]


def test_configurations_and_results_are_frozen():
    found = things("functional", "layers", "backprop", "classical", "architectures", "data", "training")
    records = {place: thing for place, thing in found if inspect.isclass(thing) and dataclasses.is_dataclass(thing)}
    assert len(records) > 50
    assert {place for place, record in records.items() if not record.__dataclass_params__.frozen} == CHANGING
