"""Record device work once and replay it: what Python would launch one by one, the device then does by itself."""

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from lamina._types import Tensor
from lamina.functional.fused_norm import recorded_kernels

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
        """Record `body` and return the function that replays it.

        Args:
            body: device work without arguments, without a result and without a question to the host; it finds and
                leaves everything in tensors that stay where they are.
            tensors: what `body` changes; they get their values back after the warm-up.

        Returns:
            A function that does the recorded work again, on what the tensors then hold.
        """
        kept = [(tensor, tensor.clone()) for tensor in tensors]
        try:
            with recorded_kernels():
                self._warm_up(body)
                graph = torch.cuda.CUDAGraph()
                with _no_garbage(), torch.cuda.graph(graph, pool=self._pool):
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
