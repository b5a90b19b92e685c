"""A trained network with everything that belongs to it: predict, evaluate once, come back from disk."""

import math
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from lamina._errors import ArgumentError, DataWarning, LaminaError, RunError
from lamina._markup import Markup
from lamina._shown import Shown
from lamina._types import Float, Num, Tensor
from lamina.data.dataset import Dataset
from lamina.data.load import NAMED, SETS
from lamina.data.splits import Split
from lamina.training import recipe as recipes
from lamina.training.conformal import covered, measure, scores_of, validation_scores
from lamina.training.explanations import Explanation, explain
from lamina.training.folder import RunFolder, blamed
from lamina.training.importance import Importance, affordable, importance
from lamina.training.objective import Judged, Objective
from lamina.training.packed import home_of, open_home
from lamina.training.predictions import Predictions, save_parts
from lamina.training.rebuild import rebuild, reload
from lamina.training.stopping import Row, StopReason
from lamina.training.tasks._baselines import beaten, compared, verdict
from lamina.training.tasks._linear import simpler
from lamina.training.tasks.kinds import usable_task
from lamina.training.tasks.task import Task


@dataclass(frozen=True)
class Evaluation:
    """What a network does on examples it has never seen.

    Args:
        examples: how many there were.
        metrics: loss, accuracy, macro F1 and AUC; of labels loss, accuracy, the share of exactly right examples, micro
            F1, macro F1 and mean average precision; or loss, mean squared error, mean absolute error and R^2, for a
            series also the errors against the naive forecast; or of words loss, perplexity and accuracy, for
            translations the share of exact ones, BLEU and chrF.
        openings: how often the test split was opened for this run; more than 1 means that it was looked at again.
        confusion: how often each class (row) was taken for each (column).
        per_class: precision, recall and F1 of each class, of labels also prevalence and average precision.
        calibration: how often predictions of some confidence were right.
        worst: the mistakes made with the most confidence, with thumbnails of pictures; or the largest errors. Each has
            its index in the test split, and its name if the data have names, such as the path of a picture.
        predictions: label, guess and confidence of every example, probabilities of its labels, or target and output.
        weights: the digest of the weights that were judged; other weights are another look at the test split.
        conformal: how often intervals or sets of classes calibrated on the validation part hold the truth.
        importance: how much worse the network gets when a column is shuffled, where that takes seconds.
        baselines: what answers without a look at the inputs are worth, the strongest first: name and metrics of each,
            by how much the network is `ahead` of it, and how likely luck alone would put it so far off (`p`).
        linear: for a table what a linear model fitted to the training part reaches on the validation part, beside the
            network: both values of the `metric`, by how much the network is `ahead` in cost, and `p` as above.
        usual: what the baselines know of the training part.
        unit: what errors are measured in: the name of the target.
        moments: for a series the moment of the first target of every example, if its moments have names.
        data: where the examples came from; "" for the test split.
    """

    examples: int
    metrics: dict[str, float]
    openings: int = 1
    confusion: list[list[int]] | None = None
    per_class: list[dict[str, Any]] | None = None
    calibration: dict[str, Any] | None = None
    worst: list[dict[str, Any]] | None = None
    predictions: list[list[float]] | None = None
    weights: str = ""
    conformal: dict[str, Any] | None = None
    importance: dict[str, Any] | None = None
    baselines: list[dict[str, Any]] | None = None
    linear: dict[str, Any] | None = None
    usual: dict[str, Any] | None = None
    unit: str = ""
    moments: list[str] | None = None
    data: str = ""

    def __str__(self) -> str:
        again = "" if self.openings == 1 else f"; the test split was opened {self.openings} times"
        kind = "examples" if self.data else "test examples"
        return f"{in_words(self.metrics, self.unit)} on {self.examples} {kind}{again}"

    @property
    def beaten(self) -> bool | None:
        """Whether the network beats the strongest baseline; None when there is none, or too few examples to tell."""
        return beaten(self.baselines or ())

    @property
    def verdict(self) -> str:
        """A sentence about the strongest baseline; "" when there is none."""
        return verdict(self.baselines or (), self.examples)

    @property
    def context(self) -> list[str]:
        """Lines that say what the baselines reach, whether the network beats them, and that a linear model does."""
        lines = context(self.baselines or (), self.examples, self.unit)
        return [*lines, said] if (said := simpler(self.linear)) else lines


def in_words(metrics: Mapping[str, float], unit: str = "") -> str:
    """Write metrics in a line; errors are in the units of the data, and what is not is left out.

    >>> in_words({"loss": 0.5, "mse": 4.0, "mae": 1.25, "r2": 0.875, "rmse": 2.0}, "price")
    'rmse 2.0000 and mae 1.2500 (price), r2 0.8750'
    """
    rest = {name: round(value, 4) if name == "r2" and value is not None else value for name, value in metrics.items()}
    if "rmse" not in rest:
        return ", ".join(f"{name.replace('_', ' ')} {_number(value)}" for name, value in rest.items())
    errors = " and ".join(f"{name} {_number(rest.pop(name))}" for name in ("rmse", "mae") if name in rest)
    shown = {name: value for name, value in rest.items() if name not in ("loss", "mse", "naive_mae")}
    return ", ".join([errors + (f" ({unit})" if unit else ""), *([in_words(shown)] if shown else [])])


def context(baselines: Sequence[Mapping[str, Any]], examples: int, unit: str = "") -> list[str]:
    """Write lines that say what baselines reach, and whether a network beats them."""
    lines = [f"baseline, {each['name']}: {in_words(each['metrics'], unit)}" for each in baselines]
    return [*lines, verdict(baselines, examples)] if lines else []


def _number(value: float | None) -> str:
    """Write a number so that large and small ones stay readable.

    >>> _number(0.25), _number(48211.4), _number(0.00012), _number(46159242465.4)
    ('0.2500', '48,211', '0.00012', '4.616e+10')
    """
    if value is None or not math.isfinite(value):
        return "undefined"
    size = abs(value)
    return (
        f"{value:,.0f}" if 1e4 <= size < 1e9 else f"{value:.4f}" if 1e-3 <= size < 1e4 or not size else f"{value:.4g}"
    )


def _lost(what: str, name: str) -> Judged:
    """Stand in for a loss or a metric that a file cannot hold: its value is not known."""

    def judged(outputs: Tensor, targets: Tensor) -> Tensor:
        sentence = f"the {what} {name!r} is a function, which the folder of a run cannot hold"
        again = f"give it again, as in Run.load(folder, {'loss=...' if what == 'loss' else 'metrics={...}'})."
        if outputs.requires_grad:
            raise ArgumentError(f"{sentence}: {again}")
        warnings.warn(f"{sentence}, so its value is undefined: {again}", DataWarning, stacklevel=2)
        return outputs.new_full((len(targets),) if what == "loss" else (), math.nan)

    return judged


def _objective(
    values: dict[str, Any], task: Task, network: nn.Module, loss: Judged | None, metrics: Mapping[str, Judged] | None
) -> Objective:
    """Make what a run minimized; a loss and metrics that a file cannot hold are undefined unless given."""
    code = values["loss"]["code"] if isinstance(values.get("loss"), dict) else ""
    judging = {name: _lost("metric", name) for name in values.get("metrics", ())} | {**(metrics or {})}
    recipe = recipes.from_dict(
        values | {"metrics": list(judging)}, recipes.Adam(), loss or _lost("loss", code), judging
    )
    return task.objective_again(network, recipe)


def _changed(origin: dict[str, Any]) -> str:
    """Say that the data of a run are no longer those that it was trained on; "" when they are."""
    if origin.get("reload"):
        try:
            reload(origin)
        except LaminaError as error:
            return str(error)
    return ""


def _place(what: Any) -> str:
    """Name the file or folder that is meant, however it is spelled; "" when there is none, as for a long text."""
    return os.path.realpath(what) if isinstance(what, str | Path) and os.path.exists(what) else ""


@dataclass(frozen=True, repr=False)
class Run(Shown):
    """A finished or interrupted run.

    Args:
        folder: where it is kept.
        model: the network with its best weights, in evaluation mode.
        task: what was learned, and how inputs are prepared.
        objective: what was minimized, without smoothed targets.
        rows: the history, one row per check.
        reason: why it ended.
        split: the data; None after `Run.load` until they are needed.
    """

    folder: Path
    model: nn.Module
    task: Task
    objective: Objective
    rows: tuple[Row, ...]
    reason: StopReason
    split: Split | None = None

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        model: nn.Module | None = None,
        loss: Judged | None = None,
        metrics: Mapping[str, Judged] | None = None,
    ) -> "Run":
        """Read a run back from its folder, or from what `lamina export` or `lamina push` made of it.

        Args:
            folder: the folder of the run, a .safetensors file, or a pushed folder.
            model: the network, if it was not made by `lamina.build`.
            loss: the loss, if it was a function of the caller's; without it a new evaluation leaves the loss undefined.
            metrics: those of the caller; a new evaluation leaves those undefined that are not given.
        """
        home = open_home(folder)
        config = home.config()
        with blamed(home.path / "config.toml"):
            network = model or rebuild(config["architecture"])
        status, weights = home.status(), home.read_weights()
        if status.get("weights", home.weights_digest()) != home.weights_digest() and home.weights.is_file():
            raise RunError(f"{home.weights} is damaged: it is not what the run wrote. Restore it, or train again.")
        with blamed(home.path / "config.toml"):
            dtype = torch.float64 if config["recipe"].get("precision") == "float64" else torch.float32
        network.to(dtype)
        try:
            network.load_state_dict(weights)
        except RuntimeError as error:
            raise RunError(f"{home.weights} does not hold the weights of this architecture: {error}") from error
        with blamed(home.path / "preprocess.json"):
            task = usable_task(home.json("preprocess"))
        reason = StopReason(status["state"], status.get("sentence", "the run has not ended"))
        with blamed(home.path / "config.toml"):
            objective = _objective(config["recipe"], task, network, loss, metrics)
        return cls(home.path, network.eval(), task, objective, tuple(home.rows()), reason)

    def _headline(self) -> str:
        ended = f"{self.rows[-1]['epoch']} epochs" if self.rows else "no epoch"
        result = self._tested()
        tested = "" if result is None else "; test " + str(result).split(" on ")[0]
        return f"Run({self.folder.as_posix()}: {type(self.model).__name__}, {ended}{tested})"

    def _tested(self) -> Evaluation | None:
        """Give what the test split said when it was opened; None before."""
        home = home_of(self.folder)
        if not home.has("evaluation.json"):
            return None
        with blamed(home.path / "evaluation.json"):
            return Evaluation(**home.json("evaluation"))

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield "network", repr(self.model) if isinstance(self.model, Shown) else type(self.model).__name__
        yield "data", self.task.spec.source
        yield "ended", self.reason.sentence
        result = self._tested()
        yield "test", "not opened yet: run.evaluate()" if result is None else str(result)
        if (self.folder / "report.html").is_file():
            yield "report", (self.folder / "report.html").as_posix()

    def _picture(self) -> Markup | None:
        if len(self.rows) < 2:
            return None
        from lamina.drawing.charts import Series, chart
        from lamina.drawing.svg import svg

        epochs = [row["epoch"] for row in self.rows]
        names = {"loss": "line1", "validation_loss": "line2"}
        lines = [
            Series(name.replace("_", " "), epochs, [row.get(name) for row in self.rows], color)
            for name, color in names.items()
        ]
        return Markup(svg(chart(lines, x_label="epoch", description="Loss of every epoch.", height=180)))

    @property
    def history(self) -> dict[str, list[Any]]:
        """The history as columns."""
        names = {name: None for row in self.rows for name in row}
        return {name: [row.get(name) for row in self.rows] for name in names}

    def evaluate(self, data: Any = None, *, again: bool = False) -> Evaluation:
        """Open the test split and judge the network on it: once. Later calls return what was found then.

        With `data`, judge the network on these instead: new examples with their answers, read as the training data
        were. The test split stays sealed, and nothing is recorded.

        Notes: N1.67 (§1.5).

        Args:
            data: a table, a folder of pictures, a file of texts or a series with the answers in it, the name of a data
                set, a dataset, or arrays (inputs, targets).
            again: open the test split another time, which the record then says.

        >>> import tempfile, lamina
        >>> with tempfile.TemporaryDirectory() as place:
        ...     net = lamina.build("fnn", inputs=2, outputs=2, hidden=8)
        ...     run = lamina.fit(net, lamina.load("moons", count=120), lamina.Recipe(epochs=1), folder=f"{place}/run")
        ...     found = run.evaluate(lamina.load("moons", count=30, seed=7))
        >>> found.examples, found.baselines[0]["name"]
        (30, "always '0', the most frequent class in training")
        """
        home = home_of(self.folder)
        if not all(bool(p.isfinite().all()) for p in self.model.parameters()):
            raise RunError(f"the network of {self.folder.as_posix()} cannot be judged: {self.reason.sentence}")
        before = home.json("evaluation") if home.has("evaluation.json") else None
        if data is not None:
            if again:
                raise ArgumentError("`again` opens the test split, but other data are given: leave one of them out.")
            return self._scored(data, home, before)
        weights = home.weights_digest()
        if before is not None and not again and before["weights"] == weights:
            with blamed(home.path / "evaluation.json"):
                return Evaluation(**before)
        split = self.split or reload(home.config()["data"])
        test, here = split.open_test(), replace(self, split=split)
        openings = 1 + (before or {}).get("openings", 0)
        judged, answered = self._judge(test, self.task.usual(split.train))
        context: dict[str, Any] = {
            "conformal": measure(here, *answered) if answered else None,
            "importance": affordable(here, test),
            "linear": self.task.against_linear(here, split),
        }
        home.write_json("evaluation", vars(Evaluation(**judged, **context, openings=openings, weights=weights)))
        return Evaluation(**home.json("evaluation"))

    def _judge(self, test: Dataset, usual: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        """Judge the network and the baselines on the same examples: the parts of an `Evaluation`, and the answers."""
        judged = self.task.judge(self, test)
        answered = judged.pop("answered", None)
        costs = judged.pop("costs", None)
        cost = judged["metrics"]["loss"] if costs is None else costs.mean().item()
        found = compared(self.task.baselines(usual, test), cost, costs, self.task.related(len(test)))
        unit = self.task.unit or self.task.spec.measured if "rmse" in judged["metrics"] else ""
        return judged | {"baselines": found, "usual": usual, "unit": unit}, answered

    def _scored(self, data: Any, home: RunFolder, before: dict[str, Any] | None) -> Evaluation:
        """Judge the network on other data."""
        origin = home.config()["data"]
        name = str(data) if isinstance(data, str | Path) else ""
        source = str(origin.get("source", ""))
        if name and (name == source or _place(name) == _place(source) != ""):
            part = (
                f"the network was trained on a part of {name}: this says little about new data, unlike the test split."
            )
            warnings.warn(_changed(origin) or part, DataWarning, stacklevel=3)
        new = name in (*SETS, *NAMED) and name != origin.get("source")  # a set has options of its own
        test = self.task.labeled(data, {} if new else origin.get("options", {}))
        usual = (before or {}).get("usual")
        if usual is None:
            split = self.split or reload(origin)
            usual = self.task.usual(split.train)
        judged, _ = self._judge(test, usual)
        return Evaluation(**judged, weights=home.weights_digest(), data=name or "data in memory")

    @property
    def preprocess(self) -> Any:
        """How inputs are prepared."""
        return self.task.preprocess

    def outputs(self, inputs: Num[Tensor, "batch ..."]) -> Float[Tensor, "batch ..."]:
        """Return what the network gives for stored examples, before any softmax."""
        return self.task.outputs(self.model, inputs)

    def predict(
        self,
        what: Any,
        *,
        coverage: float | None = None,
        calibration: Dataset | None = None,
        beams: int = 1,
        length_penalty: float = 1.0,
        copy_unknown: bool = True,
    ) -> Predictions:
        """Predict pictures, rows of a table, texts, what comes after a series, or arrays.

        Args:
            what: a path of a picture, a table or a file of texts, a text, a list of these, or an array or tensor of
                stored examples. Of the table of a series the last rows are read, and what comes next is predicted.
            coverage: also give intervals around numbers, or sets of classes, that hold the truth with this probability
                for new examples like those of the validation part. That part also chose the epoch, so the probability
                holds approximately; with a `calibration` of its own it holds exactly.
            calibration: labeled examples to calibrate on, which served neither training nor validation.
            beams: for translations, how many beginnings are kept.
            length_penalty: for translations, 0 compares probabilities of whole ones, 1 means over their words.
            copy_unknown: for translations, put unknown words of the text in the places of unknown words.

        Returns:
            Probabilities of the classes, real outputs in the units of the training targets, or what was written.
        """
        if calibration is not None and coverage is None:
            raise ArgumentError("`calibration` says what to calibrate on: give the `coverage` too.")
        options = {"beams": beams, "length_penalty": length_penalty, "copy_unknown": copy_unknown}
        self._noticed(what)
        if coverage is None:
            return self.task.predict(self, what, **options)
        scores = validation_scores(self) if calibration is None else scores_of(self, calibration)
        return covered(self.task.predict(self, what, **options), scores, coverage)

    def _noticed(self, what: Any) -> None:
        """Warn of a file or folder that the run was trained on, if it has changed since then."""
        places = {_place(each) for each in (what if isinstance(what, list | tuple) else [what])} - {""}
        if places:
            origin = home_of(self.folder).config()["data"]
            if _place(origin.get("source")) in places and (why := _changed(origin)):
                warnings.warn(why, DataWarning, stacklevel=3)

    def predict_file(self, what: str | Path, path: str | Path, *, coverage: float | None = None) -> int:
        """Predict a table and write it with the predictions beside its rows; Parquet beyond memory block by block.

        Args:
            what: the table.
            path: the .csv, .tsv, .parquet or .jsonl file to write.
            coverage: also give intervals, or sets of classes, as for `predict`.

        Returns:
            How many rows were predicted.
        """
        blocks = self.task.blocks(what)
        if blocks is None:
            found = self.predict(what, coverage=coverage)
            found.save(path)
            return len(found)
        self._noticed(what)
        scores = None if coverage is None else validation_scores(self)
        parts = (self.task.predict(self, block) for block in blocks)
        if scores is not None and coverage is not None:
            parts = (covered(part, scores, coverage) for part in parts)
        return save_parts(parts, path)

    def importance(self, data: Dataset, *, repeats: int = 5, seed: int = 0) -> Importance:
        """Measure how much worse the network gets when a column is shuffled among the examples.

        Columns that say the same can stand in for each other, so each of them looks unimportant. An evaluation measures
        this on the test part by itself, where that takes seconds.

        Args:
            data: labeled examples that were not trained on, such as `run.split.validation`.
            repeats: how many permutations of each column; the spread over them says how sure the number is.
            seed: of the permutations.
        """
        return importance(self, data, repeats, seed)

    def explain(self, what: Any, *, of: str | None = None, most: int | None = None) -> list[Explanation]:
        """Say why the network answers as it does: which pixels, columns or words have to do with it.

        Pictures get Grad-CAM, saliency and occlusion; columns and words get gradient times input, which is what they
        add to the answer as far as the network is linear around the example.

        Args:
            what: what `predict` takes.
            of: the class, label or target to explain; by default what the network answers, or the first target.
            most: how many examples to explain at most, the first ones; all by default.
        """
        self._noticed(what)
        return explain(self, what, of, most)

    def write(
        self, prompt: str = "", steps: int = 200, *, temperature: float = 1.0, top_k: int | None = None, seed: int = 0
    ) -> str:
        """Write on after a prompt, with a network that was trained on a running text.

        Args:
            prompt: how the text begins; without one it begins as after the end of a line.
            steps: how many characters (or words) to write.
            temperature: below 1 what is probable becomes more probable; 0 always takes the most probable.
            top_k: among how many to choose at each step; all by default.
            seed: which draw.

        Returns:
            The prompt and what was written.
        """
        return self.task.write(self, prompt, steps, temperature=temperature, top_k=top_k, seed=seed)
