"""Which recurrent architecture fits which data."""

from lamina._errors import ArgumentError
from lamina.data.dataset import Spec

SEQUENCES = ("one-to-many", "many-to-one", "many-to-many", "seq2seq")
"""The architectures that read or write sequences."""

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
