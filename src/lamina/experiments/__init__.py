"""The claims of the notes as functions: each returns a small table and says whether the claim holds in it.

from lamina.experiments import registry
print(registry()["N1.43"]())
"""

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

from lamina.experiments.result import REGISTRY, Claim, ClaimError, Result
from lamina.experiments.together import train_together

__all__ = ["Claim", "ClaimError", "Result", "registry", "train_together"]


def registry() -> dict[str, Callable[..., Result]]:
    """Return every experiment by the catalogue ids it belongs to.

    >>> registry()["N1.68"].__name__
    'coin_flips'
    """
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return dict(sorted(REGISTRY.items()))
