r"""How much each input has to do with an output: gradients, class activation maps, occlusion.

All of these answer a question about one example and one output $y_k$, such as the score of a class.
"""

from collections.abc import Callable

import torch
from torch.nn.functional import interpolate

from lamina._errors import ShapeError, whole
from lamina._types import Float, Tensor


def saliency(gradient: Float[Tensor, "channel height width"]) -> Float[Tensor, "height width"]:
    r"""Compute how much each pixel could change an output (Simonyan et al., 2014).

    $$S_{ij} = \max_c \Bigl| \frac{\partial y_k}{\partial x_{cij}} \Bigr|$$

    Args:
        gradient: of the output with respect to the picture.

    >>> saliency(torch.tensor([[[1.0, 0.0]], [[-3.0, 0.5]]])).tolist()
    [[3.0, 0.5]]
    """
    return gradient.abs().amax(0)


def grad_cam(
    maps: Float[Tensor, "channel height width"], gradient: Float[Tensor, "channel height width"]
) -> Float[Tensor, "height width"]:
    r"""Compute where the maps of a convolutional layer speak for an output (Grad-CAM, Selvaraju et al., 2017).

    $$L = \max\Bigl(0, \sum_c \alpha_c A_c\Bigr), \qquad
      \alpha_c = \frac{1}{HW} \sum_{i,j} \frac{\partial y_k}{\partial A_{cij}}$$

    Args:
        maps: what the layer gives, A.
        gradient: of the output with respect to the maps.

    >>> maps = torch.tensor([[[1.0, 2.0]], [[4.0, 0.0]]])
    >>> grad_cam(maps, torch.tensor([[[1.0, 3.0]], [[-1.0, 0.0]]])).tolist()  # alpha = 2 and -1/2
    [[0.0, 4.0]]
    """
    return (gradient.mean((1, 2), keepdim=True) * maps).sum(0).relu()


def contribution(gradient: Float[Tensor, "*shape"], inputs: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    r"""Compute gradient times input, $x_i\, \partial y_k / \partial x_i$.

    For an output that is linear in the inputs this is what each of them adds to it; then they sum to $y_k - y_k(0)$.
    Inputs that were standardized are compared with their mean.

    Args:
        gradient: of the output with respect to the inputs.
        inputs: the inputs.

    >>> contribution(torch.tensor([2.0, -1.0]), torch.tensor([0.5, 3.0])).tolist()
    [1.0, -3.0]
    """
    return gradient * inputs


def occlusion(
    output: Callable[[Float[Tensor, "batch channel height width"]], Float[Tensor, " batch"]],
    picture: Float[Tensor, "..."],
    patch: int,
    *,
    stride: int | None = None,
    fill: float = 0.0,
    batch_size: int = 64,
) -> Float[Tensor, "height width"]:
    r"""Compute how much an output falls when a square of the picture is covered (Zeiler & Fergus, 2014).

    $$O_P = y_k(x) - y_k(x \text{ with } x_P = \text{fill})$$
    for squares P of a grid; a pixel gets the mean over the squares that cover it.

    Args:
        output: gives the output for pictures.
        picture: the picture.
        patch: the side of the square.
        stride: from one square to the next; half of the side by default.
        fill: what covers; 0 is the mean of a normalized picture.
        batch_size: how many covered pictures are computed at once.

    >>> bright = lambda x: x.sum((1, 2, 3))
    >>> occlusion(bright, torch.tensor([[[5.0, 1.0]]]), 1).tolist()
    [[5.0, 1.0]]
    """
    whole("patch", patch, 1)
    if picture.dim() != 3:
        raise ShapeError(f"`picture` must have the axes [channel, height, width], got {tuple(picture.shape)}.")
    _, height, width = picture.shape
    step = stride or max(1, patch // 2)
    rows, columns = (_starts(size, patch, step) for size in (height, width))
    corners = [(top, left) for top in rows for left in columns]
    with torch.no_grad():
        before = output(picture[None])[0]
        falls, times = torch.zeros(2, height, width, dtype=before.dtype, device=before.device)
        for first in range(0, len(corners), batch_size):
            part = corners[first : first + batch_size]
            covered = picture.repeat(len(part), 1, 1, 1)
            for i, (top, left) in enumerate(part):
                covered[i, :, top : top + patch, left : left + patch] = fill
            for (top, left), fall in zip(part, before - output(covered), strict=True):
                falls[top : top + patch, left : left + patch] += fall
                times[top : top + patch, left : left + patch] += 1
    return falls / times


def _starts(size: int, patch: int, step: int) -> list[int]:
    """Give where squares begin so that they cover a side to its end.

    >>> _starts(10, 4, 2), _starts(10, 4, 4), _starts(3, 4, 2)
    ([0, 2, 4, 6], [0, 4, 6], [0])
    """
    last = max(0, size - patch)
    return sorted({*range(0, last + 1, step), last})


def enlarged(values: Float[Tensor, "height width"], height: int, width: int) -> Float[Tensor, "height2 width2"]:
    """Bring a small map to the size of a picture, bilinearly.

    >>> enlarged(torch.tensor([[0.0, 1.0]]), 1, 4).tolist()
    [[0.0, 0.25, 0.75, 1.0]]
    """
    return interpolate(values[None, None], (height, width), mode="bilinear", align_corners=False)[0, 0]
