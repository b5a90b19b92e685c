"""Lamina: the lecture notes "Neural Network Architectures" (E. Herberg, 2023) as software.

Public names are imported when they are first used, so that `import lamina` costs nothing and loads no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {"build": "lamina.architectures.build", "architectures": "", "classical": "", "functional": "", "layers": ""}
__all__ = ["__version__", *_HOME]

if TYPE_CHECKING:
    from lamina import architectures as architectures
    from lamina import classical as classical
    from lamina import functional as functional
    from lamina import layers as layers
    from lamina.architectures.build import build as build


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lamina' has no attribute {name!r}; it has {', '.join(_HOME)}.")
    value = getattr(import_module(_HOME[name]), name) if _HOME[name] else import_module(f"lamina.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
