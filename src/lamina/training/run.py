"""A trained network with everything that belongs to it: predict, evaluate once, come back from disk."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from lamina._errors import ArgumentError, DataError, RunError, ShapeError
from lamina._types import Float, Num, Tensor
from lamina.data.cells import SUFFIXES as TABLES
from lamina.data.dataset import Spec
from lamina.data.descriptions import DescriptionPreprocess
from lamina.data.pictures import SUFFIXES as PICTURES
from lamina.data.pictures import read_image
from lamina.data.preprocess import Preprocess
from lamina.data.series import load_series
from lamina.data.splits import Split
from lamina.data.tables import read_rows
from lamina.data.text import text_of
from lamina.data.tokens import TextPreprocess
from lamina.functional.activations import probabilities
from lamina.training.evaluate import Evaluation, evaluate
from lamina.training.folder import RunFolder
from lamina.training.objective import Objective
from lamina.training.preparation import Preparation, first_outputs, of_words, read_preparation
from lamina.training.sequence_objective import sequence_objective
from lamina.training.sequence_step import as_read
from lamina.training.stopping import Row, StopReason
from lamina.training.texts import continue_text, describe, text_outputs, texts_from, translate


@dataclass(frozen=True)
class Predictions:
    """What a network says about some examples.

    Args:
        names: what each example is called.
        classes: the names of the classes, none for real outputs.
        values: probabilities of the classes, or real outputs in the units of the training targets; of translations
            the mean logarithm of the probability of a word, of labels at every step their mean probability.
        texts: what was written, for translations and labels at every step.
    """

    names: tuple[str, ...]
    classes: tuple[str, ...]
    values: Float[Tensor, "batch label"]
    texts: tuple[str, ...] = ()

    def top(self, count: int = 5) -> list[list[tuple[str, float]]]:
        """List, for each example, the most likely classes with their probabilities."""
        best = self.values.topk(min(count, self.values.shape[1]), dim=1)
        return [
            [(self.classes[i], p) for i, p in zip(row.tolist(), prob.tolist(), strict=True)]
            for row, prob in zip(best.indices, best.values, strict=True)
        ]

    @property
    def labels(self) -> list[str]:
        """The most likely class of each example."""
        return [self.classes[i] for i in self.values.argmax(1).tolist()]

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Run:
    """A finished or interrupted run.

    Args:
        folder: where it is kept.
        model: the network with its best weights, in evaluation mode.
        preprocess: how inputs are prepared.
        objective: what was minimized.
        rows: the history, one row a check.
        reason: why it ended.
        split: the data; None after `Run.load` until they are needed.
    """

    folder: Path
    model: nn.Module
    preprocess: Preparation
    objective: Objective
    rows: tuple[Row, ...]
    reason: StopReason
    split: Split | None = None

    @classmethod
    def load(cls, folder: str | Path, *, model: nn.Module | None = None) -> "Run":
        """Read a run back from its folder.

        Args:
            folder: the folder of the run.
            model: the network, if it was not made by `lamina.build`.
        """
        from lamina.training.fit import rebuild

        home = RunFolder.open(folder)
        config = home.config()
        network = model or rebuild(config["architecture"])
        status = home.json("status") if home.has("status.json") else {"state": "running"}
        if status.get("weights", home.weights_digest()) != home.weights_digest() and home.weights.is_file():
            raise RunError(f"{home.weights} is damaged: it is not what the run wrote. Restore it, or train again.")
        weights = home.read_weights()
        dtype = torch.float64 if config["recipe"].get("precision") == "float64" else torch.float32
        network.to(dtype)
        try:
            network.load_state_dict(weights)
        except RuntimeError as error:
            raise RunError(f"{home.weights} does not hold the weights of this architecture: {error}") from error
        preprocess = read_preparation(home.json("preprocess"))
        reason = StopReason(status["state"], status.get("sentence", "the run has not ended"))
        objective = _objective(preprocess, network, config["recipe"].get("loss"))
        return cls(home.path, network.eval(), preprocess, objective, tuple(home.rows()), reason)

    @property
    def history(self) -> dict[str, list[Any]]:
        """The history as columns."""
        names = {name: None for row in self.rows for name in row}
        return {name: [row.get(name) for row in self.rows] for name in names}

    def evaluate(self, *, again: bool = False) -> Evaluation:
        """Open the test split and judge the network on it: once. Later calls return what was found then.

        Notes: N1.67 (§1.5).

        Args:
            again: open the test split another time, which the record then says.
        """
        return evaluate(self, again=again)

    @torch.no_grad()
    def outputs(self, inputs: Num[Tensor, "batch ..."], batch_size: int = 256) -> Float[Tensor, "batch ..."]:
        """Return what the network gives for stored examples, before any softmax."""
        if isinstance(self.preprocess, TextPreprocess):
            return text_outputs(self.model, self.preprocess, [text_of(row) for row in inputs])
        parameter = next(self.model.parameters())
        parts = [
            self.model(as_read(self.preprocess.apply(part), parameter.dtype).to(parameter.device)).cpu()
            for part in inputs.split(batch_size)
        ]
        return torch.cat(parts)

    def predict(
        self, what: Any, *, beams: int = 1, length_penalty: float = 1.0, copy_unknown: bool = True
    ) -> Predictions:
        """Predict pictures, rows of a table, texts, what comes after a series, or arrays.

        Args:
            what: a path of a picture, a table or a file of texts, a text, a list of these, or an array or tensor of
                stored examples. Of the table of a series the last rows are read, and what comes next is predicted.
            beams: for translations, how many beginnings are kept.
            length_penalty: for translations, 0 compares probabilities of whole ones, 1 means over their words.
            copy_unknown: for translations, put unknown words of the text in the places of unknown words.

        Returns:
            Probabilities of the classes, real outputs in the units of the training targets, or what was written.
        """
        spec = self.preprocess.spec
        if spec.task == "language":
            raise ArgumentError("the run is a language model, which goes on with a text: use `write`.")
        if isinstance(self.preprocess, TextPreprocess):
            texts = texts_from(what)
            if spec.task == "translation":
                options = {"beams": beams, "length_penalty": length_penalty, "copy_unknown": copy_unknown}
                written, worth = translate(self.model, self.preprocess, texts, **options)  # type: ignore[arg-type]
                return Predictions(tuple(texts), (), worth[:, None], tuple(written))
            names, outputs = tuple(texts), text_outputs(self.model, self.preprocess, texts)
        else:
            names, inputs = self._read(what)
            outputs = self.outputs(inputs)
        if spec.task == "classification":
            return Predictions(names, spec.classes, probabilities(outputs))
        if isinstance(self.preprocess, DescriptionPreprocess):
            written, worth = describe(self.preprocess, outputs)
            return Predictions(names, (), worth[:, None], tuple(written))
        if spec.task == "tagging":
            sure, labels = outputs.softmax(-1).max(-1)
            tags = tuple(" ".join(spec.classes[i] for i in row) for row in labels.tolist())
            return Predictions(names, (), sure.mean(1, keepdim=True), tags)
        return Predictions(names, (), self.preprocess.untargets(outputs).reshape(len(outputs), -1))

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
        if self.preprocess.spec.task != "language" or not isinstance(self.preprocess, TextPreprocess):
            raise ArgumentError(
                f"only a language model writes on, but the run was trained for {self.preprocess.spec.task}: use "
                "`predict`."
            )
        return continue_text(
            self.model, self.preprocess, prompt, steps, temperature=temperature, top_k=top_k, seed=seed
        )

    def _read(self, what: Any) -> tuple[tuple[str, ...], Tensor]:
        if isinstance(what, list | tuple) and what and all(isinstance(p, str | Path) for p in what):
            parts = [self._read(path) for path in what]
            return tuple(name for names, _ in parts for name in names), torch.cat([inputs for _, inputs in parts])
        if isinstance(what, str | Path):
            return self._read_file(Path(what))
        inputs = torch.as_tensor(what)
        shape = self.preprocess.spec.inputs
        if tuple(inputs.shape) == shape:
            inputs = inputs[None]
        if tuple(inputs.shape[1:]) != shape:
            raise ShapeError(
                f"examples must have the shape {shape} of the training data, got {tuple(inputs.shape[1:])}."
            )
        return tuple(map(str, range(len(inputs)))), inputs

    def _read_file(self, path: Path) -> tuple[tuple[str, ...], Tensor]:
        kind, suffix = self.preprocess.spec.kind, path.suffix.lower()
        if not path.exists():
            raise DataError(f"{path} does not exist: check the name.")
        if kind == "image":
            files = sorted(p for p in path.iterdir() if p.suffix.lower() in PICTURES) if path.is_dir() else [path]
            if not files:
                raise DataError(f"{path} holds no pictures ({', '.join(sorted(PICTURES))}).")
            channels, height, width = self.preprocess.spec.inputs
            shape = (channels, height, width)
            images = [read_image(file, shape, self.preprocess.spec.resize or "fit") for file in files]
            return tuple(file.name for file in files), torch.stack(images)
        if kind == "tokens":
            raise DataError(f"the run was trained on tokens of {self.preprocess.spec.source}: give an array of them.")
        if suffix not in TABLES:
            raise DataError(f"{path.name} is not a table ({', '.join(TABLES)}), but the run was trained on a {kind}.")
        if kind == "series":
            return (path.name,), last_window(path, self.preprocess.spec)[None]
        rows = read_rows(path, self.preprocess.spec)
        return tuple(map(str, range(1, len(rows) + 1))), rows


def last_window(path: Path, spec: Spec) -> Float[Tensor, "time feature"]:
    """Read the last moments of a series, as many as a network was trained to look back."""
    data = load_series(path, window=1)
    if data.spec.features != spec.features:
        raise DataError(
            f"{path.name} must have the columns {', '.join(spec.features)} of the training series, got "
            f"{', '.join(data.spec.features)}."
        )
    if len(data.values) < spec.inputs[0]:
        raise DataError(
            f"{path.name} has {len(data.values)} moments, but the network looks back {spec.inputs[0]}: give more."
        )
    return data.values[-spec.inputs[0] :]


def _objective(preprocess: Preparation, network: nn.Module, loss: str | None) -> Objective:
    """Choose the objective of a run again, but for weights and smoothing, which only training needs."""
    spec = preprocess.spec
    if of_words(spec):
        outputs = first_outputs(network, preprocess)
        return sequence_objective(spec.task, outputs, outputs.shape[-1], loss=loss)
    if loss is not None or spec.task != "classification":
        return Objective(loss or "mse")
    parameter = next(network.parameters())
    example = torch.zeros(1, *cast(Preprocess, preprocess).inputs, dtype=parameter.dtype, device=parameter.device)
    with torch.no_grad():
        outputs = network.eval()(example)
    return Objective("bce" if outputs.numel() == 1 else "nll")
