"""The texts beside these modules that a compiler reads."""

import functools
import importlib.resources
import re


@functools.cache
def source(name: str) -> str:
    """Read a text of this package, with those that it includes in their places.

    >>> "#include" in source("judge.cu"), "typedef long long Int;" in source("judge.cu")
    (True, True)
    """
    text = importlib.resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    return re.sub(r'#include "(\w+\.cu)"\n', lambda found: source(found[1]), text)
