"""In which order training examples are used: a pure function of seed and epoch."""

import torch

from lamina._types import Int, Tensor
from lamina.functional.optimizers import sample_indices


def epoch_order(examples: int, batch_size: int, sampling: str, seed: int, epoch: int) -> Int[Tensor, " position"]:
    """Return the indices of one epoch; consecutive runs of `batch_size` are its batches.

    Notes: N1.42, N1.45 (§1.3, Alg. 3, 4).
    Corrects: E17, the notes leave open whether indices are drawn with or without replacement; here it has a name.

    Args:
        examples: how many training examples there are.
        batch_size: how many make a batch.
        sampling: "epoch" walks through a new permutation, with a shorter last batch; "with-replacement" and
            "without-replacement" draw every batch independently, as Alg. 4 does.
        seed: which experiment.
        epoch: which epoch.

    >>> sorted(epoch_order(5, 2, "epoch", seed=0, epoch=3).tolist())
    [0, 1, 2, 3, 4]
    """
    generator = torch.Generator().manual_seed((seed * 2**31 + epoch) % 2**63)
    if sampling == "epoch":
        return torch.randperm(examples, generator=generator)
    draws = max(1, examples // batch_size)
    if sampling == "with-replacement" or batch_size == 1:
        return sample_indices(examples, draws * batch_size, generator, replacement=True)
    return torch.cat([sample_indices(examples, batch_size, generator) for _ in range(draws)])
