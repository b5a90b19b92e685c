"""What all networks of the notes have in common: how they show themselves, and how often they look."""

from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def one_look(model: nn.Module) -> Iterator[None]:
    """Let networks look at each example once, also those that answer with the mean over it and its mirror image.

    >>> from lamina.architectures.build import build
    >>> net = build("resnet18", inputs=(1, 8, 8), outputs=2, width=0.125, mirror=True)
    >>> with one_look(net):
    ...     net.mirror
    False
    >>> net.mirror
    True
    """
    answering = [module for module in model.modules() if getattr(module, "mirror", False) is True]
    for module in answering:
        vars(module)["mirror"] = False
    try:
        yield
    finally:
        for module in answering:
            vars(module)["mirror"] = True


def _count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
