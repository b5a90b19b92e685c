"""This process as an engine: one chunk after another, as told."""

from lamina.data.load import load
from lamina.studies._trainer import Trainer
from lamina.studies.engines.chunk import Chunk
from lamina.studies.engines.here import Here
from lamina.studies.search import plan
from lamina.training.runtime import Runtime


def test_chunks_are_trained_in_their_order_and_taken_one_by_one(tmp_path):
    problem, study = plan("fnn", load("moons", count=60), {"learning_rate": [1e-3, 1e-2]}, options={"epochs": 2},
                          folder=tmp_path / "s")  # fmt: skip
    taken, told = [], []

    def chunks():
        for trial in study.trials:
            taken.append(trial.number)
            yield Chunk(10 + trial.number, (trial,))

    with Here(Trainer(problem, (study.metric, study.direction), runtime=Runtime("cpu", threads=1))) as here:
        assert (here.ready(lambda *_: None), here.workers, here.lost) == ("cpu", 1, 0)
        run = here(chunks(), lambda number, moment: told.append((number, moment.epoch)))
        assert next(run).chunk.number == 10 and taken == [0]
        assert next(run).chunk.number == 11 and taken == [0, 1] and next(run, None) is None
    assert told == [(10, 0), (10, 1), (10, 2), (11, 0), (11, 1), (11, 2)]
