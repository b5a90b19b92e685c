"""The command lines that belong to a run: repeat it, continue it, use it."""

import shlex
from dataclasses import asdict, replace
from importlib import import_module
from typing import Any

from lamina._declared import write
from lamina._errors import LaminaError
from lamina.architectures.build import configure
from lamina.architectures.table import TABLE, Entry
from lamina.data.augment import Augment
from lamina.data.dataset import Spec
from lamina.data.tables import spell_targets
from lamina.report._record import Record
from lamina.training.recipe import OPTIMIZERS, Recipe, as_dict
from lamina.training.tasks.kinds import read_task
from lamina.training.tasks.recommended import SEQUENCES, recommend

_FLAT = {
    ("optimizer", "name"): "optimizer",
    ("schedule", "kind"): "schedule",
    ("penalty", "strength"): "penalty",
    ("penalty", "norm"): "penalty_norm",
    ("averaging", "decay"): "averaging",
    ("averaging", "start"): "averaging_start",
    ("clip", "limit"): "clip",
    ("clip", "kind"): "clip_kind",
}
# What `lamina train` chooses by itself: said even where it is the default of a recipe.
_SAID = ("learning_rate", "batch_size", "schedule", "warmup", "penalty")
_RATIOS = [4, 1, 1]
_NO_CHANGES = asdict(Augment())
WIDTH = 84


def entry(architecture: dict[str, Any]) -> Entry | None:
    """Find the name of `lamina list` that a stored architecture goes by; None for a network of the user's."""
    config = architecture.get("config", {})
    best: tuple[int, Entry] | None = None
    for candidate in TABLE.values():
        wanted = {key: value for key, value in candidate.options.items() if key not in ("inputs", "outputs")}
        fits = candidate.network == architecture.get("network") and all(config.get(k) == v for k, v in wanted.items())
        if fits and (best is None or len(wanted) > best[0]):
            best = len(wanted), candidate
    return best[1] if best else None


def flat_recipe(recipe: dict[str, Any]) -> dict[str, Any]:
    """Give the stored recipe under the flat names of `--set`."""
    flat: dict[str, Any] = {}
    for name, value in sorted(recipe.items(), key=lambda item: item[0] != "optimizer"):
        if name == "loss" and isinstance(value, dict):
            flat[name] = value["code"]
        elif isinstance(value, dict):
            inside = sorted(value.items(), key=lambda item: item[0] != "name")
            flat |= {_FLAT.get((name, str(inner)), str(inner)): v for inner, v in inside}
        else:
            flat[name] = value
    return flat


def stretches(config: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the flat recipes of a run in the order in which it was trained with them."""
    return [flat_recipe(each["recipe"]) for each in (*config.get("earlier", {}).values(), config)]


def changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Give the options of a flat recipe that differ from those of another one.

    >>> changes({"epochs": 3, "clip": 1.0}, {"epochs": 6})
    {'epochs': 6, 'clip': None}
    """
    return {key: after.get(key) for key in {**before, **after} if before.get(key) != after.get(key)}


def longer(record: Record) -> tuple[list[list[str]], list[str]]:
    """Build the commands that continue a new run as this one was continued, and say where that needs a hand."""
    found = stretches(record.config)
    lines, remarks = [], []
    for place, before, after in zip(record.config.get("earlier", {}).values(), found[:-1], found[1:], strict=True):
        changed = changes(before, after)
        changed.pop("since", None)
        words = ["lamina", "resume", "RUN", "--epochs", str(changed.pop("epochs", after["epochs"]))]
        lines.append([*words, *(word for key, v in changed.items() for word in ("--set", f"{key}={write(v)}"))])
        if place["epoch"] < before["epochs"]:
            remarks.append(
                f"The recipe changed after {place['step']} updates, in epoch {place['epoch'] + 1} of "
                f"{before['epochs']}: "
                "unless a stopping rule ends the new run there too, interrupt it."
            )
    return lines, [*(["RUN is the folder of the new run."] if lines else []), *remarks]


def train(record: Record) -> tuple[list[str], list[str]]:
    """Build the command that trains the same network again, as words; of a continued run that of its beginning."""
    config, remarks = record.config, []
    config = config | {"recipe": next(iter(config.get("earlier", {}).values()), config)["recipe"]}
    record = replace(record, config=config)
    found, origin = entry(config["architecture"]), config["data"]
    if found is None:
        code = config["architecture"].get("code", config["architecture"].get("network", "?"))
        return [], [f"The network {code!r} was written in Python: call `lamina.fit` with it and the recipe below."]
    if config["recipe"]["optimizer"].get("name") not in OPTIMIZERS:
        code = config["recipe"]["optimizer"].get("code", config["recipe"]["optimizer"]["name"])
        return [], [f"The optimizer {code!r} was written in Python: call `lamina.fit` with it and the recipe below."]
    if isinstance(config["recipe"].get("loss"), dict):
        code = config["recipe"]["loss"]["code"]
        return [], [f"The loss {code!r} was written in Python: call `lamina.fit` with it and the recipe below."]
    if not origin.get("reload", False):
        return [], ["The data were given in memory: call `lamina.fit` with them and the recipe below."]
    network = _network_options(record, found)
    if network is None:
        return [], [f"{found.name} cannot be trained from the command line: call `lamina.fit` with it."]
    words = ["lamina", "train", found.name, "--data", record.data]
    options = dict(origin.get("options", {}))
    if "target" in options:
        words += ["--target", spell_targets(options.pop("target"))]
    for key, value in options.items():
        words += ["--read", f"{key}={write(value)}"]
    recipe = flat_recipe(config["recipe"])
    if names := recipe.pop("metrics", None):
        remarks.append(f"The metrics {', '.join(names)} were written in Python: a command does without them.")
    seed = int(recipe.pop("seed", 0))
    if int(origin.get("seed", seed)) != seed:
        remarks.append(f"The split was drawn with seed {origin['seed']}, training with seed {seed}.")
    ratios = list(origin.get("ratios", _RATIOS))
    if ratios != _RATIOS:
        words += ["--split", ":".join(map(str, ratios))]
    for option, value in config.get("start", {}).items():
        words += [f"--{option}", str(value)]
    if record.data != record.source:
        remarks.append(f"Name {record.data!r} with its folder.")
    words += ["--epochs", str(recipe.pop("epochs")), "--seed", str(seed), *_machine(record.environment or {})]
    for key, value in (_recipe_options(record, recipe) | _augment_options(record, found) | network).items():
        words += ["--set", f"{key}={write(value)}"]
    return words, remarks


def linear(record: Record) -> list[str]:
    """Build the command that trains a linear model on the same data; [] where no command can read them."""
    words, _ = train(record)
    last = next((place for place, word in enumerate(words) if word in ("--weights", "--freeze", "--epochs")), 0)
    return (
        ["lamina", "train", "perceptron", *words[3:last], "--seed", words[words.index("--seed") + 1]] if words else []
    )


def predict(record: Record) -> list[str]:
    """Build the command that predicts new examples."""
    spec = {} if record.preprocess is None else record.preprocess["spec"]
    if spec.get("task") == "language":
        return ["lamina", "predict", record.name, "--prompt", "The"]
    examples = {"image": "photo.png", "text": "Any text", "pairs": "Any text"}
    return ["lamina", "predict", record.name, examples.get(str(spec.get("kind")), "rows.csv")]


def resume(record: Record) -> list[str]:
    """Build the command that continues the run."""
    return ["lamina", "resume", record.name]


def use(record: Record) -> list[tuple[str, list[str]]]:
    """Name the commands for what can be done with the run as it stands."""
    state = record.status.get("state", "running")
    shown = [("Predict", predict(record))] if record.weights else []
    if state in ("running", "interrupted", "observer"):
        shown.append(("Continue it", resume(record)))
    elif state != "diverged":
        shown.append(("Train longer", [*resume(record), "--epochs", str(2 * int(record.config["recipe"]["epochs"]))]))
    return shown


def spell(words: list[str]) -> str:
    """Write words as a shell reads them, in lines that fit a page; an option stays with its value.

    >>> print(spell(["lamina", "predict", "runs/my run", "photo.png"]))
    lamina predict 'runs/my run' photo.png
    """
    pieces: list[str] = []
    for word in words:
        quoted = shlex.quote(word)
        if pieces and pieces[-1].startswith("--") and " " not in pieces[-1]:
            pieces[-1] += f" {quoted}"
        else:
            pieces.append(quoted)
    lines = [""]
    for piece in pieces:
        if lines[-1].strip() and len(lines[-1]) + len(piece) > WIDTH:
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] += f" {piece}" if lines[-1] else piece
    return "\n".join(lines)


def _machine(environment: dict[str, Any]) -> list[str]:
    return [word for key in ("threads", "device") if key in environment for word in (f"--{key}", str(environment[key]))]


def _network_options(record: Record, found: Entry) -> dict[str, Any] | None:
    """Give the options in which the network differs from the one that the command line would build."""
    stored = dict(record.config["architecture"]["config"])
    if record.preprocess is None:
        module = import_module(found.module)
        usual = asdict(getattr(module, found.config)(**found.options))
        usual |= {key: None for key in ("inputs", "outputs")}
    else:
        task = read_task(record.preprocess)
        try:
            usual = asdict(configure(found.name, **task.sizes(found.name, {})))
        except LaminaError:
            return None
        if found.name in SEQUENCES:
            changed = {key: stored.get(key) for key in usual}
            return task.said() | {k: v for k, v in changed.items() if _comparable(v) != _comparable(usual[k])}
    if record.config.get("start"):  # the weights would decide what is not said
        fixed = ("outputs", *(key for key in found.options if key != "inputs"))
        return {key: value for key, value in stored.items() if key not in fixed}
    stored |= {key: None for key in usual if key not in stored}  # TOML has no word for None
    return {key: value for key, value in stored.items() if _comparable(value) != _comparable(usual.get(key))}


def _recipe_options(record: Record, flat: dict[str, Any]) -> dict[str, Any]:
    """Give the options of a recipe that a command must say."""
    name = record.config["recipe"]["optimizer"]["name"]
    usual = flat_recipe(as_dict(Recipe(optimizer=OPTIMIZERS[name]())))
    flat = {key: value for key, value in flat.items() if key not in _NO_CHANGES}
    said = (
        *_SAID,
        *(["stage_rate"] if record.config.get("start") else ()),
        *(read_task(record.preprocess).says if record.preprocess else ()),
    )
    return {"optimizer": name} | {key: flat[key] for key in flat if key in said or flat[key] != usual.get(key)}


def _augment_options(record: Record, found: Entry) -> dict[str, Any]:
    """Give the changes of pictures that were made, and those not made that the command line would make."""
    usual = None
    if record.preprocess is not None:
        spec = Spec.from_dict(record.preprocess["spec"])
        usual = recommend(found.name, spec, 1, dict(record.config["architecture"]["config"])).recipe.augment
    made = _NO_CHANGES | record.config["recipe"].get("augment", {})
    said = {key: value for key, value in made.items() if value or (usual is not None and getattr(usual, key))}
    # Zeros first: a picture may not be moved in two ways at once, not even between two words.
    return dict(sorted(said.items(), key=lambda item: bool(item[1])))


def _comparable(value: Any) -> Any:
    return [_comparable(part) for part in value] if isinstance(value, list | tuple) else value
