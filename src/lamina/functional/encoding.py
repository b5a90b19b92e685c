r"""Words as vectors (§5.4): unit vectors and the columns of a matrix that they pick.

An index outside the dictionary is refused with a sentence on the CPU; on CUDA, where looking at values would stop the
stream, torch's kernel asserts instead.
"""

import torch

from lamina._errors import ArgumentError, at_least
from lamina._types import Float, Int, Tensor


def _out_of_range(indices: Tensor, size: int) -> ArgumentError:
    """Word the refusal; the kernel has already found an index outside, so a look at the values costs nothing."""
    try:
        worst = str(int(indices.max()) if int(indices.max()) >= size else int(indices.min()))
    except RuntimeError:  # under vmap single values cannot be read
        worst = "one outside"
    return ArgumentError(
        f"`indices` must be in [0, {size - 1}], got {worst}: the k-th word has index k - 1, "
        "and a word that is not in the dictionary needs a token."
    )


def one_hot(
    indices: Int[Tensor, "*batch"], size: int, dtype: torch.dtype = torch.float32
) -> Float[Tensor, "*batch vocab"]:
    r"""Write each word, given by its number in a dictionary, as a unit vector.

    $$u = e_k = (0, \dots, 0, 1, 0, \dots, 0)^\top$$
    with the 1 at place k, counted from 1; its index k - 1 is what `indices` holds.

    Notes: N5.44 (§5.3).
    Corrects: E71, the word number 8367 has the Python index 8366.

    Args:
        indices: the numbers of words, counted from 0.
        size: the number of words in the dictionary.
        dtype: the precision of the result.

    Returns:
        One unit vector per word, along a new last axis.

    >>> one_hot(torch.tensor([2, 0]), 3).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    at_least("size", size, 1)
    zeros = torch.zeros(*indices.shape, size, dtype=dtype, device=indices.device)
    try:
        return zeros.scatter(-1, indices.long()[..., None], 1.0)
    except RuntimeError as error:
        if "out of bounds" not in str(error):
            raise
        raise _out_of_range(indices, size) from error


def embedding(
    indices: Int[Tensor, "*batch"], weight: Float[Tensor, "feature vocab"]
) -> Float[Tensor, "*batch feature"]:
    r"""Multiply a matrix with the unit vectors of words by picking its columns.

    $$W e_k = W_{\cdot k}$$
    with W = `weight`.

    Notes: N5.44 (§5.3).
    Differs: torch.nn.functional.embedding takes the transposed matrix, one row per word.

    Args:
        indices: the numbers of words, counted from 0.
        weight: one column per word.

    Returns:
        One column per word, along a new last axis.

    >>> embedding(torch.tensor([2, 0]), torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).tolist()
    [[3.0, 6.0], [1.0, 4.0]]
    """
    try:
        return torch.nn.functional.embedding(indices, weight.T)
    except IndexError as error:
        raise _out_of_range(indices, weight.shape[1]) from error
