"""A small book of two languages, and networks that fit their data."""

import lamina
from lamina.data.text.texts import PairDataset
from lamina.data.text.tokens import TextPreprocess

NUMBERS = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf"}


NOUNS = {"dogs": "Hunde", "cats": "Katzen", "birds": "Vögel", "cows": "Kühe", "bears": "Bären"}


VERBS = {"sleep": "schlafen", "eat": "essen", "play": "spielen", "sing": "singen"}


def book():
    rows = [
        (f"{a} {b} {c}", f"{x} {y} {z}") for a, x in NUMBERS.items() for b, y in NOUNS.items() for c, z in VERBS.items()
    ]
    return PairDataset.of([a for a, _ in rows], [b for _, b in rows])


def sized(name, data, **options):
    """Build a network that fits the data, and split them."""
    split = data.split(seed=0)
    if data.spec.kind in ("text", "pairs"):
        prepare = TextPreprocess.fit(split.train)
        sizes = {"inputs": prepare.input_size, "outputs": prepare.output_size}
    else:
        sizes = {"inputs": len(data.spec.symbols) or data.spec.inputs[-1], "outputs": data.spec.outputs}
    return lamina.build(name, **{**sizes, "hidden": 16, **options}), split
