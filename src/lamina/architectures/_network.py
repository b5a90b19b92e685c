"""What all networks of the notes have in common: how they show themselves."""

from collections.abc import Iterator
from typing import Any

from torch import nn

from lamina._shown import Shown


class Network(Shown, nn.Module):
    """A torch module with a configuration; its `repr` is one line, `print` shows all layers.

    >>> from lamina.architectures.build import build
    >>> build("fnn", inputs=3, outputs=1, hidden=(5,))
    FNN(3 to 1; 26 parameters)
    """

    config: Any

    def _headline(self) -> str:
        sizes = [getattr(self.config, name, None) for name in ("inputs", "outputs")]
        shapes = " to ".join("×".join(map(str, s)) if isinstance(s, tuple) else str(s) for s in sizes if s is not None)
        return f"{type(self).__name__}({shapes}{'; ' * bool(shapes)}{_count(self):,} parameters)"

    def _facts(self) -> Iterator[tuple[str, str]]:
        for name, part in self.named_children():
            yield name, f"{type(part).__name__}, {_count(part):,} parameters"

    def __str__(self) -> str:
        return nn.Module.__repr__(self)


def _count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
