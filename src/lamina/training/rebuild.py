"""Say in plain values how a run's network and data were made, and make them again."""

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from importlib import import_module
from typing import Any

from torch import nn

from lamina._errors import RunError
from lamina.architectures.adapt import new_tensors
from lamina.architectures.table import TABLE
from lamina.data.dataset import all_targets
from lamina.data.identity import difference, identity
from lamina.data.load import load
from lamina.data.splits import Split
from lamina.training.files import digest
from lamina.training.freezing import freeze, frozen


def describe(model: nn.Module) -> dict[str, Any]:
    """Say in plain values how to build a network again."""
    config = getattr(model, "config", None)
    known = {entry.network for entry in TABLE.values()}
    new = {"new": new_tensors(model)} if new_tensors(model) else {}  # these take the full rate, also after a resume
    if not is_dataclass(config) or type(model).__name__ not in known:
        return {"network": "custom", "code": type(model).__qualname__, **new}
    values: dict[str, Any] = asdict(config)  # type: ignore[arg-type]
    held, unset = frozen(model), [name for name, value in values.items() if value is None]
    return {
        "network": type(model).__name__,
        **({"frozen": held} if held else {}),
        **new,
        **({"unset": unset} if unset else {}),  # TOML has no word for None
        "config": values,
    }


def rebuild(values: dict[str, Any]) -> nn.Module:
    """Build a network from what `describe` gave; only those of the table can be named."""
    entry = next((e for e in TABLE.values() if e.network == values["network"]), None)
    if entry is None:
        name = values.get("code", values["network"])
        raise RunError(
            f"the run was trained with the network {name!r}, which a file cannot hold: give it again as `model`."
        )
    module = import_module(entry.module)
    options = {key: tuple(v) if isinstance(v, list) else v for key, v in values["config"].items()}
    options |= dict.fromkeys(values.get("unset", ()))
    network: nn.Module = getattr(module, entry.network)(getattr(module, entry.config)(**options))
    return freeze(network, values["frozen"]) if values.get("frozen") else network


def reload(origin: dict[str, Any], given: Split | None = None) -> Split:
    """Load and split the data of a run again, or take those that are given, if they are the same."""
    if given is not None:
        _check(origin, given, "`data` are not those that the run was trained on", "give the same")
        return given
    if not origin.get("reload", False):
        raise RunError(
            f"the data of this run ({origin.get('source') or 'arrays'}) were given in memory: "
            "give their split again as `data`."
        )
    dataset = load(origin["source"], **origin.get("options", {}))
    split: Split = dataset.split(seed=origin["seed"], ratios=tuple(origin["ratios"]))  # type: ignore[attr-defined]
    _check(origin, split, f"the data in {origin['source']} have changed since the run began", "restore the old ones")
    return split


def _check(origin: Mapping[str, Any], split: Split, what: str, way_out: str) -> None:
    """Refuse data that are not those of a run."""
    then = origin.get("fingerprint")
    if isinstance(then, str):
        why = "" if then == _of_targets(split) else "targets or weights differ"
    else:
        why = difference(then, identity(split)) if then else ""  # Lamina 0.1 has none of data in memory
    if why:
        raise RunError(f"{what} ({why}): {way_out}, or train again.")


def _of_targets(split: Split) -> str:
    """Give what runs of Lamina 0.1 know of their data."""
    parts = (split.train, split.validation)
    weights = [part.weights for part in parts if part.spec.weight]  # type: ignore[attr-defined]
    return digest(b"|".join(each.contiguous().numpy().tobytes() for each in [*map(all_targets, parts), *weights]))
