"""Tensors are written as safetensors writes them, and too little memory is an error that Python knows."""

import pytest
import torch
from safetensors.torch import load, save

from lamina.training.encoding import encode


def test_the_bytes_are_those_of_safetensors():
    weight = torch.arange(6.0, requires_grad=True).reshape(2, 3)
    content = encode({"b": weight.T, "a": weight[0]}, {"lamina": "{}"})
    assert content == save({"b": weight.detach().T.contiguous(), "a": weight.detach()[0]}, {"lamina": "{}"})
    assert load(content)["b"].tolist() == [[0, 3], [1, 4], [2, 5]]


class Huge(torch.Tensor):
    """Says that it needs more memory than there is."""

    nbytes = 2**60

    def detach(self):
        return self


def test_too_little_memory_is_asked_for_in_vain():
    with pytest.raises(MemoryError):
        encode({"a": torch.zeros(2).as_subclass(Huge)})
