"""Batches ready for a network: from data that lie prepared on the device, or streamed a little ahead of their use."""

import copy
import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, runtime_checkable

import torch

from lamina._errors import DataError, at_least
from lamina._types import Float, Int, Num, Tensor
from lamina.data.augment import Augment, augment
from lamina.data.dataset import Dataset, Spec, Subset, weights_of
from lamina.data.mixing import joined, mixed

Key = tuple[int | Tensor, int | Tensor] | tuple[int | Tensor, int | Tensor, Tensor]
"""(seed, step): the random changes of a batch are a function of these; and of the places of its examples in the whole
batch, if it is a part of one."""

_PART = 2**24  # bytes that are prepared at a time
_FLOATS = 2**29  # bytes that normalized pictures may take


@runtime_checkable
class _Preparing(Protocol):
    """What a source asks of a fitted `Preprocess`."""

    @property
    def spec(self) -> Spec:
        """What the stored examples are."""
        ...

    @property
    def kept(self) -> tuple[int, ...]:
        """The shape of an example as it is kept between reading and use."""
        ...

    @property
    def kept_dtype(self) -> torch.dtype:
        """Its type: bytes for pictures of bytes, else float32."""
        ...

    def keep(self, inputs: Tensor) -> Tensor:
        """Make of stored examples what is kept: resized pictures as bytes, or finished rows."""
        ...

    def finisher(self, device: torch.device | str) -> Callable[[Tensor], Tensor]:
        """Give the function that makes of kept examples what the network takes."""
        ...

    def targets(self, targets: Tensor) -> Tensor:
        """Prepare targets."""
        ...


class Source:
    """Batches of a dataset, prepared, on a device.

    Up to `budget` bytes everything is prepared once and stays on the device (`inputs`, `targets`): pictures as bytes
    of the network's size, normalized batch by batch with the factors and shifts of `affine`; rows and vectors finished.
    Beyond that both are None and batches are read when they are asked for, or ahead of that by a background thread
    after `prefetch`. Both ways give equal batches. Targets of weighted data carry the weight as their last number, as
    `with_weights` writes it, so that it goes wherever they go.

    Args:
        dataset: what to read.
        preparing: a fitted `Preprocess`.
        device: where batches are wanted.
        budget: how many bytes may stay on the device.
        augment: random changes of training examples, made when a batch is asked for with a key. Where they mix
            examples, targets are those of both, as `mixing.joined` writes them.

    >>> from lamina.data.synthetic import blobs
    >>> from lamina.data.preprocess import Preprocess
    >>> data = blobs(12)
    >>> source = Source(data, Preprocess.fit(data))
    >>> inputs, targets = source.batch(torch.tensor([0, 5]))
    >>> inputs.shape, targets.dtype
    (torch.Size([2, 2]), torch.int64)
    """

    blocks = False
    """Whether examples are read in an order of its own, block by block."""

    def __init__(
        self,
        dataset: Dataset,
        preparing: _Preparing,
        device: torch.device | str = "cpu",
        budget: int = 2 * 2**30,
        augment: Augment | None = None,
    ) -> None:
        if augment is not None:
            augment.check(preparing.spec.kind, preparing.kept, preparing.kept_dtype == torch.int64)
        self._dataset, self._preparing, self._weights = dataset, preparing, weights_of(dataset)
        self.device = torch.device(device)
        self.augment = augment
        affine = getattr(preparing, "affine", None)
        self.affine: tuple[Tensor, Tensor] | None = affine(device) if affine else None
        self._finish = preparing.finisher(device)
        self._ahead: _Ahead | None = None
        self.inputs: Tensor | None = None
        self.targets: Tensor | None = None
        one = math.prod(preparing.kept) * preparing.kept_dtype.itemsize
        if len(dataset) * one <= budget:
            self.inputs, self.targets = self._reside(max(1, _PART // max(1, one)))
        if augment is not None and preparing.kept_dtype.is_floating_point and len(dataset):
            self._check_range(augment)

    def _reside(self, size: int) -> tuple[Tensor, Tensor]:
        """Prepare everything, in parts of this size, into tensors on the device."""
        kept, dtype = self._preparing.kept, self._preparing.kept_dtype
        inputs, targets = torch.empty((len(self), *kept), dtype=dtype, device=self.device), []
        for start in range(0, len(self), size):
            part = torch.arange(start, min(start + size, len(self)))
            kept_part, target = self._read(part, *self._dataset.take(part))
            inputs[start : start + size] = kept_part.to(self.device)
            targets.append(target.to(self.device))
        return inputs, torch.cat(targets) if targets else torch.zeros(0, dtype=torch.int64, device=self.device)

    def __len__(self) -> int:
        return len(self._dataset)

    def batch(self, indices: Int[Tensor, " batch"], key: Key | None = None) -> tuple[Tensor, Tensor]:
        """Give prepared inputs and targets.

        Args:
            indices: which examples.
            key: (seed, step) of a training update, which switches random changes on; None for evaluation.
        """
        if self.inputs is not None and self.targets is not None:
            indices = indices.to(self.device)
            # index_select is three times as fast as indexing here.
            chosen = self.inputs.index_select(0, indices)
            return self._finished(self._changed(chosen, key), self.targets.index_select(0, indices), key)
        ready = None if self._ahead is None else self._ahead.next(indices.cpu(), key)
        kept, targets = ready or self._ready(indices.cpu(), key, None)
        kept, targets = (part.to(self.device, non_blocking=True) for part in (kept, targets))
        return self._finished(kept if self._changes_early else self._changed(kept, key), targets, key)

    def order(self, batch_size: int, seed: int, epoch: int, epochs: int | None = None) -> Any:
        """Give the order in which an epoch of several must be read, as `BlockOrder`; None if any order is as good."""
        return None

    def finished(self) -> "Source":
        """Give the source with its pictures normalized once for all, if they are resident, unchanging and not too many.

        A CPU takes as long for normalizing a small batch as for a layer of a small network.
        """
        changing = self.augment is not None and not self.augment.only("mixup")
        if self.inputs is None or changing or 4 * self.inputs.numel() > _FLOATS:
            return self
        done = copy.copy(self)
        done.inputs, done._finish = self._finish(self.inputs), lambda inputs: inputs
        return done

    def prefetch(
        self, order: Sequence[Int[Tensor, " _"]], keys: Sequence[Key | None] | None = None, ahead: int = 2
    ) -> None:
        """Begin to read batches that will be asked for in this order; does nothing for resident data.

        At most `ahead` batches are held, beside those that a dataset with its own `prefetch` decodes ahead. A batch
        that is asked for out of this order is read at once, and what was read ahead is forgotten.

        Args:
            order: the indices of each batch.
            keys: the key of each batch; None for evaluation.
            ahead: how many batches may wait.
        """
        at_least("ahead", ahead, 1)
        self.close()
        if self.inputs is None:
            batches = [indices.cpu() for indices in order]
            self._ahead = _Ahead(self._ready, self._dataset, batches, keys or [None] * len(batches), ahead)

    def following(
        self, order: Sequence[Int[Tensor, " _"]], number: int, key: Key | None = None
    ) -> tuple[Tensor, Tensor]:
        """Give a batch of an order.

        Args:
            order: the indices of each batch, as `prefetch` was given them.
            number: of the batch.
            key: (seed, step) of a training update; None for evaluation.
        """
        return self.batch(order[number], key)

    def close(self) -> None:
        """Stop reading ahead."""
        if self._ahead is not None:
            self._ahead.close()
            self._ahead = None

    @property
    def _changes_early(self) -> bool:
        """Whether streamed pictures are changed where they are read, in the background: not if a GPU can do it."""
        return self.device.type == "cpu"

    def _ready(self, indices: Tensor, key: Key | None, stream: "_Stream | None") -> tuple[Tensor, Tensor]:
        """Read one batch, up to what the device does."""
        kept, targets = self._read(indices, *(self._dataset.take(indices) if stream is None else next(stream)))
        kept = self._changed(kept, key) if self._changes_early else kept
        return (kept.pin_memory(), targets.pin_memory()) if self.device.type == "cuda" else (kept, targets)

    def _read(self, indices: Tensor, inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        weights = None if self._weights is None else self._weights[indices]
        return self._preparing.keep(inputs), with_weights(self._preparing.targets(targets), weights)

    def _finished(self, kept: Tensor, targets: Tensor, key: Key | None) -> tuple[Tensor, Tensor]:
        """Finish a batch, mixed where that is wanted."""
        if key is None or self.augment is None or not self.augment.mixes:
            return self._finish(kept), targets
        inputs, share = mixed(kept, self.augment, self._finish, *key[:2])
        return inputs, joined(targets, share)

    def _check_range(self, augment: Augment) -> None:
        """Refuse to recolor pictures whose white is not 1."""
        seen = (
            self._read(torch.arange(1), *self._dataset.take(torch.arange(1)))[0] if self.inputs is None else self.inputs
        )
        if not augment.only("flip", "crop", "translate", "cutout", "rotation", "mixup", "cutmix"):
            low, high = seen.min().item(), seen.max().item()
            if low < 0 or high > 1:
                raise DataError(
                    f"colors change in pictures of bytes, or of numbers from 0 to 1, got numbers from {low:g} to "
                    f"{high:g}: scale the pictures."
                )

    def _changed(self, kept: Tensor, key: Key | None) -> Tensor:
        if key is None or self.augment is None or not self.augment.alone:
            return kept
        return augment(kept, self.augment, *key)


def _all(number: int, indices: Tensor) -> Tensor:
    return indices


class Batches(Sequence[Any]):
    """The batches of an order from a place on, worked out when they are asked for.

    Args:
        order: indices; a tensor, or what has a length and gives slices, such as a `BlockOrder`.
        first: the place of the first one.
        size: how many make a batch.
        give: what is given of a batch, by its number and its indices; the indices by default.

    >>> [batch.tolist() for batch in Batches(torch.arange(5), 2, 2)]
    [[2, 3], [4]]
    """

    def __init__(
        self,
        order: Any,
        first: int,
        size: int,
        give: Callable[[int, Tensor], Any] = _all,
    ) -> None:
        self._order, self._first, self.size, self._give = order, first, size, give

    def __len__(self) -> int:
        return -(-(len(self._order) - self._first) // self.size)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):  # the rest of them
            return Batches(self._order, self._first + number.start * self.size, self.size, self._give)
        if not 0 <= number < len(self):
            raise IndexError(number)
        start = self._first + number * self.size
        return self._give(number, self._order[start : start + self.size])

    def following(self) -> "Batches | None":
        """Give the batches of the order that follows, as a `BlockOrder` knows it; None if there is none."""
        order = self._order.following() if hasattr(self._order, "following") else None
        return None if order is None else Batches(order, 0, self.size, self._give)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Batches) or (self._first, self.size) != (other._first, other.size):
            return False
        return bool(self._give == other._give and self._order == other._order)

    __hash__ = None  # type: ignore[assignment]


def with_weights(
    targets: Num[Tensor, "batch ..."], weights: Float[Tensor, " batch"] | None
) -> Num[Tensor, "batch ..."]:
    """Write the weight of each example behind its prepared target, if there are weights.

    >>> with_weights(torch.tensor([2, 0]), torch.tensor([0.5, 1.5])).tolist()
    [[2.0, 0.5], [0.0, 1.5]]
    """
    if weights is None:
        return targets
    return torch.cat([targets.reshape(len(targets), -1).float(), weights.float()[:, None]], 1)


@runtime_checkable
class _Stream(Protocol):
    """What a dataset's own `prefetch` gives."""

    def __next__(self) -> tuple[Tensor, Tensor]: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class _Waiting:
    indices: Tensor
    key: Key | None
    result: "Future[tuple[Tensor, Tensor]]"


class _Ahead:
    """One background thread that makes batches in order, at most `ahead` before they are asked for."""

    def __init__(
        self,
        make: Callable[[Tensor, Key | None, "_Stream | None"], tuple[Tensor, Tensor]],
        dataset: Dataset,
        order: Sequence[Tensor],
        keys: Sequence[Key | None],
        ahead: int,
    ) -> None:
        self._make, self._ahead, self._stream = make, ahead, _own_stream(dataset, order)
        self._rest: Iterator[tuple[Tensor, Key | None]] = iter(list(zip(order, keys, strict=True)))
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="lamina-prefetch")
        self._waiting: deque[_Waiting] = deque()
        self._refill()

    def _refill(self) -> None:
        for indices, key in islice(self._rest, self._ahead - len(self._waiting)):
            self._waiting.append(_Waiting(indices, key, self._pool.submit(self._make, indices, key, self._stream)))

    def next(self, indices: Tensor, key: Key | None) -> tuple[Tensor, Tensor] | None:
        """Give the next batch if it is the one asked for, else None and nothing more."""
        if not self._waiting or not self._waiting[0].indices.equal(indices) or not _same(self._waiting[0].key, key):
            self.close()
            return None
        try:
            result = self._waiting.popleft().result.result()
        except BaseException:  # Ctrl-C too: no thread may outlive the loop that it feeds
            self.close()
            raise
        self._refill()
        if not self._waiting:  # that was the last one
            self.close()
        return result

    def close(self) -> None:
        """Stop the thread and forget what it made."""
        self._rest = iter(())
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._waiting.clear()
        if self._stream is not None:
            self._stream.close()


def _own_stream(dataset: Dataset, order: Sequence[Tensor]) -> _Stream | None:
    """Let a dataset that can decode in parallel do so; a view hands on the indices of the whole."""
    while isinstance(dataset, Subset):
        part = dataset.indices
        dataset, order = dataset.dataset, [part[indices] for indices in order]
    begin = getattr(dataset, "prefetch", None)
    return None if begin is None or getattr(dataset, "inputs", None) is not None else begin(order)


def _same(first: Key | None, second: Key | None) -> bool:
    if first is None or second is None:
        return first is second
    return len(first) == len(second) and all(
        torch.equal(torch.as_tensor(a), torch.as_tensor(b)) for a, b in zip(first, second, strict=True)
    )
