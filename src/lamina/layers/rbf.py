"""Output units that measure the distance to a fixed code, as the last layer of the 1998 LeNet-5."""

import torch
from torch import nn

from lamina._types import Float, Tensor

# Ten digits side by side, 7 columns and 12 rows each. The published codes are bitmaps of this size from a stylized
# set of all printable ASCII characters; these were drawn for Lamina.
_BITMAPS = """
..###.. ...#... .#####. .#####. ....##. ####### ..####. ####### .#####. .#####.
.#...#. ..##... ##...## ##...## ....##. ##..... .##.... .....## ##...## ##...##
##...## .###... .....## .....## ...###. ##..... ##..... .....## ##...## ##...##
##...## #.##... .....## .....## ...###. ##..... ##..... ....##. ##...## ##...##
##...## ..##... .....## .....## ..#.##. ##..... ##..... ....##. .#...#. ##...##
##...## ..##... ....##. ..####. ..#.##. ######. ######. ...##.. ..###.. .######
##...## ..##... ...##.. ..####. .#..##. .....## ##...## ...##.. .#...#. .....##
##...## ..##... ..##... .....## .#..##. .....## ##...## ..##... ##...## .....##
##...## ..##... .##.... .....## ####### .....## ##...## ..##... ##...## .....##
##...## ..##... ##..... .....## ....##. .....## ##...## .##.... ##...## .....##
.#...#. ..##... ##..... ##...## ....##. ##...## ##...## .##.... ##...## ....##.
..###.. ######. ####### .#####. ....##. .#####. .#####. ##..... .#####. .####..
"""


def digit_codes() -> Float[Tensor, "digit pixel"]:
    """Return the ten digits as bitmaps of 12 rows by 7 columns, flattened to 84 numbers: +1 for ink, -1 for paper.

    Notes: N3.07 (§3).
    Differs: the codes of 1998 are other bitmaps of the same size and the same two levels.

    >>> digit_codes().shape, digit_codes()[1, :7].tolist()
    (torch.Size([10, 84]), [-1.0, -1.0, -1.0, 1.0, -1.0, -1.0, -1.0])
    """
    rows = [line.split() for line in _BITMAPS.split("\n") if line]
    pictures = ["".join(row[digit] for row in rows) for digit in range(10)]
    return torch.tensor([[1.0 if pixel == "#" else -1.0 for pixel in picture] for picture in pictures])


class RadialBasis(nn.Module):
    r"""Measure the squared distance of an input to the code of each label: the smaller, the better the label fits.

    $$y_i = \sum_j (u_j - W_{ij})^2$$
    with u = `inputs` and W = `codes`, which is a buffer and is not trained. Cross-entropy on `logits` = -y is the loss
    of 1998 without its extra term for rubbish.

    Notes: N3.07 (§3).
    Corrects: E37, the outputs of 1998 are distances, not the result of an affine map.

    Args:
        codes: one row of numbers for each label.

    >>> layer = RadialBasis(torch.tensor([[1.0, 1.0], [-1.0, 1.0]]))
    >>> layer(torch.tensor([[1.0, 0.0]])).tolist(), layer.logits(torch.tensor([[1.0, 0.0]])).tolist()
    ([[1.0, 5.0]], [[-1.0, -5.0]])
    """

    stackable = True
    codes: Tensor

    def __init__(self, codes: Float[Tensor, "label feature"]) -> None:
        super().__init__()
        self.register_buffer("codes", codes.clone())

    def forward(self, inputs: Float[Tensor, "*#batch feature"]) -> Float[Tensor, "*batch label"]:
        """Return the squared distances."""
        return (inputs.unsqueeze(-2) - self.codes).square().sum(-1)

    def logits(self, inputs: Float[Tensor, "*#batch feature"]) -> Float[Tensor, "*batch label"]:
        """Return the negative squared distances: the larger, the better."""
        return -self(inputs)

    def extra_repr(self) -> str:
        """Show the sizes."""
        labels, features = self.codes.shape
        return f"{features}, {labels}"
