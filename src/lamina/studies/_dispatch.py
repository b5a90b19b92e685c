"""Cut trials into chunks, let an engine try them, and keep what the study must remember of each."""

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from lamina._errors import DataWarning, RunWarning
from lamina._system import remove
from lamina.studies._keeping import _Keeper
from lamina.studies.engines.chunk import Chunk, Engine, Tried
from lamina.studies.folder import Part
from lamina.studies.problem import Problem
from lamina.studies.records import Moment, Result, Trial
from lamina.studies.study import Recorded, Study, Watch
from lamina.training.files import digest

BATCH = {"cpu": 64, "cuda": 1024}
"""How many networks are trained at once, and lost at most when their worker is killed."""


class Dispatcher:
    """Tries the trials of a study on an engine.

    A chunk has trials of one shape. All stacks of one shape have one width, which the first one to end decides and the
    journal records, so that what comes of a trial depends neither on where nor on when it is tried.

    Args:
        study: what is searched; this process is its writer.
        problem: what it is about.
        engine: where chunks are tried.
        part: the share of this process.
        batch: how many networks at most are trained at once.
        watch: told how far it is.
    """

    def __init__(
        self,
        study: Study,
        problem: Problem,
        engine: Engine,
        *,
        part: Part | None = None,
        batch: int | None = None,
        watch: Watch = lambda study, moment: None,
    ) -> None:
        self.study, self.problem, self.engine, self.part, self.watch = study, problem, engine, part, watch
        self._halves = "halving" in study.description
        self._batch, self._numbers = batch, 0
        best = next(iter(study.leaders(1)), None)
        self._keeper = _Keeper(study.folder, best, study.direction, alone=part is None)
        self._moments: dict[int, Moment] = {}
        self._updates, self._begun = 0, 0.0

    def evaluate(self, trials: list[Trial]) -> Recorded:
        """Try them all; what another width than the recorded one was computed with is computed again."""
        waiting = list(self._cut(trials, self.engine.ready(self._tell)))
        while waiting:
            again: list[Chunk] = []
            for tried in self.engine(map(self._filled, waiting), self._tell):
                self._moments.pop(tried.chunk.number, None)
                self._updates += tried.updates
                if not self._fits(tried):
                    again.append(tried.chunk)
                    continue
                for note in tried.notes:
                    warnings.warn(note, DataWarning, stacklevel=2)
                old = self._keep(tried)
                yield list(zip(tried.chunk.trials, tried.outcomes, strict=True))
                for path in old:  # only now is the better one on record
                    remove(path)
            waiting = again
        if self.engine.lost:
            several = self.engine.lost > 1
            warnings.warn(
                f"{self.engine.lost} worker{'s were' if several else ' was'} lost during the search; what "
                f"{'they' if several else 'it'} had begun was trained again by the others.",
                RunWarning,
                stacklevel=2,
            )

    def _cut(self, trials: Sequence[Trial], device: str) -> Iterator[Chunk]:
        """Cut trials of one shape into pieces: each worker gets its share, but no stack more than fits.

        Halving compares within a chunk, so that its chunks must not depend on the number of workers.
        """
        seeds, groups = len(self.problem.seeds), dict[Any, list[Trial]]()
        for trial in trials:
            groups.setdefault(self._shape(trial), []).append(trial)
        most = max(1, (self._batch or BATCH[device]) // seeds)
        # What is trained one by one is recorded one by one, unless halving compares it on the way.
        share = 1 if not self.problem.stacks else min(most, -(-len(trials) // self.engine.workers))
        for shape, group in groups.items():
            width = -(-self.study.state.stacks.get(shape, 1) // seeds)
            size = most if self._halves else width * max(1, share // width)  # whole stacks, so that none is padded
            for start in range(0, len(group), size):
                self._numbers += 1
                yield Chunk(self._numbers, tuple(group[start : start + size]))

    def _shape(self, trial: Trial) -> str:
        return digest(repr(self.problem.members(trial.values)[0].shape).encode())

    def _filled(self, chunk: Chunk) -> Chunk:
        """Tell a chunk that is about to be tried what is known by now."""
        return replace(chunk, width=self.study.state.stacks.get(self._shape(chunk.trials[0])), beat=self._keeper.beat)

    def _fits(self, tried: Tried) -> bool:
        """Record how wide stacks of this shape are, or compare with what is recorded."""
        if tried.width is None:
            return True
        shape = self._shape(tried.chunk.trials[0])
        if shape not in self.study.state.stacks:
            self.study.note(self.part, event="stack", shape=shape, size=tried.width)
        return self.study.state.stacks[shape] == tried.width

    def _keep(self, tried: Tried) -> list[Any]:
        """Keep the best network; return the files that it replaces."""
        if tried.kept is None:
            return []
        number, kept = tried.kept
        place = [trial.number for trial in tried.chunk.trials].index(number)
        rank = Result(number, {}, tried.outcomes[place]).rank(self.study.direction)
        if self._keeper.beat is not None and rank >= self._keeper.beat:  # another worker was quicker and better
            return []
        return self._keeper.write(number, kept, rank)

    def _tell(self, number: int, moment: Moment | None) -> None:
        """Add up what all workers are doing."""
        if moment is not None:
            self._moments[number] = moment
            self._begun = self._begun or time.monotonic()
        now = self._moments.values()
        trials = sum(each.trials for each in now)
        epoch = round(sum(each.epoch * each.trials for each in now) / max(1, trials))
        updates = self._updates + sum(each.updates for each in now)
        rate = updates / max(1e-9, time.monotonic() - self._begun)
        epochs = max((each.epochs for each in now), default=0)
        self.watch(self.study, Moment(trials, epoch, epochs, updates, self.engine.present, rate))
