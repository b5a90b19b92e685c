"""The kernels of a bottleneck block against double precision."""

import copy

import pytest

from kernels.blocks import block, distance, maps, run
from lamina.kernels.norm import recorded_kernels


@pytest.mark.cuda
@pytest.mark.parametrize("shape", [(32, 64, 8, 8), (3, 64, 5, 7), (8, 128, 6, 6), (9, 256, 4, 4)])
def test_as_near_to_double_precision_as_the_plain_block(shape, generator):
    made = block(shape[1], generator)
    y, d = maps(generator, *shape), maps(generator, *shape)
    _, exact = run(copy.deepcopy(made).double(), y.double(), d.double(), autocast=False)
    _, plain = run(copy.deepcopy(made), y, d)
    with recorded_kernels():
        node, found = run(copy.deepcopy(made), y, d)
    assert type(node).__name__ == "_BottleneckBackward"
    for ours, theirs in zip(distance(found, exact), distance(plain, exact), strict=True):
        assert ours <= 1.3 * theirs + 1e-3
