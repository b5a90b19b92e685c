"""From words to a run: an architecture's name, the data's name and some options become network, task and recipe."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import nn

from lamina._declared import check
from lamina._errors import ArgumentError, DataError, nearest, whole
from lamina.architectures.build import build, configure, find
from lamina.architectures.build import option_types as network_types
from lamina.data.cells import SUFFIXES as TABLES
from lamina.data.load import NAMED, SETS, load
from lamina.data.splits import Split
from lamina.data.text.files import form_of
from lamina.training.folder import slug
from lamina.training.recipe import OPTIMIZERS, MiniBatch, Recipe, option_names, with_options
from lamina.training.recipe import option_types as recipe_types
from lamina.training.tasks.kinds import _wording_of, task_of
from lamina.training.tasks.recommended import SEQUENCES, check_fit
from lamina.training.tasks.task import Task
from lamina.training.tasks.tokens import WORDING
from lamina.training.transfer import Origin, fine_tuned
from lamina.training.weights import prepare_transfer


@dataclass(frozen=True)
class Plan:
    """Everything `fit` needs, and sentences that say what was chosen.

    Args:
        model: the network.
        task: what is learned from which data.
        recipe: how to train.
        folder: where to keep the run; None names it after network and data.
        notes: what was decided, for people.
        batches: how many updates make an epoch.
    """

    model: nn.Module
    task: Task
    recipe: Recipe
    folder: str | Path | None = None
    notes: tuple[str, ...] = ()
    batches: int = 0

    @property
    def split(self) -> Split:
        """The data."""
        return self.task.split


def plan(
    name: str,
    data: Any,
    recipe: Recipe | None = None,
    *,
    data_options: dict[str, Any] | None = None,
    options: dict[str, Any] | None = None,
    epochs: int | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    weights: str | Path | None = None,
    freeze: str | int | None = None,
    ratios: tuple[int, int, int] = (4, 1, 1),
) -> Plan:
    """Load the data, choose sizes and recipe, build the network.

    With weights the network, above all its first layers, is the one that they were trained in, as far as no option says
    otherwise; pictures are brought to its size and channels and normalized as they were there; and the recipe is one
    for fine-tuning.

    Args:
        name: a name from `lamina list`.
        data: a name, a path or anything else that `lamina.load` reads, a split, or a task.
        recipe: how to train; what is recommended for network and data by default.
        data_options: how to read them, such as the target column.
        options: flat names of the recipe and of the architecture, which win over what is recommended.
        epochs: how many epochs.
        seed: of the split, the weights, the order and all masks.
        out: the folder of the run.
        weights: the folder of a run, a file of weights, or the name of weights that were downloaded.
        freeze: the last stage to keep as it is in the weights; see `freezing.freeze`.
        ratios: the shares of training, validation and test examples of data that are not split yet.
    """
    check_options(name, options or {}, epochs, seed)
    origin = None if weights is None else Origin.of(weights)
    given = dict(options or {})
    recipe_options = {key: given.pop(key) for key in list(given) if key in option_names()}
    wording: dict[str, Any] = {}
    if isinstance(data, Task):
        task = data
        check_fit(name, task.split.train.spec)
    else:
        split = data if isinstance(data, Split) else load_for(name, data, data_options or {}).split(seed, ratios)
        check_fit(name, split.train.spec)
        task, given, wording = understood(split, given)
    _known(name, given)
    train = task.split.train
    sizes, followed = task.sizes(name, given), {}
    if origin is not None:
        followed = origin.options(name, sizes, train.spec.inputs)
        sizes = task.sizes(name, {**followed, **given})
    transferred: tuple[str, ...] = ()
    how, slower = "recipe: as given", ""
    if recipe is None:
        choice = task.recommend(name, sizes)
        recipe, how = choice.recipe, f"recipe: {choice.sentence}"
        recipe, slower = (recipe, "") if origin is None else fine_tuned(recipe)
    model = build(name, seed=seed, **sizes)
    prepared = task.for_network(model)
    if origin is not None and weights is not None:
        anew = origin.renewed(model, train.spec.classes)
        model, sentence = prepare_transfer(model, weights, freeze=freeze, anew=anew)
        prepared, normalized = _normalized(prepared, origin.statistics(model))
        own = {key: value for key, value in followed.items() if key not in given}
        follows = f"the network follows the weights in {', '.join(f'{k}={v}' for k, v in own.items())}" if own else ""
        transferred = sentence, *filter(None, ["; ".join(filter(None, (follows, normalized)))])
    # Options that only another optimizer has need its name first; the order of words does not matter.
    recipe = with_options(recipe, **recipe_options, seed=seed)
    if epochs is not None:
        recipe = replace(recipe, epochs=epochs)
    asked = {"epochs": epochs} if epochs is not None else {}
    changed = [f"{key}={value}" for key, value in {**wording, **given, **recipe_options, **asked}.items()]
    parts = (how, slower, f"changed: {', '.join(changed)}" if changed else "")
    source = str(data) if isinstance(data, str | Path) else train.spec.source
    folder = Path(out) if out else Path("runs") / slug(f"{name}-{Path(source).stem or source}")
    notes = (*train.spec.notes, task.split.note, *task.notes(sizes), *transferred, "; ".join(filter(None, parts)))
    return Plan(model, prepared, recipe, folder, notes, task.updates(recipe))


def _normalized(task: Task, statistics: Any) -> tuple[Task, str]:
    """Give a task whose pictures are normalized by the statistics of weights, and say so."""
    if statistics is None:
        return task, ""
    whose, *numbers = statistics
    changed = task.normalized(*numbers)
    if changed is None:
        return task, f"pictures are normalized by their own statistics, since those of {whose} are in other units"
    return changed, f"pictures are normalized by the mean and standard deviation of {whose}"


def option_types(name: str) -> dict[str, Any]:
    """Say what each option of a training is declared to be: of the recipe, of the network, and of texts.

    >>> option_types("fnn")["hidden"] == network_types("fnn")["hidden"]
    True
    """
    return {**(WORDING if name in SEQUENCES else {}), **recipe_types(), **network_types(name)}


def check_options(name: str, options: Mapping[str, Any], epochs: int | None = None, seed: int = 0) -> None:
    """Refuse what is wrong whatever the data are, so that nobody waits for them to be read.

    Args:
        name: a name from `lamina list`.
        options: flat names of the recipe and of the architecture.
        epochs: how many epochs.
        seed: the seed.
    """
    find(name)
    whole("seed", seed, 0)
    if "seed" in options:
        raise ArgumentError("`seed` is not an option to set: it also decides the split; give it as seed=, or --seed.")
    types = option_types(name)
    for key, value in options.items():
        if key in types and key != "optimizer":
            check(key, value, types[key])
    own = {key: value for key, value in options.items() if key in option_names()}
    _known(name, {key: value for key, value in options.items() if key not in own and key not in WORDING})
    chosen = own.get("optimizer")
    kinds = [OPTIMIZERS["adam"](), MiniBatch(momentum=0.9), *(kind() for kind in OPTIMIZERS.values())]
    fitting = [kind for kind in kinds if {*own} <= {*option_names(Recipe(optimizer=kind))}]
    if chosen is not None or fitting:  # else the sentence names the options of the optimizer that the data suggest
        recipe = with_options(Recipe() if chosen is not None else Recipe(optimizer=fitting[0]), **own)
        replace(recipe, epochs=recipe.epochs if epochs is None else epochs)


def understood(split: Split, given: Mapping[str, Any]) -> tuple[Task, dict[str, Any], dict[str, Any]]:
    """Fit a task to data; return it, the options that are not about words, and those that are."""
    wording = {key: value for key, value in given.items() if key in _wording_of(split)}
    rest = {key: value for key, value in given.items() if key not in wording}
    return task_of(split, **wording), rest, wording


def load_for(name: str, data: Any, options: Mapping[str, Any]) -> Any:
    """Load the data for an architecture; for one that reads sequences a table of numbers is a series.

    Args:
        name: a name from `lamina list`.
        data: a name, a path or anything else that `lamina.load` reads.
        options: how to read them.
    """
    if not isinstance(data, str | Path):
        return load(data, **options)
    path = Path(data).expanduser()
    file = data not in (*SETS, *NAMED) and path.suffix.lower() in TABLES
    if name == "one-to-many" and file:
        return load(data, **{"kind": "descriptions", **options})
    table = name in ("many-to-one", "many-to-many") and file
    if not table or form_of(path, list(options), options.get("kind")) not in ("table", "series"):
        return load(data, **options)
    each = {"each_step": True} if name == "many-to-many" else {}
    try:
        return load(data, **{"kind": "series", **each, **options})
    except DataError as error:
        if "kind" in options or "holds text" not in str(error):
            raise
        raise DataError(f"{error} Texts with labels are read with --read kind=text.") from None


def _known(name: str, given: dict[str, Any]) -> None:
    """Refuse an option that neither the architecture nor the recipe nor a dictionary has, naming all lists."""
    try:
        configure(name, **{key: value for key, value in given.items() if key not in ("inputs", "outputs")})
    except ArgumentError as error:
        if "has no option" not in str(error):
            if name in SEQUENCES:
                return  # sizes that are chosen next may mend it
            raise
        texts = f"; those of texts are {', '.join(WORDING)}" if name in SEQUENCES else ""
        others = [*option_names(), *(WORDING if texts else ())]
        unknown = [key for key in given if key not in option_types(name)]
        hints = "" if str(error).endswith("?") else "".join(nearest(key, others, " Did", "") for key in unknown)
        raise ArgumentError(f"{error} The recipe's options are {', '.join(option_names())}{texts}.{hints}") from None
    except TypeError:
        return
