"""Commands: what they say, put together again, gives the same network and the same recipe."""

from dataclasses import asdict, replace

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as example_settings
from hypothesis import strategies as st

from lamina._declared import write
from lamina.architectures.build import configure
from lamina.architectures.table import TABLE
from lamina.cli._values import settings
from lamina.data.augment import Augment
from lamina.data.dataset import Spec
from lamina.report import _commands as commands
from lamina.report._record import Record, read
from lamina.training.plan import option_types
from lamina.training.recipe import (
    GD,
    SGD,
    Adam,
    AdamW,
    Clip,
    MiniBatch,
    Penalty,
    Recipe,
    RMSprop,
    Schedule,
    Stopping,
    as_dict,
    option_names,
    with_options,
)
from lamina.training.tasks.recommended import network_options, recommend
from report.samples import CONFIG, PREPROCESS, SPEC, STATUS, regression


def understood(words: list[str]) -> dict[str, object]:
    """Read the words as `lamina train` does: name, options of the recipe, options of the network."""
    assert words[:2] == ["lamina", "train"]
    options, chosen = {}, []
    rest = words[3:]
    while rest:
        key, value, *rest = rest
        (chosen.append(value) if key == "--set" else options.update({key: value}))
    values = settings(chosen, option_types(words[2]))
    recipe = {key: values.pop(key) for key in list(values) if key in option_names()}
    return {"name": words[2], "options": options, "recipe": recipe, "network": values}


def again(words: list[str], spec: Spec, natural: tuple[int, ...], examples: int) -> tuple[object, Recipe]:
    """Do what `lamina.training.plan` does with the words, up to the data."""
    said = understood(words)
    sizes = network_options(said["name"], spec, natural, said["network"])
    seed = int(said["options"]["--seed"])
    recipe = with_options(recommend(said["name"], spec, examples, sizes).recipe, **said["recipe"], seed=seed)
    return configure(said["name"], **sizes), replace(recipe, epochs=int(said["options"]["--epochs"]))


def without_changes(recipe: Recipe) -> Recipe:
    return replace(recipe, augment=None) if recipe.augment == Augment() else recipe


def record_of(record: Record, name: str, network: object, recipe: Recipe, spec: Spec) -> Record:
    """Put a network and a recipe into a record, with the None's that TOML forgets left out."""
    stored = {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(network).items() if v is not None}
    inputs = network.inputs
    fitted = {
        **PREPROCESS,
        "spec": spec.as_dict(),
        "inputs": list(inputs) if isinstance(inputs, tuple) else [inputs],
        "kept": list(spec.inputs),
    }
    architecture = {"network": TABLE[name].network, "config": stored}
    config = {**record.config, "architecture": architecture, "recipe": as_dict(recipe)}
    return replace(record, config=config, preprocess=fitted)


def test_the_command_of_the_sample(make):
    words, remarks = commands.train(read(make()))
    assert remarks == []
    assert commands.spell(words) == (
        "lamina train fnn --data iris --epochs 3 --seed 0 --threads 2 --device cpu \\\n"
        "    --set optimizer=adam --set learning_rate=0.01 --set batch_size=16 \\\n"
        "    --set schedule=constant --set warmup=0.0 --set penalty=0.0 --set hidden=5,"
    )


GRAY = Spec("image", "classification", (1, 28, 28), 10, source="mnist")
COLOR = Spec("image", "classification", (3, 32, 32), 10, source="cifar10")
TABLE4 = Spec.from_dict(SPEC)
NETWORKS = [
    ("fnn", TABLE4, {"inputs": 4, "outputs": 3}),
    ("fnn", TABLE4, {"inputs": 4, "outputs": 3, "hidden": (), "activation": "tanh", "initialization": "he"}),
    ("fnn", GRAY, {"inputs": 784, "outputs": 10, "hidden": (300, 100), "dropout": 0.25}),
    ("fnn", GRAY, {"inputs": 196, "outputs": 10, "hidden": (64,)}),
    ("dense-resnet", TABLE4, {"inputs": 4, "outputs": 3}),
    ("lenet5", GRAY, {"inputs": (1, 28, 28), "outputs": 10, "activation": "relu", "pooling": "max"}),
    ("lenet5", COLOR, {"inputs": (1, 28, 28), "outputs": 10}),
    ("lenet5-1998", GRAY, {"outputs": 10}),
    ("resnet18", COLOR, {"inputs": (3, 32, 32), "outputs": 10, "stem": "imagenet"}),
    ("resnet18-cifar", COLOR, {}),
    ("cifar-resnet", COLOR, {"inputs": (3, 32, 32), "outputs": 10}),
]


@pytest.mark.parametrize(("name", "spec", "options"), NETWORKS)
def test_the_network_comes_back(make, name, spec, options):
    network = configure(name, **options)
    words, _ = commands.train(record_of(read(make()), name, network, Recipe(), spec))
    config, recipe = again(words, spec, (4,) if spec.kind == "table" else spec.inputs, 1000)
    assert words[2] == name and config == network
    assert without_changes(recipe) == Recipe()


rates = st.floats(1e-6, 10)
optimizers = st.one_of(
    st.builds(GD, rates, st.booleans()),
    st.builds(SGD, rates),
    st.builds(MiniBatch, rates, st.sampled_from([0.0, 0.5, 0.9])),
    st.builds(MiniBatch, rates, st.just(0.9), st.just(True)),
    st.builds(Adam, rates, st.sampled_from([0.9, 0.8]), st.sampled_from([0.999, 0.99])),
    st.builds(AdamW, rates, weight_decay=st.floats(0, 1)),
    st.builds(RMSprop, rates, st.sampled_from([0.99, 0.9]), momentum=st.sampled_from([0.0, 0.5])),
)
recipes = st.builds(
    Recipe,
    optimizer=optimizers,
    epochs=st.integers(1, 500),
    batch_size=st.integers(1, 512),
    schedule=st.builds(
        Schedule,
        st.sampled_from(["constant", "warmup", "cosine", "one-cycle", "step", "plateau"]),
        st.sampled_from([0.0, 0.3, 0.1]),
        st.sampled_from([0.0, 0.05]),
        st.integers(1, 30),
        st.sampled_from([0.1, 0.5]),
    ),
    penalty=st.builds(Penalty, st.sampled_from([0.0, 1e-4]), st.sampled_from([1, 2])),
    clip=st.builds(Clip, st.sampled_from([None, 1.0]), st.sampled_from(["global", "value"])),
    stopping=st.builds(Stopping, patience=st.sampled_from([None, 5]), max_steps=st.sampled_from([None, 100])),
    augment=st.sampled_from([None, Augment(translate=3), Augment(crop=4), Augment(flip=True, cutout=8)]),
    sampling=st.sampled_from(["epoch", "with-replacement"]),
    loss=st.sampled_from([None, "nll"]),
    class_weights=st.sampled_from([None, "balanced"]),
    check_every=st.integers(1, 5),
    precision=st.sampled_from(["float32", "float64"]),
    seed=st.integers(0, 9),
)


@given(recipe=recipes, network=st.sampled_from([NETWORKS[i] for i in (0, 5, 9)]), examples=st.integers(10, 60_000))
@example_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_every_recipe_comes_back(make, recipe, network, examples):
    if not hasattr(make, "sample"):
        make.sample = read(make())
    name, spec, options = network
    words, _ = commands.train(record_of(make.sample, name, configure(name, **options), recipe, spec))
    _, found = again(words, spec, (4,) if spec.kind == "table" else spec.inputs, examples)
    assert without_changes(found) == recipe


@pytest.mark.parametrize("name", [name for name in TABLE if name not in ("resnet18-cifar",)])
def test_every_name_is_found_again_from_its_configuration(name):
    entry = TABLE[name]
    assert commands.entry({"network": entry.network, "config": dict(entry.options)}).name == name
    assert commands.entry({"network": "custom"}) is None


def test_a_cifar_resnet_of_another_depth_keeps_its_name():
    stored = {"network": "CifarResNet", "config": {"depth": 11, "block": "preactivation", "bottleneck": True}}
    assert commands.entry(stored).name == "cifar-resnet"


def test_target_device_and_a_path(make):
    data = {"source": "/home/ada/my table.csv", "options": {"target": "the price"}, "seed": 0, "reload": True}
    environment = {"threads": 1, "device": "cuda"}
    words, remarks = commands.train(read(make(config={**CONFIG, "data": data}, environment=environment)))
    line = commands.spell(words)
    assert line.startswith("lamina train fnn --data 'my table.csv' --target 'the price' --epochs 3 --seed 0 ")
    assert "--threads 1 --device cuda" in line
    assert remarks == ["Name 'my table.csv' with its folder."]


def test_a_linear_model_is_trained_on_the_same_data(make):
    data = {"source": "table.csv", "options": {"target": "price", "sheet": "2"}, "seed": 3, "reload": True}
    recipe, start = CONFIG["recipe"] | {"seed": 3}, {"weights": "runs/other"}
    line = commands.linear(read(make(config={**CONFIG, "data": data, "recipe": recipe, "start": start})))
    assert commands.spell(line) == "lamina train perceptron --data table.csv --target price --read sheet=2 --seed 3"
    assert commands.linear(read(make(config={**CONFIG, "data": {"source": "arrays"}}))) == []


def test_what_a_command_cannot_say(make):
    data = {"source": "moons", "options": {"count": 50}, "seed": 4, "reload": True}
    words, remarks = commands.train(read(make(config={**CONFIG, "data": data})))
    assert words[words.index("--read") + 1] == "count=50"
    assert remarks == ["The split was drawn with seed 4, training with seed 0."]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"architecture": {"network": "custom", "code": "MyNet"}}, "The network 'MyNet' was written in Python"),
        ({"data": {"source": "arrays", "reload": False}}, "The data were given in memory"),
        (
            {"recipe": {**CONFIG["recipe"], "loss": {"name": "custom", "code": "cubes"}}},
            "The loss 'cubes' was written in Python: call `lamina.fit` with it and the recipe below.",
        ),
        (
            {"recipe": {**CONFIG["recipe"], "optimizer": {"name": "custom", "code": "AdamW"}}},
            "The optimizer 'AdamW' was written in Python",
        ),
        (
            {"architecture": {"network": "ManyToOne", "config": {"inputs": 8, "outputs": 2}}},
            "many-to-one cannot be trained from the command line",
        ),
    ],
)
def test_no_command_but_a_sentence(make, change, sentence):
    words, (remark,) = commands.train(read(make(config={**CONFIG, **change})))
    assert words == [] and remark.startswith(sentence)


def test_a_command_does_without_metrics_of_ones_own(make):
    words, remarks = commands.train(read(make(config={**CONFIG, "recipe": {**CONFIG["recipe"], "metrics": ["worst"]}})))
    assert words[:2] == ["lamina", "train"] and not any("metrics" in word for word in words)
    assert "The metrics worst were written in Python: a command does without them." in remarks


def test_sizes_are_said_when_nothing_is_known_of_the_data(make):
    words, _ = commands.train(read(make(preprocess=None)))
    assert "inputs=4" in words and "outputs=3" in words and "hidden=5," in words


def test_prediction_takes_pictures_or_rows(make):
    assert commands.predict(read(make("a b")))[2:] == ["runs/a b", "rows.csv"]
    image = {**SPEC, "kind": "image", "inputs": [1, 8, 8], "features": [], "levels": []}
    record = read(make("r", preprocess={**PREPROCESS, "spec": image, "seen": [], "missing": []}))
    assert commands.predict(record)[2:] == ["runs/r", "photo.png"]


@pytest.mark.parametrize(
    ("state", "names"),
    [
        ("epochs", ["Predict", "Train longer"]),
        ("running", ["Predict", "Continue it"]),
        ("interrupted", ["Predict", "Continue it"]),
        ("diverged", ["Predict"]),
    ],
)
def test_what_can_be_done_next(make, state, names):
    shown = commands.use(read(make("r", status={**STATUS, "state": state})))
    assert [name for name, _ in shown] == names
    assert ("Train longer", ["lamina", "resume", "runs/r", "--epochs", "6"]) in shown or state != "epochs"


def test_regression_is_trained_again_too(make):
    network = {**CONFIG["architecture"], "config": {**CONFIG["architecture"]["config"], "outputs": 1}}
    words, _ = commands.train(read(make(**regression(config={**CONFIG, "architecture": network}))))
    assert "outputs=1" not in words and words[2] == "fnn"


def test_words_of_the_command_line():
    values = ((300, 100), [64], [], True, None, 1e-8)
    assert [write(value) for value in values] == ["300,100", "64,", "[]", "true", "none", "1e-08"]
    stored = {"epochs": 3, "optimizer": {"name": "adam", "eps": 1e-8}, "penalty": {"strength": 0.1}}
    flat = commands.flat_recipe(stored)
    assert list(flat.items()) == [("optimizer", "adam"), ("eps", 1e-8), ("epochs", 3), ("penalty", 0.1)]
    assert commands.entry({"network": "ResNet", "config": {"depth": 50, "stem": "imagenet"}}).name == "resnet50"
