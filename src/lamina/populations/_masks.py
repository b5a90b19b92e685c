"""Dropout of a population: by compiled code where there is some, else by the readable function of each member."""

from torch.func import vmap

from lamina._types import Tensor
from lamina.functional.random import dropout
from lamina.kernels.dropout import dropped, fits


def stacked_dropout(inputs: Tensor, rate: Tensor, seed: Tensor, counter: Tensor, stream: int) -> Tensor:
    """Drop units of each member by its own rate, seed and counter, exactly as `functional.random.dropout` does.

    >>> import torch
    >>> rate, number = torch.tensor([0.0, 0.5]), torch.zeros(2, dtype=torch.int32)
    >>> stacked_dropout(torch.ones(1, 2, 4), rate, number, number, 0)[0, 0].tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    if fits(inputs):
        return dropped(inputs, rate, seed, counter, stream)
    outputs: Tensor = vmap(dropout, in_dims=(1, 0, 0, None, 0), out_dims=1)(inputs, rate, seed, stream, counter)
    return outputs
