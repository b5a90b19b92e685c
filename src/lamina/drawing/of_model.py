"""The drawing that suits a model: nodes and arrows, a stack of layers, or cells unrolled in time."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lamina._errors import ArgumentError
from lamina.drawing.network import Names, network_of
from lamina.drawing.scene import Scene
from lamina.drawing.stack import stack_of
from lamina.drawing.table import drawing

if TYPE_CHECKING:
    from torch import nn

SEQUENCES = {
    "OneToMany": "one-to-many",
    "ManyToOne": "many-to-one",
    "ManyToMany": "many-to-many",
    "EncoderDecoder": "seq2seq",
}
"""Which drawing shows which architecture of recurrent networks."""


def drawing_of(
    model: "nn.Module", inputs: Any = None, *, style: str | None = None, most: int = 8, weights: bool = True,
    names: Names = ((), ()),
) -> Scene:  # fmt: skip
    """Draw a model in the way that suits it.

    Dense layers in a row become nodes and arrows, recurrent networks their cells in time, everything else a stack of
    layers with the shapes of one forward pass.

    Args:
        model: the model.
        inputs: a batch or the shape of one example; the model's own where it knows it.
        style: "blocks" or "boxes" draws a stack even of dense layers.
        most: how many nodes of a layer are drawn at most.
        weights: whether the weights color the arrows.
        names: words beside the inputs and the outputs of dense layers, such as features and classes.

    >>> import lamina
    >>> drawing_of(lamina.build("lenet5")).description[:13]
    'input 1×28×28'
    """
    name = type(model).__name__
    count = f"{sum(p.numel() for p in model.parameters()):,} parameters."
    if name in SEQUENCES and style is None:
        config: Any = model.config
        size = f"{config.layers} {'layer' if config.layers == 1 else 'layers'} of {config.hidden} units"
        both = ", in both directions" if getattr(config, "bidirectional", False) else ""
        words = f"{config.cell.upper()} cells unrolled in time, {size}{both}, {count}"
        return replace(drawing(SEQUENCES[name], words=name), description=words)
    if style is None:
        try:
            return network_of(model, most=most, weights=weights, names=names)
        except ArgumentError:
            pass  # not dense layers in a row: a stack it is
    shape = inputs if inputs is not None else getattr(getattr(model, "config", None), "inputs", None)
    if shape is None:
        raise ArgumentError(f"`inputs` must be the shape of one example or a batch: {name} does not know its own.")
    scene = stack_of(model, (shape,) if isinstance(shape, int) else shape, style=style or "blocks")
    return replace(scene, description=f"{scene.description.removesuffix('.')}, {count}")
