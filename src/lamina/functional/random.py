r"""Random numbers as a pure function of (seed, stream, counter, index).

A hash of four integers gives each number, so that a mask is the same in a plain run, under `vmap`, in a compiled or
captured step and after a resume, and no generator is shared between anything.
"""

import math

import torch

from lamina._errors import between
from lamina._types import Float, Seed, Tensor

# A 32-bit integer mixer (two rounds of xor-shift and odd multiplication): every input bit flips every output bit
# with probability close to 1/2. The multipliers are written as signed 32-bit numbers.
_FIRST, _SECOND, _STEP = 0x7FEB352D, 0x846CA68B - 2**32, 0x9E3779B9 - 2**32


def as_generator(seed: Seed) -> torch.Generator:
    """Return `seed` itself if it is a generator, else a new CPU generator started from it.

    >>> torch.rand(1, generator=as_generator(3)).equal(torch.rand(1, generator=as_generator(3)))
    True
    """
    return seed if isinstance(seed, torch.Generator) else torch.Generator().manual_seed(seed)


def _mix(x: Tensor) -> Tensor:
    """Scramble int32 numbers; arithmetic shifts are masked to logical ones."""
    x = (x ^ ((x >> 16) & 0xFFFF)) * _FIRST
    x = (x ^ ((x >> 15) & 0x1FFFF)) * _SECOND
    return x ^ ((x >> 16) & 0xFFFF)


def _int32(value: int | Tensor, device: torch.device) -> Tensor:
    if isinstance(value, Tensor):
        return value.to(torch.int32)
    # `full`, not `tensor`: a copy from the host cannot be part of a captured step.
    return torch.full((), (value + 2**31) % 2**32 - 2**31, dtype=torch.int32, device=device)


def _hash_bits(
    shape: tuple[int, ...],
    seed: int | Tensor,
    stream: int | Tensor = 0,
    counter: int | Tensor = 0,
    device: torch.device | str = "cpu",
    first: int | Tensor = 0,
) -> Tensor:
    """Give 32 random bits, as int32, for every index of `shape`, counted from `first` on, or those that it names."""
    place = torch.device(device)
    key = _int32(seed, place)
    for part in (stream, counter):
        key = _mix(key + _STEP) ^ _int32(part, place)
    if isinstance(first, Tensor):
        index = first.to(torch.int32)
    else:
        index = torch.arange(math.prod(shape), dtype=torch.int32, device=place)
        index = index + _int32(first, place) if first else index
    return _mix(_mix(index + _mix(key + _STEP)) ^ key).reshape(shape)


def uniform(
    shape: tuple[int, ...],
    seed: int | Tensor,
    stream: int | Tensor = 0,
    counter: int | Tensor = 0,
    device: torch.device | str = "cpu",
    first: int | Tensor = 0,
) -> Float[Tensor, "..."]:
    """Give numbers uniform on [0, 1) in float32, multiples of 2^-24, as a pure function of the arguments.

    Args:
        shape: of the result.
        seed: which experiment.
        stream: which place.
        counter: which step.
        device: where they are wanted.
        first: the index of the first number, so that a part of a batch has the numbers that it has in the whole one;
            or the index of each.

    >>> uniform((5,), seed=1)[2:].equal(uniform((3,), seed=1, first=2))
    True
    >>> bool((uniform((1000,), seed=1).mean() - 0.5).abs() < 0.05)
    True
    """
    bits = (_hash_bits(shape, seed, stream, counter, device, first) >> 8) & 0xFFFFFF
    return bits.to(torch.float32) * 2.0**-24


def dropout(
    inputs: Float[Tensor, "..."],
    rate: float | Tensor,
    seed: int | Tensor,
    stream: int | Tensor = 0,
    counter: int | Tensor = 0,
    first: int = 0,
) -> Float[Tensor, "..."]:
    r"""Set each number to zero with probability `rate` and scale the others so that the mean is kept.

    $$\hat y_i = \frac{d_i}{1-p}\, y_i, \qquad d_i \in \{0, 1\},\quad P(d_i = 0) = p$$
    with y = `inputs`, p = `rate` and the mask d a pure function of `seed`, `stream`, `counter` and the index i.

    Notes: N3.08 (§3).
    Differs: torch.nn.functional.dropout draws its mask from a global generator.

    Args:
        inputs: numbers of any shape.
        rate: the probability of dropping, in [0, 1).
        seed: which experiment.
        stream: which place, so that two layers drop independently.
        counter: which step.
        first: the index of the first number.

    >>> sorted(set(dropout(torch.ones(100), 0.5, seed=0).tolist()))
    [0.0, 2.0]
    """
    if not isinstance(rate, Tensor):
        between("rate", rate, 0, 1, open_high=True)
    kept = uniform(tuple(inputs.shape), seed, stream, counter, inputs.device, first) >= rate
    return torch.where(kept, inputs / (1 - rate), torch.zeros_like(inputs))
