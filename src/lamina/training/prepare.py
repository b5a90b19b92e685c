"""From words to a run: an architecture's name, the data's name and some options become network, split and recipe."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from torch import nn

from lamina._errors import ArgumentError, DataError
from lamina.architectures.build import build, configure, find
from lamina.data.cells import SUFFIXES as TABLES
from lamina.data.dataset import Dataset
from lamina.data.descriptions import DescriptionPreprocess
from lamina.data.load import NAMED, SETS, load
from lamina.data.preprocess import Preprocess
from lamina.data.splits import Split
from lamina.data.text import running_text_of
from lamina.data.text_files import form_of
from lamina.data.tokens import TextPreprocess
from lamina.training.folder import slug
from lamina.training.preparation import Preparation, of_texts
from lamina.training.recipe import Recipe, option_names, with_options
from lamina.training.recommended import SEQUENCES, Choice, network_options, recommend
from lamina.training.recommended_sequences import (
    WORDING,
    check_fit,
    fit_words,
    known_options,
    recommend_sequence,
    sequence_options,
)
from lamina.training.sequence_step import readers
from lamina.training.step import steps_per_epoch
from lamina.training.streams import StreamSource


@dataclass(frozen=True)
class Prepared:
    """Everything `fit` needs, and sentences that say what was chosen.

    Args:
        model: the network.
        split: the data.
        recipe: how to train.
        folder: where to keep the run.
        notes: what was decided, for people.
        preprocess: the dictionaries of texts; None where the usual preparation is fitted.
        batches: how many updates make an epoch.
    """

    model: nn.Module
    split: Split
    recipe: Recipe
    folder: Path
    notes: tuple[str, ...]
    preprocess: Preparation | None = None
    batches: int = 0


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
    dataset = _load(name, data, dict(data_options or {}))
    check_fit(name, dataset.spec)
    split: Split = dataset.split(seed=seed)
    spec = split.train.spec
    sequences = name in SEQUENCES
    prepared, wording = fitted(split.train, given)
    if sequences:
        known_options(name, given, option_names())
    sizes = sizes_for(name, prepared, given)
    choice = recipe_for(name, split.train, sizes)
    # Options that only another optimizer has need its name first; the order of words does not matter.
    recipe = with_options(choice.recipe, **recipe_options, seed=seed)
    if epochs is not None:
        recipe = replace(recipe, epochs=epochs)
    if not sequences:
        _known(name, given)
    model = build(name, seed=seed, **sizes)
    asked = {"epochs": epochs} if epochs is not None else {}
    changed = [f"{key}={value}" for key, value in {**wording, **given, **recipe_options, **asked}.items()]
    notes = [split.note, f"recipe: {choice.sentence}" + (f"; changed: {', '.join(changed)}" if changed else "")]
    if spec.kind == "image" and isinstance(sizes["inputs"], tuple) and sizes["inputs"] != spec.inputs:
        notes.append(f"pictures of {_by(spec.inputs)} are scaled to {_by(sizes['inputs'])}")
    folder = Path(out) if out else Path("runs") / slug(f"{name}-{Path(data).stem or data}")
    batches = steps_per_epoch(recipe, len(split.train))
    if isinstance(prepared, TextPreprocess | DescriptionPreprocess):
        notes.insert(1, _dictionary(prepared))
        if isinstance(prepared, TextPreprocess) and spec.task == "language":
            batches = StreamSource(prepared.stream(split.train), readers(recipe), recipe.window).windows
        return Prepared(model, split, recipe, folder, tuple(notes), prepared, batches)
    return Prepared(model, split, recipe, folder, tuple(notes), None, batches)


def fitted(train: Dataset, given: dict[str, Any]) -> tuple[Preparation, dict[str, Any]]:
    """Fit how data are prepared to their training part; what is said about words is taken out of the options."""
    if not of_texts(train.spec) and train.spec.task != "description":
        return Preprocess.fit(train), {}
    wording = {key: given.pop(key) for key in list(given) if key in WORDING}
    return fit_words(train, wording), wording


def sizes_for(name: str, prepared: Preparation, given: dict[str, Any]) -> dict[str, Any]:
    """Choose the sizes of a network for prepared data, unless they are given."""
    if name in SEQUENCES:
        return sequence_options(name, prepared, given)
    return network_options(name, prepared.spec, cast(Preprocess, prepared).inputs, given)


def recipe_for(name: str, train: Dataset, sizes: dict[str, Any]) -> Choice:
    """Choose a recipe for a network of some sizes and its training data."""
    if name not in SEQUENCES:
        return recommend(name, train.spec, len(train), sizes)
    characters = len(running_text_of(train)) if train.spec.task == "language" else 0
    return recommend_sequence(name, train.spec, len(train), characters)


def _load(name: str, data: str, options: dict[str, Any]) -> Any:
    """Load the data; for a network that reads sequences a table of numbers is a series."""
    path = Path(data).expanduser()
    file = data not in (*SETS, *NAMED) and path.suffix.lower() in TABLES
    if name == "one-to-many" and file:
        return load(data, **{"kind": "descriptions", **options})
    table = name in ("many-to-one", "many-to-many") and file
    if not table or form_of(path, list(options), options.get("kind")) not in ("table", "series"):
        return load(data, **options)
    if name == "many-to-many":
        options.setdefault("each_step", True)
    try:
        return load(data, **{"kind": "series", **options})
    except DataError as error:
        if "kind" in options or "holds text" not in str(error):
            raise
        raise DataError(f"{error} Texts with labels are read with --read kind=text.") from None


def _dictionary(prepared: TextPreprocess | DescriptionPreprocess) -> str:
    """Say how many words there are."""
    level = prepared.vocabulary.wording.level
    units = {"word": "words", "character": "characters", "subword": "pieces of words"}[level]
    if isinstance(prepared, DescriptionPreprocess):
        return f"dictionary: {len(prepared.vocabulary.words):,} {units} to write, texts of up to {prepared.steps} steps"
    if prepared.answer_vocabulary is None:
        return f"dictionary: {len(prepared.vocabulary.words):,} {units} of the training texts"
    return (
        f"dictionaries: {len(prepared.vocabulary.words):,} {units} to read, "
        f"{len(prepared.answer_vocabulary.words):,} to write"
    )


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
