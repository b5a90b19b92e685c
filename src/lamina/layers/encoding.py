"""Words as vectors: fixed unit vectors, or learned columns of a matrix."""

import torch
from torch import nn

from lamina._errors import at_least
from lamina._types import Float, Int, Seed, Tensor
from lamina.functional.encoding import embedding, one_hot
from lamina.functional.initialization import gaussian


class OneHot(nn.Module):
    r"""Write each word as a unit vector $e_k$, in the precision and on the device of the network it belongs to.

    Notes: N5.44 (§5.3).
    Corrects: E71, the word number k has the index k - 1.

    Args:
        size: the number of words in the dictionary.

    >>> OneHot(3).double()(torch.tensor([2])).tolist()
    [[0.0, 0.0, 1.0]]
    """

    stackable = True
    precision: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        at_least("size", size, 1)
        self.size = size
        # Empty and not saved: it only follows `.double()` and `.to(...)`, as parameters do.
        self.register_buffer("precision", torch.empty(0), persistent=False)

    def forward(self, indices: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch vocab"]:
        """Return one unit vector per word."""
        return one_hot(indices, self.size, self.precision.dtype)

    def extra_repr(self) -> str:
        """Show the size of the dictionary."""
        return f"{self.size}"


class Embedding(nn.Module):
    r"""Give each word a learned vector: the column $W e_k$ of a matrix W.

    `weight` holds the transpose of W, one row per word, since a row lies in one piece in memory and a table made for
    `nn.Embedding` fits.

    Notes: N5.44 (§5.3).
    Differs: torch.nn.Embedding draws from the global generator.

    Args:
        vocab: the number of words in the dictionary.
        features: the length of their vectors.
        std: the standard deviation of the starting values. A unit vector has one 1, so the outputs have it too.
        seed: an integer, or a generator that is advanced.

    >>> layer = Embedding(10, 3)
    >>> layer(torch.tensor([7])).equal(layer.weight[7:8])
    True
    """

    def __init__(self, vocab: int, features: int, *, std: float = 1.0, seed: Seed = 0) -> None:
        super().__init__()
        at_least("vocab", vocab, 1)
        at_least("features", features, 1)
        self.weight = nn.Parameter(gaussian((vocab, features), std, seed))

    def forward(
        self, inputs: Int[Tensor, "*batch"] | Float[Tensor, "*batch feature"], *, reverse: bool = False
    ) -> Float[Tensor, "*batch _"]:
        """Return one vector per word; with `reverse` read vectors v and return $W^T v$, one number per word."""
        return inputs @ self.weight.T if reverse else embedding(inputs, self.weight.T)

    def extra_repr(self) -> str:
        """Show the sizes."""
        vocab, features = self.weight.shape
        return f"{vocab}, {features}"
