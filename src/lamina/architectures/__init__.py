"""Every architecture of the notes: a frozen configuration and a torch module each, and one table of all.

A network is made of its configuration and a seed, an integer or a generator: `LeNet5(LeNet5Config(), seed=1)`.
Nothing is imported before it is used, so that listing the table loads no torch.
"""

from importlib import import_module
from typing import Any

from lamina.architectures.table import TABLE

_HOMES = {
    "build": "lamina.architectures.build",
    "configure": "lamina.architectures.build",
    "find": "lamina.architectures.build",
}
_HOMES |= {name: entry.module for entry in TABLE.values() for name in (entry.config, entry.network)}
_HOMES |= {"logic_gate": "lamina.architectures.logic", "fnn_from_weights": "lamina.architectures.fnn"}
__all__ = ["TABLE", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lamina.architectures' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
