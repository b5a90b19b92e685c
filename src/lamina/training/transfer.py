"""What weights say about the network and the pictures that they were trained with, and how they are trained further.

The folder of a run says how its network was built and how its pictures were normalized. The file of a state dict says
only what its tensors have: how many channels the first layer reads, with which kernel, and how many classes there were;
with 1000 classes and 3 channels they come from ImageNet, as those of torchvision and timm do.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from torch import nn

from lamina._types import Tensor
from lamina.architectures.adapt import new_tensors, weight_layers
from lamina.architectures.build import build, configure, find, option_types
from lamina.training.folder import RunFolder
from lamina.training.recipe import Recipe
from lamina.training.weights import _located, read_tensors, renamed

IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and standard deviation of each channel, of pictures between 0 and 1; torchvision and timm use these numbers."""

FIRST = 0.1
"""The rate at which the first stage is trained further, as a share of the learning rate, which new layers take."""

_STEMS = {7: "imagenet", 3: "cifar"}  # the stems of a ResNet by the size of their kernel
_LABELS = 1000  # of ImageNet


@dataclass(frozen=True)
class Origin:
    """What is known of the training that weights come from.

    Args:
        tensors: the weights by name.
        architecture: how a run built its network, as `rebuild.describe` says; empty for a file.
        preprocess: how a run prepared its examples; empty for a file.
    """

    tensors: Mapping[str, Tensor] = field(repr=False)
    architecture: Mapping[str, Any] = field(default_factory=dict)
    preprocess: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, weights: str | Path) -> "Origin":
        """Read weights, and the rest of the run if they lie in the folder of one."""
        tensors, path = read_tensors(weights), _located(weights)
        folder = path if path.is_dir() else path.parent
        if path != RunFolder(folder).weights and path != folder:
            return cls(tensors)
        home = RunFolder(folder)
        if not (home.has("config.toml") and home.has("preprocess.json")):
            return cls(tensors)
        return cls(tensors, home.config()["architecture"], home.json("preprocess"))

    def options(self, name: str, sizes: Mapping[str, Any], stored: tuple[int, ...]) -> dict[str, Any]:
        """Say in which options the network that the weights fit differs from the one that was chosen for the data.

        Args:
            name: a name from `lamina list`.
            sizes: the options that were chosen for the data.
            stored: the shape of one stored example.
        """
        chosen = configure(name, **sizes)
        read = self._of_run(name) if self.architecture else self._of_file(name, chosen)
        shape = read.pop("inputs", None)
        pictures = isinstance(chosen.inputs, tuple) and len(chosen.inputs) == len(stored) == 3
        if pictures and shape and (shape[0] == stored[0] or {shape[0], stored[0]} == {1, 3}):
            read["inputs"] = tuple(shape)
        return {key: value for key, value in read.items() if value != getattr(chosen, key)}

    def _of_run(self, name: str) -> dict[str, Any]:
        """Give all options of a run's network but those that the architecture's name sets, and its outputs."""
        entry = find(name)
        if self.architecture["network"] != entry.network:
            return {}
        values = {**dict.fromkeys(self.architecture.get("unset", ())), **self.architecture["config"]}
        fixed = ("outputs", *(key for key in entry.options if key != "inputs"))
        known = option_types(name)
        return {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in values.items()
            if key in known and key not in fixed
        }

    def _of_file(self, name: str, chosen: Any) -> dict[str, Any]:
        """Read the stem of a network for pictures off the tensors; nothing where they do not show it."""
        if not (isinstance(chosen.inputs, tuple) and len(chosen.inputs) == 3):
            return {}
        entry, types = find(name), option_types(name)
        narrow: dict[str, Any] = {"width": 0.05} if "width" in types else {}
        small = build(name, **narrow)  # for the names of its layers
        tensors, layers = renamed(dict(self.tensors), small.state_dict()), weight_layers(small)
        first = tensors.get(f"{layers[0]}.weight")
        if first is None or first.ndim != 4:
            return {}
        config = getattr(import_module(entry.module), entry.config)
        default: Any = entry.options.get("inputs") or next(f.default for f in fields(config) if f.name == "inputs")
        found: dict[str, Any] = {"inputs": (first.shape[1], *chosen.inputs[1:])}
        if "stem" in types and "stem" not in entry.options and first.shape[-1] in _STEMS:
            found["stem"] = _STEMS[first.shape[-1]]
        if self._labels(tensors, layers) == _LABELS and found.get("stem") != "cifar":
            found["inputs"] = (first.shape[1], *default[1:])
        flat = [tensors[f"{layer}.weight"].shape[1] for layer in layers if _is_matrix(tensors, layer)]
        if hasattr(chosen, "flat_size") and flat and flat[0] != chosen.flat_size:
            found["inputs"] = (first.shape[1], *default[1:])  # the dense layers were made for another size
        return found

    def _labels(self, tensors: Mapping[str, Tensor], layers: tuple[str, ...]) -> int:
        last = tensors.get(f"{layers[-1]}.weight")
        return 0 if last is None else len(last)

    def renewed(self, model: nn.Module, classes: tuple[str, ...]) -> tuple[str, ...]:
        """Name the last layer if a run has learned as many classes, but others: its rows mean something else."""
        before = tuple(self.preprocess["spec"].get("classes", ())) if self.preprocess else ()
        return weight_layers(model)[-1:] if before and classes and before != classes else ()

    def statistics(self, model: nn.Module) -> tuple[str, tuple[float, ...], tuple[float, ...], float] | None:
        """Say how pictures were normalized: whose statistics, mean, standard deviation, and the scale before; or None.

        Args:
            model: the network with the weights.
        """
        layers = weight_layers(model)
        if not layers or f"{layers[0]}.weight" in new_tensors(model):
            return None  # nothing that was learned reads the pictures
        if self.preprocess:
            if self.preprocess["spec"]["kind"] != "image":
                return None
            mean, std = (tuple(self.preprocess[name]) for name in ("mean", "std"))
            return "the run", mean, std, self.preprocess["scale"]
        tensors = renamed(dict(self.tensors), model.state_dict())
        first = tensors[f"{layers[0]}.weight"]
        if self.architecture or first.ndim != 4 or first.shape[1] != 3 or self._labels(tensors, layers) != _LABELS:
            return None
        return "ImageNet", *IMAGENET, 1 / 255


def _is_matrix(tensors: Mapping[str, Tensor], layer: str) -> bool:
    return f"{layer}.weight" in tensors and tensors[f"{layer}.weight"].ndim == 2


def fine_tuned(recipe: Recipe) -> tuple[Recipe, str]:
    """Turn a recipe from scratch into one for a network that has weights, and say what changed.

    What was learned moves more slowly than from scratch, the first stage most of all; new layers take the full rate.

    >>> slower, sentence = fine_tuned(Recipe())
    >>> slower.stage_rate, sentence
    (0.1, 'what comes from the weights learns more slowly, in the first stage at 0.1 of the rate')
    """
    sentence = f"what comes from the weights learns more slowly, in the first stage at {FIRST:g} of the rate"
    return replace(recipe, stage_rate=FIRST), sentence
