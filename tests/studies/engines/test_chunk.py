"""What travels is plain and small."""

import pickle

from lamina.studies.engines.chunk import Chunk, Tried
from lamina.studies.records import Outcome, Trial


def test_a_chunk_and_what_came_of_it_travel(tmp_path):
    chunk = Chunk(3, tuple(Trial(i, {"learning_rate": 0.1 * i}) for i in range(64)), 64, (False, -0.5, 0.1, 2))
    tried = Tried(chunk, (Outcome(0.5, curve=(0.25, None, 0.5)),) * 64, 64, None, ("a note",), 640)
    sent = pickle.dumps(tried)
    assert pickle.loads(sent) == tried and len(sent) < 10_000
