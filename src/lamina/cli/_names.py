"""Names that a shell completes: architectures and data sets; nothing heavy is imported for them."""

from collections.abc import Iterator


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
    from lamina.cli._data import EMBEDDED
    from lamina.data.store import SETS

    named = {name: what for name, (_, what) in EMBEDDED.items()} | {s.name: s.title for s in SETS.values()}
    return ((name, what) for name, what in named.items() if name.startswith(incomplete))
