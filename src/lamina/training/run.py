"""A trained network with everything that belongs to it: predict, evaluate once, come back from disk."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from lamina._errors import DataError, RunError, ShapeError
from lamina._types import Float, Num, Tensor
from lamina.data.cells import SUFFIXES as TABLES
from lamina.data.pictures import SUFFIXES as PICTURES
from lamina.data.pictures import read_image
from lamina.data.preprocess import Preprocess
from lamina.data.splits import Split
from lamina.data.tables import read_rows
from lamina.functional.activations import probabilities
from lamina.training.evaluate import Evaluation, evaluate
from lamina.training.folder import RunFolder
from lamina.training.objective import Objective
from lamina.training.stopping import Row, StopReason


@dataclass(frozen=True)
class Predictions:
    """What a network says about some examples.

    Args:
        names: what each example is called.
        classes: the names of the classes, none for real outputs.
        values: probabilities of the classes, or real outputs in the units of the training targets.
    """

    names: tuple[str, ...]
    classes: tuple[str, ...]
    values: Float[Tensor, "batch label"]

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
    preprocess: Preprocess
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
        preprocess = Preprocess.from_dict(home.json("preprocess"))
        reason = StopReason(status["state"], status.get("sentence", "the run has not ended"))
        loss = config["recipe"].get("loss")
        kind = loss or _natural_loss(preprocess, network)
        return cls(home.path, network.eval(), preprocess, Objective(kind), tuple(home.rows()), reason)

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
        parameter = next(self.model.parameters())
        parts = [
            self.model(self.preprocess.apply(part).to(parameter.device, parameter.dtype)).cpu()
            for part in inputs.split(batch_size)
        ]
        return torch.cat(parts)

    def predict(self, what: Any) -> Predictions:
        """Predict pictures, rows of a table, or arrays.

        Args:
            what: a path of a picture or table, a list of such paths, or an array or tensor of stored examples.

        Returns:
            Probabilities of the classes, or real outputs in the units of the training targets.
        """
        names, inputs = self._read(what)
        outputs = self.outputs(inputs)
        spec = self.preprocess.spec
        if spec.task == "classification":
            return Predictions(names, spec.classes, probabilities(outputs))
        return Predictions(names, (), self.preprocess.untargets(outputs).reshape(len(outputs), -1))

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
        if suffix not in TABLES:
            raise DataError(f"{path.name} is not a table ({', '.join(TABLES)}), but the run was trained on a {kind}.")
        rows = read_rows(path, self.preprocess.spec)
        return tuple(map(str, range(1, len(rows) + 1))), rows


def _natural_loss(preprocess: Preprocess, network: nn.Module) -> str:
    if preprocess.spec.task != "classification":
        return "mse"
    with torch.no_grad():
        parameter = next(network.parameters())
        outputs = network.eval()(torch.zeros(1, *preprocess.inputs, dtype=parameter.dtype, device=parameter.device))
    return "bce" if outputs.numel() == 1 else "nll"
