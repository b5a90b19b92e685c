"""Trained networks that come with the package, so that a page answers at once and without a network connection.

A network is two files under `shipped/`: `NAME.safetensors` with its weights and `NAME.json` with the command that
trained it, its architecture, its fitted preparation, what was measured, and the digest of the weights. To ship another
one, put these two files there; the keys of the JSON file are the fields of `Record`.
"""

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from torch import nn

from lamina._errors import ArgumentError, DataError
from lamina.training.files import digest
from lamina.training.rebuild import rebuild
from lamina.training.tasks.kinds import read_task


@dataclass(frozen=True)
class Record:
    """Where shipped weights come from, and what goes with them.

    Args:
        command: what trained them.
        data: what they were trained on.
        architecture: the network and its configuration, as a run describes them.
        preprocess: the preparation that was fitted on the training part.
        metrics: what was measured on the test part.
        versions: of lamina and torch.
        device: where they were trained.
        weights: the digest of the file of weights.
    """

    command: str
    data: str
    architecture: dict[str, Any]
    preprocess: Any
    metrics: dict[str, float]
    versions: dict[str, str]
    device: str
    weights: str


def names() -> tuple[str, ...]:
    """List the networks that come with the package.

    >>> "lenet5-mnist" in names()
    True
    """
    found = (path.name for path in files("lamina.pages").joinpath("shipped").iterdir())
    return tuple(sorted(name.removesuffix(".safetensors") for name in found if name.endswith(".safetensors")))


def shipped(name: str) -> tuple[nn.Module, Record]:
    """Load a trained network that comes with the package; every call makes a new one.

    Args:
        name: one of `names()`.

    Returns:
        The network in evaluation mode, and its record.

    Raises:
        DataError: the weights are not those of the record.

    >>> network, record = shipped("lenet5-mnist")
    >>> sum(p.numel() for p in network.parameters()), record.metrics["accuracy"]
    (61706, 0.9923)
    """
    from safetensors.torch import load

    if name not in names():
        raise ArgumentError(f"`name` must be one of {', '.join(names())}, got {name!r}.")
    folder = files("lamina.pages").joinpath("shipped")
    values = json.loads(folder.joinpath(f"{name}.json").read_text(encoding="utf-8"))
    record = Record(**{**values, "preprocess": read_task(values["preprocess"]).preprocess})
    content = folder.joinpath(f"{name}.safetensors").read_bytes()
    if digest(content) != record.weights:
        raise DataError(
            f"the shipped weights of {name} have the digest {digest(content)}, not {record.weights}: "
            "the file is damaged, install lamina again."
        )
    network = rebuild(record.architecture)
    network.load_state_dict(load(content))
    return network.eval(), record
