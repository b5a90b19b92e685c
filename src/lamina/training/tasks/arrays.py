"""Arrays: pictures, rows of a table, vectors and series, with a class, numbers or a structure to learn."""

import math
import warnings
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn

from lamina._errors import ArgumentError, DataError, DataWarning, ShapeError
from lamina._types import Float, Tensor
from lamina.architectures.recurrent import ManyToMany, ManyToOne, OneToMany
from lamina.architectures.seq2seq import EncoderDecoder
from lamina.data._dates import moment
from lamina.data._unknown import some
from lamina.data.cells import SUFFIXES as TABLES
from lamina.data.dataset import BaseDataset, Dataset, Spec, all_targets, weights_of
from lamina.data.frames import as_frame
from lamina.data.images import load_folder
from lamina.data.labeled import as_trained, labeled_rows, reading
from lamina.data.load import NAMED, SETS
from lamina.data.moments import continued
from lamina.data.picture_files import read_pictures
from lamina.data.pictures import thumbnail
from lamina.data.preprocess import Preprocess
from lamina.data.series import ahead, moments_of, series_like
from lamina.data.source import Source
from lamina.data.splits import Split
from lamina.data.tables import as_written, open_rows, rows_of
from lamina.functional.activations import probabilities
from lamina.training.objective import Objective, choose
from lamina.training.predictions import Predictions
from lamina.training.recipe import Recipe
from lamina.training.runtime import Runtime
from lamina.training.tasks._answers import judge_classes, judge_numbers, last_values
from lamina.training.tasks._baselines import Baseline, always, answered, weighed
from lamina.training.tasks.feed import as_read, batch_size
from lamina.training.tasks.recommended import SEQUENCES, _recommend_series, _series_options, network_options, recommend
from lamina.training.tasks.task import Task, _Choice, _on_device

if TYPE_CHECKING:
    from lamina.training.run import Run

FEATURES = 12  # of a row that a report shows


class Examples(NamedTuple):
    """Stored examples with their names, and the table that they were read from."""

    names: tuple[str, ...]
    inputs: Tensor
    table: Any = None


class Arrays(Task):
    """Pictures, tables, vectors and series."""

    stacks = True

    def __init__(self, preprocess: Any, split: Split | None = None) -> None:
        self._given, self._split = preprocess, split
        self._sources: weakref.WeakValueDictionary[Any, Source] = weakref.WeakValueDictionary()

    @cached_property
    def preprocess(self) -> Any:
        """How examples are prepared; fitted when it is first asked for, so that pictures are measured once."""
        return self._given or Preprocess.fit(self.split.train)

    @property
    def spec(self) -> Spec:
        """What the stored examples are."""
        spec: Spec = self._given.spec if self._given else self.split.train.spec
        return spec

    @property
    def plain(self) -> bool:  # type: ignore[override]
        """Whether an answer is one class or some numbers."""
        return self.spec.task in ("classification", "regression")

    @classmethod
    def fit(cls, split: Split, **wording: Any) -> "Arrays":
        """Fit the preparation to the training part."""
        return cls(None, split)

    def for_network(self, model: nn.Module) -> "Arrays":
        """Give the task with examples of the shape that a network takes."""
        shape = None if _reads_sequences(model) else getattr(getattr(model, "config", None), "inputs", None)
        if self._given is not None or shape is None:
            return self
        wanted = (shape,) if isinstance(shape, int) else tuple(shape)
        done = vars(self).get("preprocess")
        if done is not None and self.spec.kind != "image" and math.prod(wanted) == math.prod(done.inputs):
            return type(self)(replace(done, inputs=wanted), self.split)
        return type(self)(Preprocess.fit(self.split.train, shape), self.split)

    def columns(self) -> dict[str, tuple[int, ...]]:
        """Name the columns of a table, a vector or a series, with their places on the last axis."""
        if self.spec.kind not in ("table", "vector", "series"):
            return super().columns()
        names = self.spec.features or tuple(f"x{j + 1}" for j in range(self.spec.inputs[-1]))
        return {name: (j,) for j, name in enumerate(names)}

    def sizes(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Choose the sizes of an architecture, unless they are given."""
        if name in SEQUENCES:
            return _series_options(name, self.spec, given)
        prepared = self.preprocess.inputs if self.spec.kind == "table" else self.spec.inputs
        return network_options(name, self.spec, prepared, dict(given))

    def recommend(self, name: str, sizes: Mapping[str, Any]) -> _Choice:
        """Choose a recipe for an architecture of some sizes."""
        examples = len(self.split.train)
        return _recommend_series(examples) if name in SEQUENCES else recommend(name, self.spec, examples, dict(sizes))

    def notes(self, sizes: Mapping[str, Any]) -> tuple[str, ...]:
        """Say whether pictures are scaled, and what was fitted to the columns of a table."""
        if self.spec.kind == "table":
            notes: tuple[str, ...] = self.preprocess.notes
            return notes
        wanted = sizes["inputs"]
        if self.spec.kind != "image" or not isinstance(wanted, tuple) or wanted == self.spec.inputs:
            return ()
        return (f"pictures of {' x '.join(map(str, self.spec.inputs))} are scaled to {' x '.join(map(str, wanted))}",)

    def threads(self, runtime: Runtime, model: nn.Module, recipe: Recipe) -> Runtime:
        """Fill in the number of threads on the CPU, unless it is given: by a fixed rule from the work of an update."""
        try:
            work = self.look(model).operations * batch_size(recipe, len(self.split.train))
        except Exception:  # the objective that is chosen next says what does not fit
            return runtime
        return runtime.with_threads(work)

    def example(self, model: nn.Module) -> tuple[Tensor, ...]:
        """Give one prepared example."""
        parameter = next(model.parameters())
        shape, tokens = self.preprocess.inputs, self.preprocess.kept_dtype == torch.int64
        return (torch.zeros(1, *shape, dtype=torch.int64 if tokens else parameter.dtype, device=parameter.device),)

    def objective(self, model: nn.Module, recipe: Recipe) -> Objective:
        """Choose the loss by what the network gives for one example, and check that it fits."""
        spec = self.spec
        if recipe.label_smoothing:
            raise ArgumentError(
                f"`label_smoothing` is for texts and tokens, got {recipe.label_smoothing} for data of kind "
                f"{spec.kind!r}: leave it out."
            )
        outputs = self.look(model).outputs
        given = math.prod(outputs.shape[1:])
        wanted = (1, 2) if spec.task == "classification" and spec.outputs == 2 else (spec.outputs,)
        if given not in wanted:
            what = {"classification": "classes", "multilabel": "labels"}.get(spec.task, "outputs")
            raise ShapeError(
                f"the network gives {given} outputs, but the data have {spec.outputs} {what}: "
                f"build it with outputs={spec.outputs}."
            )
        train = self.split.train
        chosen = choose(spec.task, given, recipe.loss, recipe.class_weights, all_targets(train), weights_of(train))
        return _on_device(replace(chosen, scale=self.scale), model, recipe)

    @property
    def scale(self) -> float:
        """What brings the root of a summed squared error to the units of the data, as a root of the mean over outputs.

        Outputs that were standardized apart have units of their own: their errors stay in standard deviations.
        """
        return (self._std or 1.0) / math.sqrt(self.spec.outputs) if self.score_of(self.spec) == "rmse" else 1.0

    @property
    def _std(self) -> float | None:
        """The standard deviation by which all targets were divided; None when outputs have different ones."""
        std = self.preprocess.target_std
        different = set(std) if isinstance(std, tuple) else {std}
        return different.pop() if len(different) == 1 else None

    @property
    def unit(self) -> str:
        """What errors of a check are in: units of the target, or standard deviations where outputs have own units."""
        if self.score_of(self.spec) != "rmse":
            return ""
        return "standard deviations" if self._std is None else self.spec.target

    def objective_again(self, model: nn.Module, loss: str | None) -> Objective:
        """Choose the objective of a run again, but for weights and smoothing, which only training needs."""
        kind = loss or {"classification": "", "multilabel": "bce"}.get(self.spec.task, "mse")
        kind = kind or ("bce" if self.look(model).outputs.numel() == 1 else "nll")
        return Objective(kind, weighted=bool(self.spec.weight))

    def source(self, part: Dataset, recipe: Recipe, device: torch.device | str, check: bool = False) -> Source:
        """Give the prepared examples of a part of the data."""
        key = id(part), str(device), None if check else recipe.augment
        source = self._sources.get(key)  # trainings of one task share what lies on the device
        if source is None:
            source = self.preprocess.source(part, device, augment=key[-1])
            self._sources[key] = source = source.finished() if torch.device(device).type == "cpu" else source
        return source

    @classmethod
    def score_of(cls, spec: Spec) -> str:
        """Name the score of a check."""
        return "accuracy" if spec.task == "classification" else "rmse"

    @classmethod
    def headline_of(cls, spec: Spec) -> str:
        """Name the metric of the test split to look at first."""
        return "r2" if cls.score_of(spec) == "rmse" else cls.score_of(spec)

    @torch.no_grad()
    def outputs(self, model: nn.Module, inputs: Tensor, batch_size: int = 256) -> Tensor:
        """Return what a network gives for stored examples, before any softmax."""
        parameter = next(model.parameters())
        prepared = (self.preprocess.apply(part) for part in inputs.split(batch_size))
        return torch.cat([model(as_read(each, parameter.dtype).to(parameter.device)).cpu() for each in prepared])

    def judge(self, run: "Run", test: Dataset) -> dict[str, Any]:
        """Judge a trained network on data it has never seen."""
        inputs, targets = test.take(torch.arange(len(test)))
        judged = inputs, targets, self.outputs(run.model, inputs), weights_of(test), self.shown
        if self.spec.task == "classification":
            found = judge_classes(run.objective, self.spec.classes, *judged)
        else:
            found = judge_numbers(run.objective, self.preprocess, *judged) | {"moments": moments_of(test) or None}
        for mistake in found["worst"]:
            name = test.name(mistake["index"]) if isinstance(test, BaseDataset) else ""
            mistake |= {"name": name} if name else {}
        return found

    def usual(self, train: Dataset) -> dict[str, Any]:
        """Give the most frequent class of the training part, or the mean of its targets."""
        targets, weights = all_targets(train), weights_of(train)
        if self.spec.task == "classification":
            return {"label": int(torch.bincount(targets, weights).argmax())}
        return {"mean": weighed(targets.double().reshape(len(targets), -1), weights).mean(0).tolist()}

    def baselines(self, usual: Mapping[str, Any], test: Dataset) -> list[Baseline]:
        """Judge the majority class, or the mean, and for a series the last value."""
        targets, weights = all_targets(test), weights_of(test)
        if self.spec.task == "classification":
            return [always(usual["label"], self.spec.classes[usual["label"]], targets, weights)]
        wanted = targets.double().reshape(len(targets), -1)
        mean = torch.tensor(usual["mean"], dtype=torch.float64).expand_as(wanted)
        found = [answered("the mean of the training targets", mean, wanted, weights)]
        if self.spec.kind == "series":
            last = last_values(self.spec, test.take(torch.arange(len(test)))[0])
            found += [] if last is None else [answered("the last value", last, wanted)]
        return found

    def related(self, examples: int) -> int:
        """Return how many neighbors depend on each other: windows of a series, as far as they look ahead."""
        columns = [name for name in self.spec.target.split(", ") if name in self.spec.features]
        if self.spec.kind != "series" or not columns:
            return 1
        return max(self.spec.outputs // len(columns), math.ceil(examples ** (1 / 3)))

    def labeled(self, what: Any, options: Mapping[str, Any]) -> Dataset:
        """Read new examples with their answers: a table, a folder of pictures, a series; else what `load` knows."""
        spec, path = self.spec, isinstance(what, str | Path) and Path(what)
        if spec.kind == "table" and as_frame(what) is not None:
            return labeled_rows(what, spec, options)
        if not path or (isinstance(what, str) and what in (*SETS, *NAMED)) or not path.exists():
            return super().labeled(what, options)
        if spec.kind == "image" and path.is_dir():
            size, how = spec.inputs[1:], {key: options[key] for key in ("labels",) if key in options}
            folder = load_folder(path, size=(size[0], size[1]), channels=spec.inputs[0], resize=spec.resize or "crop",
                                 one_class=True, **how)  # fmt: skip
            return as_trained(folder, spec)
        if spec.kind == "table" and path.suffix.lower() in TABLES:
            return labeled_rows(path, spec, options)
        if spec.kind == "series" and path.suffix.lower() in TABLES:
            return as_trained(series_like(path, spec, scored=True, **reading(options)), spec)
        return super().labeled(what, options)

    def predict(self, run: "Run", what: Any, **options: Any) -> Predictions:
        """Predict pictures, rows of a table, what comes after a series, or arrays."""
        names, inputs, table = self.read(what)
        unknown = [f"{name!r} in {count}" for name, count in self.preprocess.unknown(inputs).items()]
        if unknown:
            warnings.warn(
                f"categories that no training row has count as other: {some(unknown)} of {len(inputs)} rows.",
                DataWarning,
                stacklevel=3,
            )
        found = replace(self.told(names, self.outputs(run.model, inputs)), read=table)
        if self.spec.kind != "series" or isinstance(what, Tensor):
            return found
        tables = what if isinstance(what, list | tuple) and as_frame(what) is None else [what]
        if not all(isinstance(each, str | Path | bytes) or as_frame(each) is not None for each in tables):
            return found
        moments = tuple(_moments_ahead(each, self.spec) for each in tables)
        return replace(found, moments=moments, columns=tuple(self.spec.target.split(", ")))

    def answers(self, run: "Run", inputs: Tensor) -> Predictions:
        """Predict stored examples."""
        return self.told(tuple(map(str, range(len(inputs)))), self.outputs(run.model, inputs))

    def truth(self, target: Tensor) -> str:
        """Say what is right for an example, in words."""
        if self.spec.task == "classification":
            return self.spec.classes[int(target)]
        return numbers(target.double().reshape(-1).tolist())

    def told(self, names: tuple[str, ...], outputs: Tensor) -> Predictions:
        """Make predictions of outputs."""
        if self.spec.task == "classification":
            return Predictions(names, self.spec.classes, probabilities(outputs))
        return Predictions(names, (), self.preprocess.untargets(outputs).reshape(len(outputs), -1))

    def read(self, what: Any) -> Examples:
        """Give names and stored examples of what is meant: a path, a list of paths, a table, content or an array."""
        if isinstance(what, bytes) and self.spec.kind not in ("table", "series"):
            raise DataError("standard input must hold a table or texts here: name pictures by their files.")
        if isinstance(what, bytes) or (self.spec.kind in ("table", "series") and as_frame(what) is not None):
            return self.read_table(what, "standard input" if isinstance(what, bytes) else "the table")
        what = [what] if isinstance(what, str | Path) else what
        if isinstance(what, list | tuple) and what and all(isinstance(p, str | Path) for p in what):
            return self.read_files([Path(path) for path in what])
        inputs, shape = torch.as_tensor(what), self.spec.inputs
        if tuple(inputs.shape) == shape:
            inputs = inputs[None]
        if tuple(inputs.shape[1:]) != shape:
            raise ShapeError(
                f"examples must have the shape {shape} of the training data, got {tuple(inputs.shape[1:])}."
            )
        return Examples(tuple(map(str, range(len(inputs)))), inputs)

    def read_files(self, paths: Sequence[Path]) -> Examples:
        """Read pictures and folders of pictures all at once, or one table or series after another."""
        spec, missing = self.spec, next((path for path in paths if not path.exists()), None)
        if missing is not None:
            raise DataError(f"{missing} does not exist: check the name.")
        if spec.kind == "image":
            channels, height, width = spec.inputs
            names, inputs = read_pictures(paths, (channels, height, width), spec.resize or "fit")
            return Examples(tuple(names), inputs)
        parts = [self.read_file(path) for path in paths]
        names = [name for part in parts for name in part.names]
        tables = [part.table for part in parts if part.table is not None]
        return Examples(tuple(names), torch.cat([part.inputs for part in parts]), _joined(tables, paths))

    def read_file(self, path: Path) -> Examples:
        """Read a table, or the end of a series."""
        spec = self.spec
        if path.suffix.lower() not in TABLES:
            what = f"{path.name} is not a table ({', '.join(TABLES)})"
            raise DataError(f"{what}, but the run was trained on a {spec.kind}.")
        return self.read_table(path, path.name)

    def read_table(self, what: Any, name: str) -> Examples:
        """Read rows of a table, or the end of a series, as the training table was read."""
        if self.spec.kind == "series":
            return Examples((name,), _last_window(what, name, self.spec)[None])
        cells = open_rows(what, self.spec)
        rows = rows_of(cells, self.spec)
        return Examples(tuple(map(str, range(1, len(rows) + 1))), rows, as_written(cells))

    def shown(self, example: Tensor) -> dict[str, Any]:
        """Give what a report shows of an example: a small picture, or its values by name."""
        spec = self.spec
        if spec.kind == "image":
            return {"picture": thumbnail(example)}
        if spec.kind == "series":
            last = zip(spec.features, example[-1], strict=False)
            return {"values": {f"last {name}": round(float(x), 6) for name, x in last}}
        names = spec.features or tuple(f"x{j + 1}" for j in range(example.numel()))
        values = list(zip(names, example.flatten().tolist(), strict=False))[:FEATURES]
        return {"values": {name: _cell(spec, j, value) for j, (name, value) in enumerate(values)}}


def _joined(tables: Sequence[Any], paths: Sequence[Path]) -> Any:
    """Put the tables of several files below each other, with the names of the files."""
    if len(tables) < 2:
        return tables[0] if tables else None
    import polars as pl

    named = []
    for table, path in zip(tables, paths, strict=True):
        file = pl.lit(path.as_posix()).alias("file")
        named.append(table if "file" in table.columns else table.select(file, pl.all()))
    return pl.concat(named, how="diagonal_relaxed")


def _reads_sequences(model: nn.Module) -> bool:
    """Say whether a network is one of the recurrent ones, whose number of inputs is that of a step."""
    return isinstance(model, OneToMany | ManyToOne | ManyToMany | EncoderDecoder)


def _last_window(what: Any, name: str, spec: Spec) -> Float[Tensor, "time feature"]:
    """Read the last moments of a series, as many as a network was trained to look back."""
    data = series_like(what, spec)
    if len(data.values) < spec.inputs[0]:
        raise DataError(
            f"{name} has {len(data.values)} moments, but the network looks back {spec.inputs[0]}: give more of them."
        )
    return data.values[-spec.inputs[0] :]


def _moments_ahead(what: Any, spec: Spec) -> tuple[str, ...]:
    """Name the moments that the forecast for the end of a series is about, one per step; () if they have no names."""
    named, steps = series_like(what, spec).moments, ahead(spec)
    if not named:
        return ()
    future, note = continued(named, steps)
    if note:
        name = Path(what).name if isinstance(what, str | Path) else "the table"
        warnings.warn(f"{name}: {note}", DataWarning, stacklevel=4)
    if spec.task == "regression":
        return future
    return (*named, *future)[-spec.inputs[0] :]  # every step of the window looks ahead


def numbers(row: Sequence[float]) -> str:
    """Write a few numbers.

    >>> numbers([0.123456, 2.0])
    '0.1235, 2'
    """
    return ", ".join(f"{value:.4g}" for value in row[:4]) + (", …" if len(row) > 4 else "")


def _cell(spec: Spec, column: int, value: float) -> Any:
    levels = spec.levels[column] if spec.levels else ()
    if value != value:
        return None
    if spec.dates and spec.dates[column]:
        return moment(value, spec.dates[column])
    return (levels[int(value)] if value >= 0 else "other") if levels else round(value, 6)
