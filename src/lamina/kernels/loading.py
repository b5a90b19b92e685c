"""What the loaders share: the texts beside these modules, and the modules that need triton."""

import functools
import importlib
import importlib.resources
import re
from typing import Any


@functools.cache
def source(name: str) -> str:
    """Read a text of this package, with those that it includes in their places.

    >>> '#include "' in source("judge.cu"), "typedef long long Int;" in source("judge.cu")
    (False, True)
    """
    text = importlib.resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    return re.sub(r'#include "(\w+\.(?:cu|cpp))"\n', lambda found: source(found[1]), text)


@functools.cache
def with_triton(name: str) -> Any:
    """Import a module of this package; None without triton, which torch's CUDA builds bring.

    Ask only when a CUDA tensor needs it: importing triton takes a while.
    """
    try:
        return importlib.import_module(f"{__package__}.{name}")
    except ImportError:
        return None
