"""Tensors as the content of a safetensors file."""

from collections.abc import Mapping

from lamina._types import Tensor


def encode(tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """Give the content of a safetensors file that holds some tensors.

    Args:
        tensors: by name, wherever they lie.
        metadata: texts by name; with several names the order of the bytes is random.

    Raises:
        MemoryError: there is too little memory. safetensors panics in that case, so the bytes that it needs are asked
            for first; they are never touched and cost nothing.
    """
    from safetensors.torch import save

    plain = {name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()}
    bytes(2 * sum(tensor.nbytes for tensor in plain.values()))
    return save(plain, metadata)
