"""The search's own process: one chunk after another."""

from collections.abc import Iterator
from functools import partial

from lamina.studies._trainer import Trainer
from lamina.studies.engines.chunk import Chunk, Tell, Tried


class Here:
    """Train in this process.

    Args:
        trainer: trains a chunk.
    """

    lost = 0
    workers = present = 1

    def __init__(self, trainer: Trainer) -> None:
        self.trainer = trainer

    def ready(self, tell: Tell) -> str:
        """Name the kind of device."""
        return self.trainer.runtime.device.partition(":")[0]

    def __call__(self, chunks: Iterator[Chunk], tell: Tell) -> Iterator[Tried]:
        """Train one chunk after another."""
        for chunk in chunks:
            yield self.trainer(chunk, partial(tell, chunk.number))

    def __enter__(self) -> "Here":
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing was started."""
