"""Arrays: pictures, rows of a table, vectors and series, with a class, numbers or a structure to learn."""

import math
import warnings
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn

from lamina._errors import DataError, DataWarning, ShapeError
from lamina._types import Float, Tensor
from lamina.architectures.perceptron import Perceptron
from lamina.architectures.recurrent import ManyToMany, ManyToOne, OneToMany
from lamina.architectures.seq2seq import EncoderDecoder
from lamina.data._dates import moment
from lamina.data._unknown import some
from lamina.data.cells import SUFFIXES as TABLES
from lamina.data.dataset import BaseDataset, Dataset, Spec, all_targets, weights_of
from lamina.data.frames import as_frame
from lamina.data.images import load_folder
from lamina.data.labeled import as_trained, labeled_rows, reading
from lamina.data.large import BLOCK, every_so_many, reads_blocks
from lamina.data.load import NAMED, SETS
from lamina.data.moments import continued
from lamina.data.parquet import Parquet
from lamina.data.picture_files import read_pictures
from lamina.data.pictures import THUMBNAIL, thumbnail
from lamina.data.preprocess import Preprocess
from lamina.data.series import ahead, moments_of, series_like
from lamina.data.source import Source, with_weights
from lamina.data.splits import Split
from lamina.data.tables import as_written, open_rows, rows_of
from lamina.functional.activations import probabilities
from lamina.inspection.attribution import Choose
from lamina.training.deployment import Deployed, Draw, Port, Steps, below, normal
from lamina.training.explanations import Seen, heat_of
from lamina.training.objective import Objective, choose
from lamina.training.predictions import Predictions
from lamina.training.recipe import Recipe
from lamina.training.runtime import Runtime
from lamina.training.tasks._answers import Shown, judge_classes, judge_numbers, last_values
from lamina.training.tasks._baselines import Baseline, always, answered, weighed
from lamina.training.tasks._linear import against, linear_baseline
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

    def normalized(self, mean: Sequence[float], std: Sequence[float], scale: float) -> "Arrays | None":
        """Give the task with pictures normalized by other numbers; None if those are in other units."""
        fitted = self.preprocess
        if self.spec.kind != "image":
            return self
        unit = fitted.scale == 1 and 0 <= min(fitted.mean) <= max(fitted.mean) <= 1 and max(fitted.std) <= 0.5
        if len(mean) != len(fitted.mean) or (fitted.scale != scale and not (unit and scale == 1 / 255)):
            return None
        return type(self)(replace(fitted, mean=tuple(mean), std=tuple(std)), self.split)

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
        found = getattr(train, "statistics", None)  # of a table that stays on disk
        counted = found.balance if found is not None and spec.task != "regression" else None
        labels = all_targets(train) if recipe.class_weights and found is None else torch.zeros(0, dtype=torch.int64)
        asked = recipe.loss, recipe.class_weights, labels, weights_of(train)
        more = {**recipe.loss_numbers, "smoothing": recipe.label_smoothing, "counted": counted}
        chosen = choose(spec.task, given, *asked, **more)
        if recipe.augment is not None and recipe.augment.mixes:
            chosen = replace(chosen, mixed=self._prepared_targets(train).shape[1:])
        return _on_device(self._measuring(chosen, recipe), model, recipe)

    def _prepared_targets(self, part: Dataset) -> Tensor:
        """Give the target of one example as a batch has it."""
        one, weights = torch.arange(1), weights_of(part)
        return with_weights(self.preprocess.targets(part.take(one)[1]), None if weights is None else weights[one])

    def _measuring(self, chosen: Objective, recipe: Recipe) -> Objective:
        """Give an objective the metrics of a recipe, and the units of the data."""
        return replace(chosen, scale=self.scale, metrics=recipe.metrics, units=self.preprocess.untargets)

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
    def apart(self) -> list[tuple[str, float]]:
        """The name of each output and its standard deviation, where outputs have units of their own; else nothing."""
        if self.score_of(self.spec) != "rmse" or self._std is not None:
            return []
        stds, names = self.preprocess.target_std, self.spec.measured.split(", ")
        if len(names) == 1 or len(stds) % len(names):
            names = [f"of output {j + 1}" for j in range(len(stds))]
        return [(names[j % len(names)], std) for j, std in enumerate(stds)]

    @property
    def unit(self) -> str:
        """What errors of a check are in: units of the target, or standard deviations where outputs have own units."""
        if self.score_of(self.spec) != "rmse":
            return ""
        return "standard deviations" if self._std is None else self.spec.measured

    def objective_again(self, model: nn.Module, recipe: Recipe) -> Objective:
        """Choose the objective of a run again, but for weights and smoothing, which only training needs."""
        outputs, nothing = self.look(model).outputs[0].numel(), torch.zeros(0, dtype=torch.int64)
        chosen = choose(self.spec.task, outputs, recipe.loss, None, nothing, **recipe.loss_numbers)
        return replace(self._measuring(chosen, recipe), scale=1.0, weighted=bool(self.spec.weight))

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

    def examined(self, model: nn.Module, test: Dataset) -> tuple[Any, Tensor, Tensor, Tensor | None, Shown]:
        """Give examples, targets, outputs and weights of some data, and what shows an example."""
        inputs, targets = test.take(torch.arange(len(test)))
        return inputs, targets, self.outputs(model, inputs), weights_of(test), self.shown

    def judge(self, run: "Run", test: Dataset) -> dict[str, Any]:
        """Judge a trained network on data it has never seen."""
        judged = self.examined(run.model, test)
        if self.spec.task == "classification":
            found = judge_classes(run.objective, self.spec.classes, *judged)
        else:
            found = judge_numbers(run.objective, self.preprocess, *judged, self.apart) | {
                "moments": moments_of(test) or None
            }
        found["metrics"] |= self.measured(run, judged[2], judged[1], judged[3])
        found["answered"] = self.told((), judged[2]), judged[1]
        for mistake in found["worst"]:
            name = test.name(mistake["index"]) if isinstance(test, BaseDataset) else ""
            mistake |= {"name": name} if name else {}
            if self.spec.kind == "image" and self.spec.classes:
                mistake["why"] = self._why(run.model, test, mistake)
        return found

    def _why(self, model: nn.Module, test: Dataset, mistake: Mapping[str, Any]) -> str:
        """Draw what of a picture speaks for the class that it was taken for."""
        (seen,) = self.seen(model, test.take(torch.tensor([mistake["index"]]))[0])
        choose, _ = self.aim(self.spec.classes.index(mistake["guess"]))
        return thumbnail(heat_of(model, seen, choose, THUMBNAIL))

    def measured(self, run: "Run", outputs: Tensor, targets: Tensor, weights: Tensor | None) -> dict[str, float]:
        """Compute the metrics of the recipe for stored targets."""
        return run.objective.measured(outputs, with_weights(self.preprocess.targets(targets), weights))

    def usual(self, train: Dataset) -> dict[str, Any]:
        """Give the most frequent class of the training part, or the mean of its targets."""
        if (found := getattr(train, "statistics", None)) is not None:  # of a table that stays on disk
            if self.spec.task == "classification":
                return {"label": int(found.targets.argmax())}
            return {"mean": found.target_moments()[0].tolist()}
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
        found = [answered("the mean of the training targets", mean, wanted, weights, self.apart)]
        if self.spec.kind == "series":
            last = last_values(self.spec, test.take(torch.arange(len(test)))[0])
            found += [] if last is None else [answered("the last value", last, wanted, None, self.apart)]
        return found

    def against_linear(self, run: "Run", split: Split) -> dict[str, Any] | None:
        """Compare a network for a table with ridge or logistic regression, unless it is a linear model itself."""
        rows = self.spec.kind in ("table", "vector") and self.plain and not self.spec.complete
        linear = linear_baseline(self.preprocess, split) if rows and not isinstance(run.model, Perceptron) else None
        if linear is None:
            return None
        judged = self.judge(run, split.validation)
        return against(linear, judged["metrics"], judged["costs"])

    def related(self, examples: int) -> int:
        """Return how many neighbors depend on each other: windows of a series, as far as they look ahead."""
        columns = [name for name in self.spec.target.split(", ") if name in self.spec.features]
        if self.spec.kind != "series" or not columns:
            return 1
        return max(self.spec.outputs // len(columns), math.ceil(examples ** (1 / 3)))

    def labeled(self, what: Any, options: Mapping[str, Any]) -> Dataset:
        """Read new examples with their answers: a table, a folder of pictures, a series; else what `load` knows."""
        spec, path = self.spec, isinstance(what, str | Path) and Path(what)
        if spec.kind == "table" and path and reads_blocks(path, None):
            what = every_so_many(path)
        if spec.kind == "table" and (as_frame(what) is not None or (path and path.suffix.lower() in TABLES)):
            rows = labeled_rows(what, spec, options)
            self._say_unknown(rows.inputs)
            return rows
        if not path or (isinstance(what, str) and what in (*SETS, *NAMED)) or not path.exists():
            return super().labeled(what, options)
        if spec.kind == "image" and path.is_dir():
            size, how = spec.inputs[1:], {key: options[key] for key in ("labels",) if key in options}
            folder = load_folder(path, size=(size[0], size[1]), channels=spec.inputs[0], resize=spec.resize or "crop",
                                 one_class=True, **how)  # fmt: skip
            return as_trained(folder, spec)
        if spec.kind == "series" and path.suffix.lower() in TABLES:
            return as_trained(series_like(path, spec, scored=True, **reading(options)), spec)
        return super().labeled(what, options)

    def _say_unknown(self, inputs: Tensor) -> None:
        """Warn of categories that the training part does not have."""
        unknown = [f"{name!r} in {count}" for name, count in self.preprocess.unknown(inputs).items()]
        if unknown:
            warnings.warn(
                f"categories that no training row has count as other: {some(unknown)} of {len(inputs)} rows.",
                DataWarning,
                stacklevel=4,
            )

    def predict(self, run: "Run", what: Any, **options: Any) -> Predictions:
        """Predict pictures, rows of a table, what comes after a series, or arrays."""
        names, inputs, table = self.read(what)
        self._say_unknown(inputs)
        found = replace(self.told(names, self.outputs(run.model, inputs)), read=table)
        if self.spec.kind != "series" or isinstance(what, Tensor):
            return found
        tables = what if isinstance(what, list | tuple) and as_frame(what) is None else [what]
        if not all(isinstance(each, str | Path | bytes) or as_frame(each) is not None for each in tables):
            return found
        moments = tuple(_moments_ahead(each, self.spec) for each in tables)
        return replace(found, moments=moments, columns=tuple(self.spec.target.split(", ")))

    def blocks(self, what: Any) -> "Iterator[Any] | None":
        """Give a Parquet table that does not fit in memory block by block."""
        if self.spec.kind != "table" or not reads_blocks(what, None):
            return None
        table = Parquet(what)
        return (table.read(block) for block in table.blocks(BLOCK))

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
        classes = self.spec.classes if self.spec.task == "classification" else ()
        return Predictions(names, classes, self.values(outputs))

    def values(self, outputs: Tensor) -> Tensor:
        """Give the probabilities of the classes, or numbers in the units of the data."""
        if self.spec.task == "classification":
            return probabilities(outputs)
        return self.preprocess.untargets(outputs).reshape(outputs.shape[0], -1)

    def deployed(self, model: nn.Module, prepared: bool = False) -> dict[str, Deployed]:
        """Read prepared examples, sequences of any number of steps; or stored ones, a table by its columns."""
        if not prepared:
            shape: tuple[int | str, ...] = self.preprocess.inputs
            shape = ("time", *shape[1:]) if isinstance(model, ManyToOne | ManyToMany) else shape
            return {"": Deployed(model, (Port("inputs", ("batch", *shape)),))}
        spec, answers = self.spec, ("probabilities",) if self.spec.classes else ("values",)
        classes = spec.classes if spec.task == "classification" else ()
        columns = tuple(zip(spec.features, spec.levels, strict=True)) if spec.kind == "table" else ()
        if any(spec.dates):
            name = next(name for name, date in zip(spec.features, spec.dates, strict=True) if date)
            raise DataError(
                f"the preparation of the column {name!r} cannot be exported, because it holds dates: export the "
                "network alone, without --with-preparation."
            )
        if spec.levels and spec.unknown == "error":
            raise DataError(
                "this run refuses unknown categories, which an exported network cannot: export the network alone, "
                "without --with-preparation."
            )
        port = Port("inputs", ("batch", *spec.inputs), self._stored())
        return {"": Deployed(Steps(model, self._answer), (port,), answers, classes, columns)}

    def _answer(self, network: nn.Module, stored: Tensor) -> Tensor:
        """Prepare stored examples, run a network, and give what `predict` gives."""
        return self.values(network(as_read(self.preprocess.apply(stored), next(network.parameters()).dtype)))

    def _stored(self) -> Draw:
        """Give what draws stored examples: bytes of pictures, categories and gaps of tables, numbers."""
        spec, preprocess = self.spec, self.preprocess
        if spec.kind == "image":
            return below(256, torch.uint8) if preprocess.kept_dtype == torch.uint8 else normal
        if spec.kind != "table":
            mean, std = (torch.tensor(each).reshape(-1) for each in (preprocess.mean, preprocess.std))
            shape = (1, *spec.inputs) if len(mean) == math.prod(spec.inputs) else (-1,)
            return lambda size, generator: normal(size, generator) * std.reshape(shape) + mean.reshape(shape)

        def rows(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
            numbers = iter(zip(preprocess.mean, preprocess.std, strict=True))
            columns = []
            for levels, gaps in zip(spec.levels, preprocess.missing, strict=True):
                if levels:
                    column = torch.randint(-1, len(levels), shape[:1], generator=generator).double()
                else:
                    mean, std = next(numbers)
                    column = normal(shape[:1], generator).double() * std + mean
                gone = torch.rand(shape[:1], generator=generator) < 0.2
                columns.append(torch.where(gone, torch.nan, column) if gaps else column)
            return torch.stack(columns, 1)

        return rows

    @property
    def pipeline(self) -> str:
        """What the Hub calls such a task."""
        if self.spec.kind == "image":
            return "image-classification" if self.spec.classes else "image-to-image"
        if self.spec.kind == "series" and not self.spec.classes:
            return "time-series-forecasting"
        return "tabular-classification" if self.spec.classes else "tabular-regression"

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
        spec = replace(self.spec, kind="table")  # numbers of a vector that have no names are x1, x2, ...
        cells = open_rows(what, spec)
        rows = rows_of(cells, spec)
        return Examples(tuple(map(str, range(1, len(rows) + 1))), rows, as_written(cells))

    def seen(self, model: nn.Module, what: Any) -> list[Seen]:
        """Read examples as a network takes them, with their pictures or their columns."""
        names, inputs, _ = self.read(what)
        parameter = next(model.parameters())
        prepared = as_read(self.preprocess.apply(inputs), parameter.dtype).to(parameter.device)
        if self.spec.kind == "image":
            shape = tuple(self.preprocess.kept)
            return [Seen(*each, shape) for each in zip(names, prepared.split(1), inputs, strict=True)]
        columns = self.preprocess.columns or {name: at for name, at in self.columns().items()}
        values = [self.shown(example)["values"] for example in inputs]
        return [
            Seen(name, example, columns=columns, values=shown)
            for name, example, shown in zip(names, prepared.split(1), values, strict=True)
        ]

    def aims(self) -> tuple[str, ...]:
        """Name the classes or labels, or the targets."""
        if self.spec.classes:
            return self.spec.classes
        names = tuple(self.spec.target.split(", ")) if self.spec.target else ()
        count = self.spec.outputs
        return names if len(names) == count else tuple(f"output {j + 1}" for j in range(count))

    def aim(self, place: int) -> tuple[Choose, str]:
        """Take a logit, of two classes that share one with its sign, or a number in the units of its target."""
        if self.spec.classes:
            sign = 1.0 if place else -1.0

            def logit(outputs: Tensor) -> Tensor:
                flat = outputs.reshape(len(outputs), -1)
                return sign * flat[:, 0] if flat.shape[1] == 1 and len(self.spec.classes) == 2 else flat[:, place]

            return logit, f"what each adds to the score of {self.spec.classes[place]}, before the probability"

        def number(outputs: Tensor) -> Tensor:
            return self.preprocess.untargets(outputs).reshape(len(outputs), -1)[:, place]

        return number, f"what each adds to {self.aims()[place]}, compared with its mean"

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
