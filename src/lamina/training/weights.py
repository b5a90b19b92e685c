"""Read weights that were trained elsewhere: our runs, safetensors files, torch's files of tensors. Never code."""

import pickle
import re
import warnings
import zipfile
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from lamina._errors import DataError
from lamina._types import Tensor
from lamina.architectures.adapt import Fit, adapt, changed_tensors, compare, fill, mark_new, weight_layers
from lamina.data import store
from lamina.data.paths import no_odd_name, no_pipe
from lamina.layers.dropout import mask_state
from lamina.training import freezing
from lamina.training.packed import open_home

_WRAPPERS = ("state_dict", "model_state_dict", "model", "state_dict_ema")
_PREFIXES = ("module.", "model.", "_orig_mod.")  # left by DataParallel, Lightning and torch.compile
_KINDS = "the folder of a run, a .safetensors file, or a .pt or .pth file that holds a state dict"


@dataclass(frozen=True)
class _Matched:
    """What became of the tensors of a file and of a network."""

    source: str
    loaded: tuple[str, ...]
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    reshaped: tuple[str, ...] = ()
    partly: tuple[str, ...] = ()
    anew: tuple[str, ...] = ()

    def __str__(self) -> str:
        total = sum(map(len, (self.loaded, self.missing, self.reshaped, self.partly, self.anew)))
        parts = [f"{len(self.loaded)} of {total} tensors come from {self.source}"]
        if self.reshaped:
            parts.append(f"of another size there, so new: {_layers(self.reshaped)}")
        if self.partly:
            parts.append(f"new only where they read the inputs: {_layers(self.partly)}")
        if self.anew:
            parts.append(f"of another meaning there, so new: {_layers(self.anew)}")
        if self.missing:
            parts.append(f"not there, so new: {_layers(self.missing)}")
        if self.unexpected:
            parts.append(f"there but not used: {_layers(self.unexpected)}")
        return "; ".join(parts)


def load_weights(model: nn.Module, path: str | Path, anew: Collection[str] = ()) -> _Matched:
    """Copy trained weights into a network wherever name and shape agree, and say what agreed.

    A file is recognized by its content. torch's own files are read with `weights_only`, which executes nothing; names
    may stand in a wrapper such as `state_dict` and carry a prefix such as `module.`. The names of torchvision's and
    timm's AlexNet and ResNets are ours. A layer of another size, as the first and last one of other data, is left as it
    is. The rates and counters of dropout belong to a run, not to its weights, and are never taken. What does not come
    from the file is noted as new, so that `freeze` lets it train (`architectures.adapt.new_tensors`).

    Notes: N4.35, N4.39 (§4.3).

    Args:
        model: the network; changed in place, but not if anything is refused.
        path: the folder of a run, a file, or the name of weights that were downloaded, such as "resnet18-imagenet".
        anew: layers that are left as they are although the file has them, such as one for labels of another meaning.

    Returns:
        The names by what became of them; as text, one sentence.

    Raises:
        DataError: the file is missing, damaged, more than weights, or of another architecture.

    >>> from tempfile import TemporaryDirectory
    >>> from lamina.architectures.build import build
    >>> trained, new = build("lenet5", seed=1), build("lenet5", outputs=5, seed=2)
    >>> with TemporaryDirectory() as folder:
    ...     torch.save(trained.state_dict(), Path(folder, "digits.pt"))
    ...     str(load_weights(new, Path(folder, "digits.pt")))
    '8 of 10 tensors come from digits.pt; of another size there, so new: classifier.7'
    """
    tensors, path = read_tensors(path), Path(path)
    own = model.state_dict()
    masks = mask_state(model)  # in files of version 0.1
    tensors = {name: t for name, t in renamed(tensors, own | masks).items() if name not in masks}
    left = {name for name in own if _owner(name) in anew}
    fit = compare(model, {name: t for name, t in tensors.items() if name not in left})
    counters = tuple(name for name in own if name.endswith("num_batches_tracked"))  # old files do without
    missing = tuple(name for name in fit.missing if name not in counters and name not in left)
    _check_architecture(model, path, fit)
    _check_finite(own, path, {name: tensors[name] for name in (*fit.whole, *fit.partly)})
    fill(model, tensors, fit)
    fresh, before = {*missing, *left, *fit.reshaped, *fit.partly}, vars(model).get("_new_tensors", tuple(own))
    mark_new(model, [name for name in own if name in fresh and name in before])  # of two files each may bring a part
    renewed = tuple(name for name in own if name in left)
    return _Matched(path.name, fit.whole, missing, fit.unexpected, fit.reshaped, fit.partly, renewed)


def prepare_transfer(
    model: nn.Module,
    weights: str | Path,
    channels: int | None = None,
    classes: int | None = None,
    freeze: str | int | None = None,
    *,
    seed: int = 0,
    anew: Collection[str] = (),
) -> tuple[nn.Module, str]:
    """Make a network ready for transfer learning: load weights, adapt first and last layer, freeze stages.

    A network that was built for the new data needs no `channels` and `classes`: layers of another size in the file
    start anew by themselves. Training from here takes fewer steps than from a random start.

    Notes: N4.35, N4.40 (§4.3).

    Args:
        model: the network; it gets the weights.
        weights: the folder of a run, or a file; see `load_weights`.
        channels: the number of channels of the new pictures, if the network was built for others.
        classes: the number of new labels, if the network was built for others.
        freeze: what to freeze, see `freezing.freeze`; None for nothing, as in the notes. What starts anew is trained
            wherever it lies.
        seed: for the new layers.
        anew: layers that are not taken from the weights.

    Returns:
        The network to train, and a sentence that says what was loaded, renewed and frozen.

    >>> from tempfile import TemporaryDirectory
    >>> from lamina.architectures.build import build
    >>> with TemporaryDirectory() as folder:
    ...     torch.save(build("lenet5").state_dict(), Path(folder, "digits.pt"))
    ...     network, sentence = prepare_transfer(build("lenet5"), Path(folder, "digits.pt"), classes=5, freeze=1)
    >>> sentence
    '10 of 10 tensors come from digits.pt; adapted: classifier.7; frozen: features.'
    """
    parts = [str(load_weights(model, weights, anew))]
    adapted = adapt(model, channels, classes, seed=seed)
    renewed = changed_tensors(model, adapted)
    if renewed:
        parts.append(f"adapted: {_layers(renewed)}")
    if freeze is not None:
        asked = {name for part in freezing._parts(adapted, freeze) for name in freezing.tensors_of(adapted, part)}
        freezing.freeze(adapted, freeze)
        held = freezing.frozen(adapted)
        parts.append(f"frozen: {', '.join(held) or 'nothing'}")
        left = asked - {name for part in held for name in freezing.tensors_of(adapted, part)}
        if left:
            layers = _layers(name for name in adapted.state_dict() if name in left)
            parts.append(f"trained all the same, because they start anew or follow what does: {layers}")
    return adapted, "; ".join(parts) + "."


def read_tensors(path: str | Path) -> dict[str, Tensor]:
    """Read named tensors from the folder of a run, a safetensors file or a file of torch; nothing is executed.

    Notes: N4.35 (§4.3).

    >>> read_tensors("nowhere.pt")
    Traceback (most recent call last):
    lamina._errors.DataError: nowhere.pt does not exist: give the folder of a run, a .safetensors file, or a .pt or ...
    """
    no_odd_name(path)
    path = _located(path)
    if path.is_dir():
        home = open_home(path)
        home.config()  # refuses what a newer version wrote
        return home.read_weights()
    try:
        no_pipe(path)
        with path.open("rb") as file:
            start = file.read(9)
    except FileNotFoundError:
        raise DataError(f"{path} does not exist: give {_KINDS}.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    # A safetensors file begins with the length of its header, 8 bytes, and the header is JSON.
    loaded = _safetensors(path) if start[8:] == b"{" or path.suffix == ".safetensors" else _torch_file(path)
    while wrappers := [
        key for key in _WRAPPERS if isinstance(loaded, Mapping) and isinstance(loaded.get(key), Mapping)
    ]:
        loaded = loaded[wrappers[0]]
    if not isinstance(loaded, Mapping) or not any(isinstance(value, Tensor) for value in loaded.values()):
        raise DataError(f"{path} holds a {type(loaded).__name__} instead of tensors with names: give {_KINDS}.")
    return {name: value for name, value in loaded.items() if isinstance(name, str) and isinstance(value, Tensor)}


def _located(weights: str | Path) -> Path:
    """Find the file of weights that have a name and were downloaded, verified; other paths stay what they are."""
    named = store.SETS.get(str(weights))
    if named is None or named.kind != "weights" or Path(weights).exists():
        return Path(weights)
    found = store._require(named.name)
    for _ in found.contents():
        pass
    return found.path / named.files[0].name


def _safetensors(path: Path) -> Any:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except (SafetensorError, OSError, ValueError, KeyError, RuntimeError) as error:
        raise _damaged(path, error) from error


def _torch_file(path: Path) -> Any:
    try:
        if zipfile.is_zipfile(path):
            _check_archive(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about pickle protocols, for programmers
            return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        asked = re.search(r"GLOBAL ([\w.]+)", str(error))
        what = f"asks for the Python object {asked[1]}" if asked else "is damaged or holds more than weights"
        raise DataError(
            f"{path} {what}; none of it was executed. A file of weights holds only tensors: save the state dict, "
            "preferably as a .safetensors file."
        ) from error
    except Exception as error:  # broken files raise nearly anything
        if isinstance(error, DataError):
            raise
        raise _damaged(path, error) from error


def _check_archive(path: Path) -> None:
    """Check the checksums of a zip file, which torch does not look at, and that nothing unfolds to more than it is."""
    with zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
        packed = any(part.compress_type != zipfile.ZIP_STORED for part in parts)
        if packed or sum(part.file_size for part in parts) > path.stat().st_size:
            raise DataError(
                f"{path} is compressed, which torch never does: unpack it, or save it again with torch.save."
            )
        broken = archive.testzip()
    if broken is not None:
        raise ValueError(f"the checksum of {broken} is wrong")


def _damaged(path: Path, error: Exception) -> DataError:
    text = (str(error).splitlines() or [""])[0].partition(". ")[0][:120].rstrip(".")
    reason = text if " " in text else "its format is unknown"
    return DataError(f"{path} is damaged or not a file of weights ({reason}): copy it again, or give {_KINDS}.")


def renamed(tensors: dict[str, Tensor], wanted: Mapping[str, Any]) -> dict[str, Tensor]:
    """Take known prefixes off the names that a network does not have.

    >>> renamed({"module.fc.bias": torch.zeros(1)}, {"fc.bias": None}).keys()
    dict_keys(['fc.bias'])
    """
    found = {}
    for name, tensor in tensors.items():
        short = name
        while short not in wanted and short.startswith(_PREFIXES):
            short = short.partition(".")[2]
        found[short if short in wanted and short not in tensors else name] = tensor
    return found


def _check_architecture(model: nn.Module, path: Path, fit: Fit) -> None:
    """Refuse if fewer than half of the weights match and layers between the first and the last are among the others."""
    norms = (nn.modules.batchnorm._NormBase, nn.GroupNorm, nn.LayerNorm)
    normed = {name for name, module in model.named_modules() if isinstance(module, norms)}
    weights = [name for name, _ in model.named_parameters() if _owner(name) not in normed]
    right = [name for name in weights if name in (*fit.whole, *fit.partly)]
    ends = weight_layers(model)[:1] + weight_layers(model)[-1:]
    others = [name for name in weights if name not in right and _owner(name) not in ends]
    if right and (not others or 2 * len(right) >= len(weights)):
        return
    example = (others or weights)[0]
    raise DataError(
        f"{path} holds weights of another architecture: {len(right)} of the {len(weights)} weights and biases of "
        f"{type(model).__name__} are in it with the same name and shape, but {example!r} is not. Choose the "
        "architecture and the options that it was trained with."
    )


def _check_finite(own: Mapping[str, Any], path: Path, tensors: Mapping[str, Tensor]) -> None:
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not tensor.isfinite().all() and own[name].isfinite().all():
            raise DataError(f"{name!r} in {path} holds NaN or infinity: the file is damaged, or its training diverged.")


def _owner(name: str) -> str:
    return name.rpartition(".")[0]


def _layers(names: Iterable[str]) -> str:
    """Name layers instead of their tensors, the first few of them."""
    layers = list(dict.fromkeys(_owner(name) or name for name in names))
    return ", ".join(layers[:5]) + (f" and {len(layers) - 5} more" if len(layers) > 5 else "")
