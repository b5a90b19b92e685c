"""What `lamina train ARCH` does with texts, tokens and series when nothing is said: sizes, recipe, and why."""

from dataclasses import fields
from typing import Any

from lamina._errors import ArgumentError
from lamina.architectures.build import configure
from lamina.data.dataset import Dataset, Spec
from lamina.data.descriptions import DescriptionPreprocess
from lamina.data.tokens import TextPreprocess
from lamina.data.vocabulary import PAD, Wording
from lamina.training.preparation import Preparation, input_size
from lamina.training.recipe import Adam, Clip, Penalty, Recipe, Schedule
from lamina.training.recommended import SEQUENCES, Choice

FITTING = {
    ("text", "classification"): "many-to-one",
    ("text", "regression"): "many-to-one",
    ("text", "language"): "many-to-many",
    ("pairs", "translation"): "seq2seq",
    ("tokens", "classification"): "many-to-one",
    ("tokens", "tagging"): "many-to-many",
    ("series", "regression"): "many-to-one",
    ("series", "structured"): "many-to-many",
    ("image", "description"): "one-to-many",
    ("table", "description"): "one-to-many",
    ("vector", "description"): "one-to-many",
}
"""Which recurrent architecture fits data of a kind and a task."""

_MEANS = {
    ("text", "classification"): "texts with labels",
    ("text", "regression"): "texts with numbers",
    ("text", "language"): "a running text",
    ("pairs", "translation"): "pairs of texts",
    ("tokens", "classification"): "rows of tokens with a label each",
    ("tokens", "tagging"): "rows of tokens with a label at every step",
    ("series", "regression"): "a series with values to forecast",
    ("series", "structured"): "a series with an answer at every step",
    ("image", "description"): "pictures with a text to write",
    ("table", "description"): "rows of a table with a text to write",
    ("vector", "description"): "vectors with a text to write",
}
WORDING = (*(field.name for field in fields(Wording)), "longest", "shared")
"""Options that say how texts become tokens."""
MANY = {"translation": 20_000, "language": 500_000, "classification": 2000, "regression": 2000}
"""With more texts, or characters of a running text, a larger network or more dropout is worth its time."""


def check_fit(name: str, spec: Spec) -> None:
    """Raise unless an architecture fits the data, naming one that does.

    >>> check_fit("fnn", Spec("pairs", "translation", (9,), 1))
    Traceback (most recent call last):
    lamina._errors.ArgumentError: fnn does not read pairs of texts: use seq2seq.
    """
    fits = FITTING.get((spec.kind, spec.task))
    if fits is None:
        if name == "one-to-many":
            raise ArgumentError(
                f"one-to-many writes a text for each thing, but the data of kind {spec.kind!r} have no texts to learn "
                "from: choose another architecture, or a table with a column of text and --read kind=descriptions."
            )
        if name in SEQUENCES:
            raise ArgumentError(
                f"{name} reads sequences, but the data are of kind {spec.kind!r}: choose another architecture, or say "
                "how to read a table with --read kind=series or kind=text."
            )
        return
    if name != fits and (name in SEQUENCES or spec.kind != "series"):
        raise ArgumentError(f"{name} does not read {_MEANS[spec.kind, spec.task]}: use {fits}.")


def fit_words(train: Dataset, options: dict[str, Any]) -> TextPreprocess | DescriptionPreprocess:
    """Fit the dictionary of some texts; `options` are those of `WORDING`."""
    characters = train.spec.task in ("language", "description")
    known = {field.name for field in fields(Wording)}
    how = {key: value for key, value in options.items() if key in known}
    if not characters and len(train) > MANY[train.spec.task] and how.get("level", "word") == "word":
        how.setdefault("min_count", 2)  # of a word that occurs once nothing is learned but noise
    rest = {key: value for key, value in options.items() if key not in known}
    if how and "level" not in how:
        how["level"] = "character" if characters else "word"
    if train.spec.task == "description":
        if rest:
            raise ArgumentError(f"`{next(iter(rest))}` is not for descriptions, whose steps the training part gives.")
        return DescriptionPreprocess.of(train, Wording(**how) if how else None)
    return TextPreprocess.fit(train, Wording(**how) if how else None, **rest)


def sequence_options(name: str, preprocess: Preparation, given: dict[str, Any]) -> dict[str, Any]:
    """Choose the sizes of a recurrent network for some data, unless they are given.

    Args:
        name: a name from `lamina list`.
        preprocess: how the data are prepared.
        given: options of the user, which win.
    """
    spec = preprocess.spec
    check_fit(name, spec)
    options: dict[str, Any] = {"inputs": input_size(preprocess), "outputs": spec.outputs}
    if spec.kind == "series":
        each = spec.target_shape[-1] if spec.task == "structured" else spec.outputs
        return options | {"outputs": each, "hidden": 32, "output_bias": True} | given
    if isinstance(preprocess, DescriptionPreprocess):
        sizes: dict[str, Any] = {
            "outputs": preprocess.output_size,
            "steps": preprocess.steps,
            "hidden": 64,
            "output_bias": True,
        }
        if spec.kind == "image":
            sizes["input_dropout"] = 0.2
        return options | sizes | given
    if isinstance(preprocess, TextPreprocess):
        options |= {"outputs": preprocess.output_size, **_text_sizes(preprocess, given)}
    else:
        options |= {"hidden": 64, "embedding": 16, "memory_bias": 3.0}  # E67: gates that start open remember
    options |= {"output_bias": True}
    if given.get("cell") == "rnn":
        options.pop("memory_bias", None)
    return options | given


def _text_sizes(preprocess: TextPreprocess, given: dict[str, Any]) -> dict[str, Any]:
    """Choose the sizes of a network that reads texts, by what it is for and how many there are."""
    task, many = preprocess.spec.task, preprocess.fitted_on > MANY[preprocess.spec.task]
    if task == "translation" and many and given.get("mode") != "notes":
        sizes = {"hidden": 768, "embedding": 384, "padding": PAD, "input_dropout": 0.5, "output_dropout": 0.5}
        learned = isinstance(given.get("target_embedding", given.get("embedding", 384)), int)
        return sizes | {"embedding_std": 0.1, "bidirectional": True, "context": "mean", "tied": learned}
    if task == "translation":
        return {"hidden": 192, "embedding": 64, "padding": PAD, "input_dropout": 0.1, "output_dropout": 0.1}
    if task == "language" and many:
        sizes = {"hidden": 512, "layers": 2, "embedding": 64, "embedding_std": 0.3, "input_dropout": 0.1}
        between = {} if given.get("layers") == 1 else {"dropout": 0.5}
        return sizes | between | {"output_dropout": 0.5}
    if task == "language":
        return {"hidden": 256, "embedding": 64, "cell": "lstm", "output_dropout": 0.1}
    sizes = {"hidden": 64, "embedding": 64, "padding": PAD, "bidirectional": True, "embedding_std": 0.1}
    strong = {"input_dropout": 0.6, "output_dropout": 0.6, "word_dropout": 0.3}
    return sizes | (strong if many else {"input_dropout": 0.4, "output_dropout": 0.4})


def recommend_sequence(name: str, spec: Spec, examples: int, characters: int = 0) -> Choice:
    """Choose a recipe for a recurrent architecture and data of some size.

    Args:
        name: a name from `lamina list`.
        spec: what the data are.
        examples: how many there are to train on.
        characters: of a running text, how many.

    >>> recommend_sequence("seq2seq", Spec("pairs", "translation", (9,), 1), 8000).recipe.batch_size
    32
    """
    clip = Clip(1.0)
    if spec.task == "language":
        window = 100 if characters > 100_000 else 50
        rows = max(1, min(64, characters // (4 * window)))
        updates = max(1, characters // (rows * window))
        most = 3200 if characters > MANY["language"] else 1500
        epochs = max(2, min(50, most // updates))
        recipe = Recipe(Adam(0.003), epochs, rows, Schedule("cosine", warmup=0.02), clip=clip, window=window)
        how = f"{rows} readers with windows of {window} steps, state carried on"
    elif spec.task == "translation":
        few = examples <= MANY["translation"]
        batch, rate, smoothing = (32, 0.003, 0.0) if few else (64, 0.002, 0.1)
        epochs = max(5, min(40, round(14 * (8000 if few else 29_000) / max(1, examples))))
        recipe = Recipe(Adam(rate), epochs, batch, Schedule("cosine"), clip=clip, label_smoothing=smoothing)
        how = f"batches of {batch}"
    elif spec.task == "description":
        batch = 64 if examples > 500 else 16
        epochs = max(30, min(100, 600 * batch // max(1, examples)))
        recipe = Recipe(Adam(0.005), epochs, batch, Schedule("cosine"), clip=clip)
        how = f"batches of {batch}"
    elif spec.kind == "text":
        batch, epochs, penalty = (64, 8, 1e-5) if examples > MANY[spec.task] else (16, 30, 0.0)
        recipe = Recipe(Adam(0.002), epochs, batch, Schedule("cosine"), Penalty(penalty), clip)
        how = f"batches of {batch}"
    else:
        batch = 64 if examples > 500 else 16
        epochs = max(10, min(100, 1500 * batch // max(1, examples)))
        recipe = Recipe(Adam(0.005), epochs, batch, Schedule("cosine"), clip=clip)
        how = f"batches of {batch}"
    rate = recipe.optimizer.learning_rate  # type: ignore[union-attr]
    more = f", labels smoothed by {recipe.label_smoothing:g}" if recipe.label_smoothing else ""
    more += f", penalty {recipe.penalty.strength:g}" if recipe.penalty.strength else ""
    words = f"Adam, rate {rate:g} falling along a cosine, gradients clipped at 1{more}; {recipe.epochs} epochs, {how}"
    return Choice(recipe, words)


def known_options(name: str, given: dict[str, Any], recipe_names: tuple[str, ...]) -> None:
    """Refuse an option that neither the architecture nor the recipe nor the dictionary has, naming all lists."""
    try:
        configure(name, **{key: value for key, value in given.items() if key not in ("inputs", "outputs")})
    except ArgumentError as error:
        if "has no option" in str(error):
            raise ArgumentError(
                f"{error} The recipe's options are {', '.join(recipe_names)}; those of texts are {', '.join(WORDING)}."
            ) from None
    except TypeError:
        return
