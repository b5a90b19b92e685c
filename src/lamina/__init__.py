"""Lamina: the lecture notes "Neural Network Architectures" (E. Herberg, 2023) as software.

Public names are imported when they are first used, so that `import lamina` costs nothing and loads no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_RECIPE = ("GD", "SGD", "Adam", "Clip", "MiniBatch", "Penalty", "Recipe", "Schedule", "Stopping")
_HOME = {
    "build": "lamina.architectures.build",
    "adapt": "lamina.architectures.adapt",
    "load": "lamina.data.load",
    "task_of": "lamina.training.tasks.kinds",
    "train": "lamina.training.train",
    "fit": "lamina.training.fit",
    "resume": "lamina.training.fit",
    "Run": "lamina.training.run",
    **dict.fromkeys(_RECIPE, "lamina.training.recipe"),
    "Augment": "lamina.data.augment",
    "search": "lamina.studies.search",
    "Study": "lamina.studies.study",
    **dict.fromkeys(("Grid", "OneAtATime", "Random"), "lamina.studies.samplers"),
    "Halving": "lamina.studies.halving",
    "TPE": "lamina.studies.tpe",
    "Range": "lamina.studies.space",
    "summary": "lamina.inspection.summary",
    "receptive_field": "lamina.inspection.receptive_field",
    **dict.fromkeys(
        (
            "architectures",
            "backprop",
            "classical",
            "data",
            "functional",
            "inspection",
            "layers",
            "populations",
            "studies",
            "training",
        ),
        "",
    ),
}
__all__ = ["__version__", *_HOME]

if TYPE_CHECKING:
    from lamina import architectures as architectures
    from lamina import backprop as backprop
    from lamina import classical as classical
    from lamina import data as data
    from lamina import functional as functional
    from lamina import inspection as inspection
    from lamina import layers as layers
    from lamina import populations as populations
    from lamina import studies as studies
    from lamina import training as training
    from lamina.architectures.adapt import adapt as adapt
    from lamina.architectures.build import build as build
    from lamina.data.augment import Augment as Augment
    from lamina.data.load import load as load
    from lamina.inspection.receptive_field import receptive_field as receptive_field
    from lamina.inspection.summary import summary as summary
    from lamina.studies.halving import Halving as Halving
    from lamina.studies.samplers import Grid as Grid
    from lamina.studies.samplers import OneAtATime as OneAtATime
    from lamina.studies.samplers import Random as Random
    from lamina.studies.search import search as search
    from lamina.studies.space import Range as Range
    from lamina.studies.study import Study as Study
    from lamina.studies.tpe import TPE as TPE
    from lamina.training.fit import fit as fit
    from lamina.training.fit import resume as resume
    from lamina.training.recipe import GD as GD
    from lamina.training.recipe import SGD as SGD
    from lamina.training.recipe import Adam as Adam
    from lamina.training.recipe import Clip as Clip
    from lamina.training.recipe import MiniBatch as MiniBatch
    from lamina.training.recipe import Penalty as Penalty
    from lamina.training.recipe import Recipe as Recipe
    from lamina.training.recipe import Schedule as Schedule
    from lamina.training.recipe import Stopping as Stopping
    from lamina.training.run import Run as Run
    from lamina.training.tasks.kinds import task_of as task_of
    from lamina.training.train import train as train


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lamina' has no attribute {name!r}; it has {', '.join(_HOME)}.")
    value = getattr(import_module(_HOME[name]), name) if _HOME[name] else import_module(f"lamina.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
