"""Examples of several inputs, which a network takes by their names or in their order; answers are those of arrays."""

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from lamina._errors import ArgumentError, DataError, ShapeError
from lamina._types import Tensor
from lamina.data.pictures import thumbnail
from lamina.data.several import Layout, SeveralPreprocess
from lamina.data.source import Source
from lamina.training._look import Look, look
from lamina.training.recipe import Recipe
from lamina.training.tasks._labels import Labels
from lamina.training.tasks.arrays import FEATURES, Arrays, Examples
from lamina.training.tasks.feed import Feed, as_read
from lamina.training.tasks.task import _Choice


def by_name(model: nn.Module, names: Sequence[str]) -> bool:
    """Say whether a network takes inputs by their names; refuse what its `forward` does not take.

    Args:
        model: a network.
        names: those of the inputs, "" for inputs that go by their order. A single input always goes by its order.

    >>> by_name(nn.Bilinear(2, 3, 1), ("input1", "input2")), by_name(nn.Bilinear(2, 3, 1), ("", ""))
    (True, False)
    """
    named = len(names) > 1 and bool(names[0])
    signature = inspect.signature(model.forward)
    try:
        signature.bind(**dict.fromkeys(names)) if named else signature.bind(*names)
    except TypeError as error:
        takes = ", ".join(signature.parameters) or "nothing"
        gives = f"{', '.join(names)}" if named else f"{len(names)} input{'s' * (len(names) > 1)} in order"
        way = "call its arguments as the inputs are called" if named else "give its `forward` as many arguments"
        raise ArgumentError(
            f"the network takes ({takes}), but the data give it {gives} ({error}): {way}, or choose the entries of a "
            "dict with `inputs`."
        ) from None
    return named


def called(model: Any, parts: Sequence[Tensor], names: Sequence[str], dtype: torch.dtype) -> Tensor:
    """Call a network with several inputs: by their names, or without names in their order."""
    ready = [as_read(part, dtype) for part in parts]
    return cast(Tensor, model(**dict(zip(names, ready, strict=True))) if names else model(*ready))


class SeveralFeed(Feed):
    """Batches of rows of bytes, which are taken apart where the network is called.

    Args:
        source: the training examples.
        recipe: how.
        layout: where the inputs lie in a row.
        names: those by which the network is called; () calls it in order.
    """

    def __init__(self, source: Source, recipe: Recipe, layout: Layout, names: Sequence[str]) -> None:
        super().__init__(source, recipe)
        self.layout, self.names = layout, names

    def outputs(self, model: Any, inputs: Any, targets: Tensor) -> Tensor:
        """Call a network with a batch."""
        return called(model, self.layout.unpack(inputs), self.names, self.recipe.dtype)


class Several(Arrays):
    """Examples of several inputs, with a class, numbers or a structure to learn."""

    stacks = False

    @property
    def preprocess(self) -> SeveralPreprocess:
        """How inputs are prepared."""
        self._given = self._given or SeveralPreprocess.fit(self.split.train)
        return cast(SeveralPreprocess, self._given)

    def for_network(self, model: nn.Module) -> "Several":
        """Leave the inputs as they are: a network of several inputs says nothing about their shapes."""
        return self

    def names(self, model: nn.Module) -> tuple[str, ...]:
        """Give the names by which a network is called; () calls it in order."""
        names = tuple(name for name, _, _ in self.spec.several)
        return names if by_name(model, names) else ()

    def sizes(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Refuse: no architecture of Lamina takes such data."""
        raise ArgumentError(
            f"{name} takes one array, but the data have {Layout(self.spec.several)}: write a torch "
            "module that takes them, and train it with `lamina.fit`."
        )

    def recommend(self, name: str, sizes: Mapping[str, Any]) -> _Choice:
        """Refuse: no architecture of Lamina takes such data."""
        raise ArgumentError(f"there is no recommended recipe for {name} and data of several inputs: give one.")

    def columns(self) -> dict[str, tuple[int, ...]]:
        """Name the inputs, with the bytes of each."""
        return Layout(self.spec.several).columns

    def example(self, model: nn.Module) -> tuple[Tensor, ...]:
        """Give one prepared example."""
        parameter, layout = next(model.parameters()), self.preprocess.prepared
        blank = (
            torch.zeros(1, *shape, dtype=dtype, device=parameter.device)
            for shape, dtype in zip(layout.shapes, layout.dtypes, strict=True)
        )
        return tuple(as_read(part, parameter.dtype) for part in blank)

    def _seen(self, model: nn.Module) -> Look:
        names, example = self.names(model), self.example(model)
        try:
            return look(model, **dict(zip(names, example, strict=True))) if names else look(model, *example)
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            raise ShapeError(
                f"the network cannot take {self.preprocess.prepared}: {str(error).splitlines()[0]}. Whole numbers are "
                "given as int64, and floats for what is measured."
            ) from error

    def feed(self, source: Source, model: nn.Module, recipe: Recipe) -> Feed:
        """Give the batches of the training part in their order."""
        return SeveralFeed(source, recipe, self.preprocess.prepared, self.names(model))

    @torch.no_grad()
    def outputs(self, model: nn.Module, inputs: Tensor, batch_size: int = 256) -> Tensor:
        """Return what a network gives for stored examples, before any softmax."""
        parameter, layout, names = next(model.parameters()), self.preprocess.prepared, self.names(model)
        batches = (self.preprocess.apply(rows).to(parameter.device) for rows in inputs.split(batch_size))
        found = [called(model, layout.unpack(rows), names, parameter.dtype).cpu() for rows in batches]
        return torch.cat(found)

    def read(self, what: Any) -> Examples:
        """Give names and stored examples of what is meant: a dict or tuple of arrays, or that of a single input."""
        layout = Layout(self.spec.several)
        if isinstance(what, str | Path | bytes):
            raise DataError(f"files cannot be read for data of several inputs: give arrays for {layout}.")
        values = self._values(what, layout)
        parts = [
            value.detach().cpu() if isinstance(value, Tensor) else torch.from_numpy(np.array(value, order="C"))
            for value in values
        ]
        if all(tuple(part.shape) == shape for part, shape in zip(parts, layout.shapes, strict=True)):
            parts = [part[None] for part in parts]  # one example
        for name, part, shape in zip(layout.called, parts, layout.shapes, strict=True):
            if tuple(part.shape[1:]) != shape or len(part) != len(parts[0]):
                raise ShapeError(
                    f"{name} must have examples of the shape {shape} of the training data, as many as there are of "
                    f"the others ({len(parts[0])}), got {tuple(part.shape)}."
                )
        rows = layout.pack(parts)
        return Examples(tuple(map(str, range(len(rows)))), rows)

    def _values(self, what: Any, layout: Layout) -> list[Any]:
        """Find the array of each input."""
        if isinstance(what, Mapping):
            missing = [name for name in layout.names if name not in what]
            if missing or not layout.names[0]:
                wanted = f"the inputs {', '.join(layout.names)}" if layout.names[0] else "inputs in order, in a tuple"
                raise DataError(f"the network was trained with {wanted}, got {', '.join(map(str, what))}.")
            return [what[name] for name in layout.names]
        values = [what] if len(layout.names) == 1 else list(what) if isinstance(what, tuple | list) else [what]
        if len(values) != len(layout.names):
            raise DataError(
                f"the network was trained with {len(layout.names)} inputs ({layout}), got {len(values)}: give a dict "
                "or a tuple of arrays."
            )
        return values

    def shown(self, example: Tensor) -> dict[str, Any]:
        """Give what a report shows of an example: its first picture, and the inputs that are single numbers by name."""
        layout = Layout(self.spec.several)
        parts = [part[0] for part in layout.unpack(example[None])]
        pictures = [part for part in parts if part.ndim == 3 and len(part) in (1, 3)]
        few = [(name, part) for name, part in zip(layout.called, parts, strict=True) if part.numel() <= FEATURES]
        values = {
            f"{name} {place}" if part.numel() > 1 else name: round(float(value), 6)
            for name, part in few
            for place, value in enumerate(part.flatten().tolist(), 1)
        }
        return ({"picture": thumbnail(pictures[0])} if pictures else {}) | ({"values": values} if values else {})


class SeveralLabels(Several, Labels):
    """Examples of several inputs that have any number of labels."""
