"""Record device work once and replay it: what Python would launch one by one, the device then does by itself."""

import gc
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from lamina._types import Tensor
from lamina.kernels.norm import recorded_kernels
from lamina.training.memory import SplitError

GRAPHS = 64
"""The largest number of forms that are recorded."""

WARM_UP = 2  # libraries choose kernels and take workspace in the first runs, which must not be recorded


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Keep Python from freeing an older graph in the middle of a recording, which would spoil it."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


class Recording:
    """CUDA graphs that share one pool of memory."""

    def __init__(self) -> None:
        self._pool: Any = None

    def record(self, body: Callable[[], None], tensors: Iterable[Tensor]) -> Callable[[], None]:
        """Record `body` and return the function that replays it; anew if it was split because memory was full.

        Args:
            body: device work without arguments, without a result and without a question to the host; it finds and
                leaves everything in tensors that stay where they are.
            tensors: what `body` changes; they get their values back after the warm-up.

        Returns:
            A function that does the recorded work again, on what the tensors then hold.
        """
        tensors = list(tensors)
        while True:
            try:
                return self._record(body, tensors)
            except RuntimeError as error:
                if not _was_split(error):
                    raise

    def _record(self, body: Callable[[], None], tensors: Iterable[Tensor]) -> Callable[[], None]:
        kept = [(tensor, tensor.clone()) for tensor in tensors]
        try:
            with recorded_kernels():
                self._warm_up(body)
                graph = torch.cuda.CUDAGraph()
                with _no_garbage(), torch.cuda.graph(graph, pool=self._pool, capture_error_mode=_watched()):
                    body()
        finally:
            with torch.no_grad():
                for tensor, value in kept:
                    tensor.copy_(value)
        self._pool = graph.pool()
        return graph.replay

    @staticmethod
    def _warm_up(body: Callable[[], None]) -> None:
        """Run on a side stream, as a recording does, so that autograd sets itself up there."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP):
                body()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()


def _watched() -> str:
    """Say whose calls may spoil a recording: with ranks, a thread of NCCL asks the device how far it is."""
    return "thread_local" if torch.distributed.is_available() and torch.distributed.is_initialized() else "global"


def _was_split(error: BaseException | None) -> bool:
    """Say whether work was split, perhaps before the end of its recording failed because of that."""
    return error is not None and (isinstance(error, SplitError) or _was_split(error.__context__))


@dataclass
class _Graph:
    """Recorded work: the tensors it reads, what replays it, and what it leaves."""

    fixed: tuple[Tensor, ...]
    replay: Callable[[], None]
    left: Any


class Graphs:
    """One recording for each form of a batch, made when the form first comes.

    Args:
        changed: gives the tensors that the work changes.
        left: gives what the work leaves for others to look at, such as its gradients.
        recording: whose memory is used; its own by default.
    """

    def __init__(self, changed: Callable[[], Iterable[Tensor]], left: Callable[[], Any], recording: Any = None) -> None:
        self._changed, self._left = changed, left
        self.recording, self._graphs = recording or Recording(), dict[Hashable, _Graph]()
        self.reason, self.on = "", True

    def __len__(self) -> int:
        return len(self._graphs)

    def record(self, form: Hashable, work: Callable[..., None], batch: tuple[Tensor, ...] = ()) -> _Graph:
        """Record work on a batch of this form; nothing is changed by that."""
        fixed = tuple(tensor.clone() for tensor in batch)
        replay = self.recording.record(partial(work, *fixed), self._changed())
        graph = self._graphs[form] = _Graph(fixed, replay, self._left())
        return graph

    def __call__(self, form: Hashable, work: Callable[..., None], batch: tuple[Tensor, ...] = ()) -> Any:
        """Do work on a batch, recorded where that can be, and return what it left."""
        graph = self._graphs.get(form) if self.on else None
        if graph is None and self.on and len(self._graphs) < GRAPHS:
            try:
                graph = self.record(form, work, batch)
            except RuntimeError as error:  # a part asks the host in the middle, or does what no graph can hold
                shape = f"a batch of shape {list(batch[0].shape)}" if batch else "the update"
                self.reason, self.on = f"{shape} cannot be captured ({str(error).splitlines()[0]})", False
        if graph is None:
            work(*batch)
            return self._left()
        for fixed, tensor in zip(graph.fixed, batch, strict=True):
            fixed.copy_(tensor)
        graph.replay()
        return graph.left
