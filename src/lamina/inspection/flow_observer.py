"""Watch signals and gradients while a network trains, without waiting for the device."""

from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import nn

from lamina._errors import ArgumentError, at_least
from lamina._types import Tensor
from lamina.inspection._probe import NUMBERS, Probe
from lamina.inspection.gradient_flow import Flow, _flow_from_row


class GradientFlowObserver:
    """Measure every so many updates what `gradient_flow` measures, of the update itself.

    Give it to `lamina.fit(..., observers=[...])`. It looks at the first update, then at every `every`-th. What it
    measures is part of the update, also when that is replayed as a CUDA graph; numbers stay on the device until the
    next check. The parameters come out as without it. The run's folder gets the rows as `gradients.jsonl`.

    Notes: N2.22, N4.12 (§2.1, §4).

    Args:
        every: updates from one look to the next.

    >>> import tempfile, lamina
    >>> from lamina.data.synthetic import moons
    >>> watch = GradientFlowObserver(every=2)
    >>> net = lamina.build("fnn", inputs=2, outputs=2, hidden=(8, 8), activation="tanh")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = lamina.fit(net, moons(60), lamina.Recipe(epochs=2, batch_size=20), folder=folder, observers=[watch])
    >>> [flow.step for flow in watch.flows], watch.flows[0].layers[0].kind
    ([1, 3], 'tanh')
    """

    file = "gradients.jsonl"
    """Where a run keeps the rows."""

    def __init__(self, every: int = 200) -> None:
        at_least("every", every, 1)
        self.every = every
        self.rows: list[dict[str, Any]] = []
        self._probe: Probe | None = None
        self._kept: list[tuple[int, Tensor]] = []

    def attach(self, model: nn.Module) -> None:
        """Get to know the network, before anything of it is recorded."""
        self._probe, self._kept = Probe(model), []

    def due(self, step: int) -> bool:
        """Say whether to look at the update that follows after `step` updates."""
        return step % self.every == 0

    def looking(self) -> AbstractContextManager[None]:
        """Measure the update that is made inside."""
        if self._probe is None:
            raise ArgumentError("the observer has no network yet: give it to `fit(..., observers=[...])`.")
        return self._probe.looking()

    def keep(self, step: int) -> None:
        """Keep what was measured in update number `step`; nothing waits for it."""
        numbers = self._probe.numbers if self._probe else None
        if numbers is not None:
            self._kept.append((step, numbers.clone()))

    def read(self) -> None:
        """Bring what was kept to the host and append it to `rows`."""
        if not self._kept or self._probe is None:
            return
        steps, numbers = zip(*self._kept, strict=True)
        self._kept = []
        names, kinds = list(self._probe.names), list(self._probe.kinds)
        for step, table in zip(steps, torch.stack(numbers).transpose(1, 2).tolist(), strict=True):
            self.rows.append({"step": step, "layers": names, "kinds": kinds, **dict(zip(NUMBERS, table, strict=True))})

    def __call__(self, event: Any) -> None:
        """Read at each check, when the run waits for the device anyway."""
        if event.row is not None:
            self.read()

    @property
    def flows(self) -> list[Flow]:
        """The rows as records."""
        self.read()
        return [_flow_from_row(row) for row in self.rows]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is wrong in the last update that was looked at."""
        flows = self.flows
        return flows[-1].warnings if flows else ()

    def __str__(self) -> str:
        flows = self.flows
        return f"after update {flows[-1].step}\n{flows[-1]}" if flows else "nothing has been measured yet"
