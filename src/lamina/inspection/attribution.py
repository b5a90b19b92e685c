"""Why a network gives an output: what its inputs, its last convolution maps and its words have to do with it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

from lamina._errors import ArgumentError, ShapeError
from lamina._types import Float, Int, Num, Tensor
from lamina.functional.attribution import contribution, enlarged, grad_cam
from lamina.layers.encoding import Embedding, OneHot

Choose = Callable[[Float[Tensor, "batch ..."]], Float[Tensor, " batch"]]
"""Takes one number per example from the outputs of a network, such as the score of a class."""


def input_gradient(model: nn.Module, inputs: Float[Tensor, "1 ..."], choose: Choose) -> Float[Tensor, "1 ..."]:
    """Compute the gradient of an output with respect to one example.

    Args:
        model: a network in evaluation mode.
        inputs: a batch of one.
        choose: which output.

    >>> net = nn.Linear(2, 3)
    >>> gradient = input_gradient(net, torch.zeros(1, 2), lambda y: y[:, 1])
    >>> gradient[0].equal(net.weight[1])
    True
    """
    with torch.enable_grad():
        leaf = inputs.detach().clone().requires_grad_()
        return torch.autograd.grad(choose(model(leaf)).sum(), leaf)[0]


def class_map(
    model: nn.Module,
    picture: Float[Tensor, "1 channel height width"],
    choose: Choose,
    *,
    layer: nn.Module | None = None,
) -> Float[Tensor, "height width"]:
    """Compute Grad-CAM at the size of the picture.

    Args:
        model: a network in evaluation mode.
        picture: a batch of one.
        choose: which output.
        layer: whose maps to look at; the last one with maps of more than one pixel by default.
    """
    layer = layer or last_maps(model, picture)
    with torch.enable_grad(), _kept(layer) as kept:
        score = choose(model(picture.detach())).sum()
        (maps,) = kept
        (gradient,) = torch.autograd.grad(score, maps)
    return enlarged(grad_cam(maps[0].detach(), gradient[0]), *picture.shape[-2:])


def last_maps(model: nn.Module, picture: Float[Tensor, "1 channel height width"]) -> nn.Module:
    """Find the last convolution whose maps have more than one pixel.

    Its maps are the last ones that still say where something is. Refused where a network has none.
    """
    found: list[nn.Module] = []

    def note(module: nn.Module, inputs: object, output: object) -> None:
        if isinstance(output, Tensor) and output.dim() == 4 and output.shape[-1] * output.shape[-2] > 1:
            found.append(module)

    weights = [(m, getattr(m, "weight", None)) for m in model.modules()]
    hooks = [m.register_forward_hook(note) for m, w in weights if isinstance(w, Tensor) and w.dim() == 4]
    try:
        with torch.no_grad():
            model(picture)
    finally:
        for hook in hooks:
            hook.remove()
    if not found:
        raise ArgumentError(
            "Grad-CAM needs a convolution layer with maps of more than one pixel, which "
            f"{type(model).__name__} does not have: use saliency or occlusion."
        )
    return found[-1]


def word_contributions(model: nn.Module, tokens: Int[Tensor, "1 time"], choose: Choose) -> Float[Tensor, " time"]:
    """Compute what each word contributes to an output: gradient times input, summed over the word's vector.

    Args:
        model: a network in evaluation mode that reads words.
        tokens: a batch of one text.
        choose: which output.
    """
    layer = next((m for m in model.modules() if isinstance(m, nn.Embedding | Embedding | OneHot)), None)
    if layer is None:
        raise ShapeError(f"{type(model).__name__} reads no words: it has no layer that turns them into vectors.")
    with torch.enable_grad(), _kept(layer) as kept:
        score = choose(model(tokens)).sum()
        (vectors,) = kept
        (gradient,) = torch.autograd.grad(score, vectors)
    return contribution(gradient, vectors.detach())[0].sum(-1)


@contextmanager
def _kept(layer: nn.Module) -> Iterator[list[Num[Tensor, "..."]]]:
    """Keep what a layer gives when it is called first, as a leaf of the graph."""
    kept: list[Tensor] = []

    def keep(module: nn.Module, inputs: object, output: Tensor) -> Tensor | None:
        if kept:
            return None
        kept.append(output.detach().requires_grad_())
        return kept[0]

    hook = layer.register_forward_hook(keep)
    try:
        yield kept
    finally:
        hook.remove()
