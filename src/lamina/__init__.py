"""Lamina: the lecture notes "Neural Network Architectures" (E. Herberg, 2023) as software.

    run = lamina.fit("lenet5", "digits")
    print(run.evaluate())

Data
    load                 read a named set, a file, a folder of pictures or arrays as a dataset
    Dataset              what every dataset has: a length, `take` and `spec`; `split` divides it
    Split                the training, validation and test parts of a dataset
    Loaders              your own torch DataLoaders for training, validation and test
    Augment              random changes of pictures while training

Networks
    build                make an architecture by name (`lamina list`)
    adapt                give a trained network another first or last layer
    load_weights         put weights of a run, a .safetensors file or torchvision into a network
    stages               name the parts of a network that can be frozen
    freeze               keep parts of a network as they are while the rest is trained

Training
    fit                  train a network, made or named, and keep the run in a folder
    resume               continue a run that was interrupted, bit for bit
    train                train step by step: a generator of events that keeps nothing
    cross_validate       train and evaluate on k folds
    task_of              say what is to be learned from a split: how data becomes batches, a loss and a score
    Run                  a trained network with its history: evaluate, predict, write, load from its folder
    Recipe               how to train: optimizer, epochs, batch size, schedule, penalty, stopping, seed, precision
    with_options         change a recipe by flat names such as `learning_rate`
    GD                   gradient descent on all examples
    SGD                  stochastic gradient descent on single examples
    MiniBatch            gradient descent on mini batches, with momentum if wanted
    Adam                 the Adam optimizer
    AdamW                the AdamW optimizer: Adam with decoupled weight decay
    RMSprop              the RMSprop optimizer: steps divided by the size of recent gradients
    Schedule             how the learning rate changes over time
    Penalty              the norm of the weights that is added to the loss
    Clip                 the bound on the norm or on the entries of the gradient
    Averaging            the average of the weights over the last updates
    Stopping             when to stop early
    Runtime              where and how to compute: device, threads, compilation, deterministic algorithms
    plan_ranks           predict what a training takes on many ranks, from a few updates on one device

Searching
    search               train many configurations, choose the best by validation and test it once
    resume_search        continue a study that was interrupted
    Study                what a search tried and found, kept in a folder
    Space                the hyperparameters that vary, and over which values
    Range                the interval of a hyperparameter, linear or logarithmic
    Grid                 try every combination
    Random               try random configurations
    OneAtATime           change one hyperparameter at a time
    TPE                  propose configurations from what was found so far (Optuna)
    Halving              drop the worse configurations early

Looking
    summary              list the layers of a network with shapes, parameters, operations and memory
    receptive_field      find the inputs that each output depends on
    gradient_flow        measure the gradient in every layer
    draw                 draw a network or a cell as SVG, TikZ, PDF or PNG
    write_report         write the report of a run or a study as HTML or Markdown

Errors
    LaminaError          every error that Lamina raises on purpose
    ArgumentError        an argument is out of bounds; the message names the bound and the way out
    DataError            data cannot be read or used

Packages
    functional           each equation of the notes once, as a pure function of tensors
    layers               modules that torch.nn lacks or computes differently
    architectures        configurations and networks, behind `build`
    backprop             explicit backpropagation: in batches, line by line, through time
    classical            regression, k-means, PCA and the perceptron rule
    data                 tables, pictures, texts, series and named sets; splits and preprocessing
    training             tasks, executors, the loop, runs
    inspection           summaries, receptive fields, gradient flow, sensitivities, landscapes
    drawing              scenes of plain shapes, and charts
    populations          many networks of one shape as one
    studies              spaces, samplers, studies
    scaling              what a training takes on more ranks than there are: links, slow ranks, failures
    estimators           networks and classical methods behind scikit-learn's interface
    experiments          the claims and figures of the notes as functions
    export               trained networks as ONNX, torch programs, one file or a folder for the Hub: `save` and `push`

Names are imported when they are first used, so that `import lamina` costs nothing and loads no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_PACKAGES = (
    "architectures", "backprop", "classical", "data", "drawing", "estimators", "experiments", "export", "functional",
    "inspection", "layers", "populations", "scaling", "studies", "training",
)  # fmt: skip
_NAMES = {
    "_errors": ("ArgumentError", "DataError", "LaminaError"),
    "architectures.adapt": ("adapt",),
    "architectures.build": ("build",),
    "data.augment": ("Augment",),
    "data.dataset": ("Dataset",),
    "data.load": ("load",),
    "data.loaders": ("Loaders",),
    "data.splits": ("Split",),
    "drawing.draw": ("draw",),
    "inspection.gradient_flow": ("gradient_flow",),
    "inspection.receptive_field": ("receptive_field",),
    "inspection.summary": ("summary",),
    "report.render": ("write_report",),
    "scaling.planning": ("plan_ranks",),
    "studies.halving": ("Halving",),
    "studies.samplers": ("Grid", "OneAtATime", "Random"),
    "studies.search": ("resume_search", "search"),
    "studies.space": ("Range", "Space"),
    "studies.study": ("Study",),
    "studies.tpe": ("TPE",),
    "training.cross_validation": ("cross_validate",),
    "training.fit": ("fit", "resume"),
    "training.freezing": ("freeze", "stages"),
    "training.recipe": (
        "GD", "SGD", "Adam", "AdamW", "Averaging", "Clip", "MiniBatch", "Penalty", "RMSprop", "Recipe", "Schedule",
        "Stopping", "with_options",
    ),
    "training.run": ("Run",),
    "training.runtime": ("Runtime",),
    "training.tasks.kinds": ("task_of",),
    "training.train": ("train",),
    "training.weights": ("load_weights",),
}  # fmt: skip
_HOME = {name: module for module, names in _NAMES.items() for name in names} | dict.fromkeys(_PACKAGES, "")
__all__ = ["__version__", *sorted(_HOME)]

if TYPE_CHECKING:
    from lamina import architectures as architectures
    from lamina import backprop as backprop
    from lamina import classical as classical
    from lamina import data as data
    from lamina import drawing as drawing
    from lamina import estimators as estimators
    from lamina import experiments as experiments
    from lamina import export as export
    from lamina import functional as functional
    from lamina import inspection as inspection
    from lamina import layers as layers
    from lamina import populations as populations
    from lamina import scaling as scaling
    from lamina import studies as studies
    from lamina import training as training
    from lamina._errors import ArgumentError as ArgumentError
    from lamina._errors import DataError as DataError
    from lamina._errors import LaminaError as LaminaError
    from lamina.architectures.adapt import adapt as adapt
    from lamina.architectures.build import build as build
    from lamina.data.augment import Augment as Augment
    from lamina.data.dataset import Dataset as Dataset
    from lamina.data.load import load as load
    from lamina.data.loaders import Loaders as Loaders
    from lamina.data.splits import Split as Split
    from lamina.drawing.draw import draw as draw
    from lamina.inspection.gradient_flow import gradient_flow as gradient_flow
    from lamina.inspection.receptive_field import receptive_field as receptive_field
    from lamina.inspection.summary import summary as summary
    from lamina.report.render import write_report as write_report
    from lamina.scaling.planning import plan_ranks as plan_ranks
    from lamina.studies.halving import Halving as Halving
    from lamina.studies.samplers import Grid as Grid
    from lamina.studies.samplers import OneAtATime as OneAtATime
    from lamina.studies.samplers import Random as Random
    from lamina.studies.search import resume_search as resume_search
    from lamina.studies.search import search as search
    from lamina.studies.space import Range as Range
    from lamina.studies.space import Space as Space
    from lamina.studies.study import Study as Study
    from lamina.studies.tpe import TPE as TPE
    from lamina.training.cross_validation import cross_validate as cross_validate
    from lamina.training.fit import fit as fit
    from lamina.training.fit import resume as resume
    from lamina.training.freezing import freeze as freeze
    from lamina.training.freezing import stages as stages
    from lamina.training.recipe import GD as GD
    from lamina.training.recipe import SGD as SGD
    from lamina.training.recipe import Adam as Adam
    from lamina.training.recipe import AdamW as AdamW
    from lamina.training.recipe import Averaging as Averaging
    from lamina.training.recipe import Clip as Clip
    from lamina.training.recipe import MiniBatch as MiniBatch
    from lamina.training.recipe import Penalty as Penalty
    from lamina.training.recipe import Recipe as Recipe
    from lamina.training.recipe import RMSprop as RMSprop
    from lamina.training.recipe import Schedule as Schedule
    from lamina.training.recipe import Stopping as Stopping
    from lamina.training.recipe import with_options as with_options
    from lamina.training.run import Run as Run
    from lamina.training.runtime import Runtime as Runtime
    from lamina.training.tasks.kinds import task_of as task_of
    from lamina.training.train import train as train
    from lamina.training.weights import load_weights as load_weights


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lamina' has no attribute {name!r}; it has {', '.join(sorted(_HOME))}.")
    value = getattr(import_module(f"lamina.{_HOME[name]}"), name) if _HOME[name] else import_module(f"lamina.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
