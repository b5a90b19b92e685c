import pytest
import torch

from lamina._errors import ArgumentError, DataError
from lamina.data.preprocess import Preprocess
from lamina.data.tables import load_table


def test_a_category_that_only_held_parts_have_is_counted_in_the_note_or_refused(write):
    rows = "".join(f"{i}.5,{'ab'[i % 2]},{i % 2}\n" for i in range(58)) + "0.5,rare,1\n1.5,odd,0\n"
    path = write("x,kind,y\n" + rows)
    data = load_table(path)
    held = (s for s in range(100) if not {58, 59} & {*data.split(s).train.indices.tolist()})
    splits = {tuple(58 + i in data.split(s).validation.indices for i in (0, 1)): s for s in held}
    said = "; categories that no training example has count as other: 'kind' in"
    for seed in splits.values():
        split = data.split(seed)
        many = sum(i in split.validation.indices for i in (58, 59))
        parts = [f"{n} {part}" for n, part in ((many, "validation"), (2 - many, "test")) if n]
        assert split.note.endswith(f", seed {seed}{said} {' and '.join(parts)} examples.")
        prepare = Preprocess.fit(split.train)
        assert (
            sum(
                prepare.unknown(part.take(torch.arange(10))[0]).get("kind", 0)
                for part in (split.validation, split.open_test())
            )
            == 2
        )
        with pytest.raises(DataError, match=r"column 'kind' holds '(rare|odd)', which is not in the training rows"):
            load_table(path, unknown="error").split(seed)
    assert (True, False) in splits or (False, True) in splits
    with pytest.raises(ArgumentError, match="`unknown` must be one of 'other', 'error', got 'drop'"):
        load_table(path, unknown="drop")
