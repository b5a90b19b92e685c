"""From words to a run: an architecture's name, the data's name and some options become network, split and recipe."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import nn

from lamina._errors import ArgumentError
from lamina.architectures.build import build, configure, find
from lamina.data.load import load
from lamina.data.preprocess import Preprocess
from lamina.data.splits import Split
from lamina.training.folder import slug
from lamina.training.recipe import Recipe, option_names, with_options
from lamina.training.recommended import network_options, recommend


@dataclass(frozen=True)
class Prepared:
    """Everything `fit` needs, and sentences that say what was chosen.

    Args:
        model: the network.
        split: the data.
        recipe: how to train.
        folder: where to keep the run.
        notes: what was decided, for people.
    """

    model: nn.Module
    split: Split
    recipe: Recipe
    folder: Path
    notes: tuple[str, ...]


def prepare(
    name: str,
    data: str,
    *,
    data_options: dict[str, Any] | None = None,
    options: dict[str, Any] | None = None,
    epochs: int | None = None,
    seed: int = 0,
    out: str | Path | None = None,
) -> Prepared:
    """Load the data, choose sizes and recipe, build the network.

    Args:
        name: a name from `lamina list`.
        data: the name or path of the data.
        data_options: how to read them, such as the target column.
        options: flat names of the recipe and of the architecture, which win over what is recommended.
        epochs: how many epochs.
        seed: of the split, the weights, the order and all masks.
        out: the folder of the run.
    """
    find(name)
    given = dict(options or {})
    recipe_options = {key: given.pop(key) for key in list(given) if key in option_names()}
    dataset = load(data, **(data_options or {}))
    split: Split = dataset.split(seed=seed)  # type: ignore[attr-defined]
    spec = split.train.spec
    natural = Preprocess.fit(split.train).inputs
    sizes = network_options(name, spec, natural, given)
    choice = recommend(name, spec, len(split.train), sizes)
    # Options that only another optimizer has need its name first; the order of words does not matter.
    recipe = with_options(choice.recipe, **recipe_options, seed=seed)
    if epochs is not None:
        recipe = replace(recipe, epochs=epochs)
    _known(name, given)
    model = build(name, seed=seed, **sizes)
    asked = {"epochs": epochs} if epochs is not None else {}
    changed = [f"{key}={value}" for key, value in {**given, **recipe_options, **asked}.items()]
    notes = [split.note, f"recipe: {choice.sentence}" + (f"; changed: {', '.join(changed)}" if changed else "")]
    if spec.kind == "image" and isinstance(sizes["inputs"], tuple) and sizes["inputs"] != spec.inputs:
        notes.append(f"pictures of {_by(spec.inputs)} are scaled to {_by(sizes['inputs'])}")
    folder = Path(out) if out else Path("runs") / slug(f"{name}-{Path(data).stem or data}")
    return Prepared(model, split, recipe, folder, tuple(notes))


def _known(name: str, given: dict[str, Any]) -> None:
    """Refuse an option that neither the architecture nor the recipe has, naming both lists."""
    try:
        configure(name, **{key: value for key, value in given.items() if key not in ("inputs", "outputs")})
    except ArgumentError as error:
        if "has no option" in str(error):
            raise ArgumentError(f"{error} The recipe's options are {', '.join(option_names())}.") from None
        raise
    except TypeError:
        return


def _by(shape: Any) -> str:
    return " x ".join(map(str, shape))
