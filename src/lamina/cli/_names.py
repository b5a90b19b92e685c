"""Names that a shell completes: architectures and data sets; nothing heavy is imported for them."""

from collections.abc import Iterator

# What `lamina.data.load.SETS` makes, told without importing torch; a test compares the two.
EMBEDDED = {
    "digits": ("image", "1,797 handwritten digits, 8x8 gray, 10 classes"),
    "iris": ("table", "150 flowers, 4 measurements, 3 classes"),
    "wine": ("table", "178 wines, 13 measurements, 3 classes"),
    "breast-cancer": ("table", "569 tumors, 30 measurements, 2 classes"),
    "or": ("vector", "truth table"),
    "and": ("vector", "truth table"),
    "xor": ("vector", "truth table"),
    "linear": ("vector", "linear function with errors, regression"),
    "curve": ("vector", "curve with errors, regression"),
    "blobs": ("vector", "clouds in the plane, 4 classes"),
    "moons": ("vector", "two half circles, 2 classes"),
    "spirals": ("vector", "interleaved spirals, 2 classes"),
    "rings": ("vector", "a disk inside a ring, 2 classes"),
    "quadrants": ("vector", "XOR of two signs in the square, 2 classes"),
    "spam": ("vector", "counts of 20 words, 2 classes"),
    "million": ("table", "a million rows, 12 columns, 2 classes"),
    "phrasebook": ("pairs", "12,000 sentences of a grammar, English-German"),
    "agreement": ("tokens", "was or were after cat or cats, 2 classes"),
    "order": ("tokens", "whether A comes before B, 2 classes"),
    "adding": ("series", "sum of two marked numbers, regression"),
    "copy": ("tokens", "symbols to be repeated after a delay"),
    "next-input": ("tokens", "symbols to be written before they are read"),
    "wave": ("series", "sine with errors, forecast"),
    "digit-words": ("image", "1,797 handwritten digits, 8x8 gray, with their English words"),
}


def architectures(incomplete: str) -> Iterator[tuple[str, str]]:
    """Give the architectures that begin so, each with its title.

    >>> list(architectures("lenet5-"))
    [('lenet5-1998', 'LeNet-5 as published in 1998')]
    """
    from lamina.architectures.table import TABLE

    return ((e.name, e.title) for e in TABLE.values() if e.name.startswith(incomplete))


def datasets(incomplete: str) -> Iterator[tuple[str, str]]:
    """Give the data sets that begin so, each with what it is.

    >>> list(datasets("moo"))
    [('moons', 'two half circles, 2 classes')]
    """
    from lamina.data.store import SETS

    named = {name: what for name, (_, what) in EMBEDDED.items()} | {s.name: s.title for s in SETS.values()}
    return ((name, what) for name, what in named.items() if name.startswith(incomplete))
