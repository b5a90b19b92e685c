r"""Permutation importance: how much worse a network gets when a column no longer belongs to its example.

The notes do not treat it; the definition is that of Breiman (2001), "Random forests", on data that were not trained on.
"""

from collections.abc import Callable, Sequence

import torch

from lamina._errors import at_least
from lamina._types import Float, Int, Num, Tensor
from lamina.functional.random import _hash_bits


def permutation(count: int, seed: int = 0, column: int = 0, repeat: int = 0) -> Int[Tensor, " batch"]:
    """Give a random order of `count` examples as a pure function of seed, column and repeat.

    >>> sorted(permutation(5, seed=1, column=2).tolist())
    [0, 1, 2, 3, 4]
    """
    return _hash_bits((count,), seed, column, repeat).argsort(stable=True)


def permutation_importance(
    score: Callable[[Tensor], float],
    inputs: Num[Tensor, "batch ... feature"],
    columns: Sequence[Sequence[int]] | None = None,
    repeats: int = 5,
    seed: int = 0,
    order: Callable[[int, int, int, int], Tensor] = permutation,
) -> Float[Tensor, "column repeat"]:
    r"""Return how much the score drops when a column is shuffled among the examples.

    $$I_{jr} = s(U) - s(U^{(j, r)}), \qquad U^{(j,r)}_{ij} = U_{\pi_{jr}(i) j}, \quad U^{(j,r)}_{ik} = U_{ik}
    \text{ for } k \ne j$$
    with the score s = `score`, the examples U = `inputs` and a random permutation pi for each column j and repeat r. Of
    a series, whole windows of a feature are exchanged.

    Differs: sklearn.inspection.permutation_importance shuffles a column that is already shuffled in each further
        repeat, by a generator; here every permutation starts from the examples as they are.

    Args:
        score: judges examples, the higher the better.
        inputs: examples that were not trained on.
        columns: the features that are shuffled together, one group after another; each by itself by default.
        repeats: how many permutations.
        seed: of the permutations.
        order: gives the permutation for the number of examples, seed, column and repeat.

    Returns:
        The drops; means over the repeats are the importances.

    >>> U = torch.tensor([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0], [4.0, 8.0]])
    >>> permutation_importance(lambda U: (U[:, 0] == torch.arange(1.0, 5)).float().mean().item(), U, repeats=2).tolist()
    [[0.75, 0.75], [0.0, 0.0]]
    """
    at_least("repeats", repeats, 1)
    groups = [[j] for j in range(inputs.shape[-1])] if columns is None else columns
    whole, rows = score(inputs), []
    for j, group in enumerate(groups):
        row = []
        for repeat in range(repeats):
            shuffled = inputs.clone()
            shuffled[..., list(group)] = inputs[order(len(inputs), seed, j, repeat)][..., list(group)]
            row.append(whole - score(shuffled))
        rows.append(row)
    return torch.tensor(rows, dtype=torch.float64)
