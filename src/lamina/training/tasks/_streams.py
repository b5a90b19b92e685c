"""One long row of tokens on a device, read in windows by several readers at once; for training and for checks."""

import torch

from lamina._errors import at_least
from lamina._types import Int, Tensor
from lamina.data.source import Source
from lamina.data.text.batching import stream_windows

CHECK_WINDOWS = 8  # windows a reader has at least in a check, so that its cold start weighs little


class StreamSource(Source):
    """Windows of a running text; what a reader reads goes on where its window before ended.

    >>> source = StreamSource(torch.arange(11), rows=2, window=3)
    >>> source.windows, [part.tolist() for part in source.window(1)]
    (2, [[[3, 4], [8, 9]], [[4, 5], [9, 10]]])
    """

    def __init__(
        self, tokens: Int[Tensor, " time"], rows: int, window: int, device: torch.device | str = "cpu"
    ) -> None:
        at_least("window", window, 1)
        self.device = torch.device(device)
        self.rows = rows
        self.inputs, self.targets = tokens.to(device), None
        self.affine = self.augment = None
        self._windows = stream_windows(self.inputs, rows, window)

    @classmethod
    def to_check(
        cls, tokens: Int[Tensor, " time"], rows: int, window: int, device: torch.device | str = "cpu"
    ) -> "StreamSource":
        """Give the windows of a check: fewer readers where the text is short, so that most steps have a past.

        >>> StreamSource.to_check(torch.arange(101), rows=64, window=5).rows
        2
        """
        return cls(tokens, max(1, min(rows, (len(tokens) - 1) // (CHECK_WINDOWS * window))), window, device)

    @property
    def windows(self) -> int:
        """How many windows there are."""
        return len(self._windows)

    def __len__(self) -> int:
        return self.windows * self.rows

    def window(self, number: int) -> tuple[Int[Tensor, "batch time"], Int[Tensor, "batch time"]]:
        """Give inputs and targets of a window."""
        return self._windows[number]

    def close(self) -> None:
        """Do nothing: nothing is read ahead."""
