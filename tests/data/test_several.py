"""Several inputs in one row of bytes, and what a batch or an item is taken apart into."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lamina._errors import DataError
from lamina.data.arrays import WrappedDataset, from_arrays
from lamina.data.dataset import Spec
from lamina.data.load import load
from lamina.data.several import Layout, SeveralPreprocess, apart, described

DTYPES = (torch.uint8, torch.bool, torch.float16, torch.float32, torch.float64, torch.int64)


@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.sampled_from(DTYPES), st.lists(st.integers(1, 3), max_size=3)), min_size=1, max_size=4),
)
def test_what_is_packed_comes_back_bit_for_bit(rows, kinds):
    draw = torch.Generator().manual_seed(0)
    parts = [(torch.randn(rows, *shape, generator=draw, dtype=torch.float64) * 90).to(dtype) for dtype, shape in kinds]
    layout = Layout(described(("",) * len(parts), parts))
    packed = layout.pack(parts)
    assert packed.dtype == torch.uint8 and packed.shape == (rows, layout.width)
    for places in (slice(None), slice(rows - 1, rows)):
        for part, back in zip(parts, layout.unpack(packed[places]), strict=True):
            assert back.dtype == part.dtype and torch.equal(back, part[places])


def test_columns_are_the_bytes_of_each_input():
    layout = Layout((("a", (2,), "uint8"), ("", (), "float32")))
    assert layout.columns == {"a": (0, 1), "input 2": (2, 3, 4, 5)}
    assert str(layout) == "a (2, uint8), input 2 (1, float32)"


def test_a_batch_is_taken_apart():
    x, z, y = torch.zeros(2), torch.ones(2), torch.tensor([0, 1])
    for item in ((x, z, y), [x, z, y], ((x, z), y)):
        found = apart(item, "it")
        assert found.names == ("", "") and found.inputs[1] is z and found.target is y
    for item in ({"a": x, "b": z, "label": y}, ({"a": x, "b": z}, y)):
        found = apart(item, "it")
        assert found.names == ("a", "b") and found.inputs[0] is x and found.target is y
    found = apart({"a": x, "b": z, "c": y}, "it", ["b"], "c")
    assert found.names == ("b",) and found.called == "c"
    for item, options, message in (
        ({"a": x, "y": y}, {"inputs": ["b"]}, "it has no entry 'b': it has a, y"),
        ({"a": x, "y": y}, {"target": "z"}, "it has no target 'z': it has a, y"),
        ((x, y), {"target": "z"}, "`inputs` and `target` name entries of a dict, but it is a tuple"),
        (({"a": x}, y), {"inputs": ["b"]}, "it has no entry 'b'"),
    ):
        with pytest.raises(DataError, match=message):
            apart(item, "it", **options)


def test_arrays_of_several_inputs():
    data = load({"size": np.array([1.0, 3.0, 1.0, 3.0]), "on": np.array([True, False] * 2)}, [0, 1, 0, 1])
    assert data.spec.kind == "several" and data.spec.several == (("size", (), "float64"), ("on", (), "bool"))
    assert Spec.from_dict(data.spec.as_dict()) == data.spec
    assert [part.tolist() for part in Layout(data.spec.several).unpack(data.take(torch.tensor([1]))[0])] == [
        [3.0],
        [False],
    ]
    rows = ((1.0, 2.0), (3.0, 4.0), (5.0, 6.0), (7.0, 8.0))
    assert load(rows, [0, 1, 0, 1]).spec.kind == "vector"  # rows, not columns
    assert load(tuple(map(np.array, rows)), [0, 1, 0, 1]).spec.kind == "vector"
    for inputs, options, message in (
        (
            {"a": [1.0, 2.0], "b": [1.0]},
            {},
            r"input 'b' must have a row for each of the 2 examples, got the shape \(1,\)",
        ),
        ({"a": [1.0, np.nan]}, {}, "input 'a' must be finite, got NaN or infinity"),
        ({"a": ["x", "y"]}, {}, "input 'a' must be numbers, got values of type <U1"),
        ({"a": [1.0, 2.0]}, {"kind": "vector"}, "`kind` and `features` are about one input, but there are several"),
        ({"a": [1.0, 2.0, 3.0]}, {}, "`targets` must have one entry for each of the 3 inputs, got 2"),
    ):
        with pytest.raises(DataError, match=message):
            from_arrays(inputs, [0.5, 1.5], **options)


def test_each_input_is_standardized_as_if_it_were_alone():
    draw = torch.Generator().manual_seed(0)
    image, series, vector = (3 + 2 * torch.randn(9, *s, generator=draw) for s in ((3, 4, 4), (5, 2), (6,)))
    data = from_arrays((image, series, vector), torch.arange(9.0))
    prepare = SeveralPreprocess.fit(data)
    parts = prepare.prepared.unpack(prepare.apply(data.inputs))
    for part, axes in zip(parts, ((0, 2, 3), (0, 1), (0,)), strict=True):
        assert part.dtype == torch.float32
        assert torch.allclose(part.mean(axes), torch.zeros(()), atol=1e-6)
        assert torch.allclose(part.std(axes, correction=0), torch.ones(()), atol=1e-6)
    assert torch.allclose(prepare.targets(data.targets).std(correction=0), torch.ones(()))
    assert SeveralPreprocess.from_dict(prepare.as_dict()) == prepare
    with pytest.raises(DataError, match=r"examples must have 256 bytes, as in training, got \(3,\)"):
        prepare.keep(torch.zeros(1, 3, dtype=torch.uint8))


def test_items_of_several_inputs_must_be_alike():
    class Items(list):
        pass

    rows = Items([{"a": torch.zeros(2), "b": 1.0, "y": i % 2} for i in range(4)])
    assert WrappedDataset(rows).spec.several == (("a", (2,), "float32"), ("b", (), "float64"))
    rows[3]["a"] = torch.zeros(3)
    with pytest.raises(DataError, match=r"Items\[3\] has a \(3, float32\), b .*, but index 0 has a \(2, float32\)"):
        WrappedDataset(rows).take(torch.tensor([3]))
    rows[0]["a"] = "photo.png"
    with pytest.raises(DataError, match=r"input 'a' of Items\[0\] must be numbers, got values of type <U9"):
        WrappedDataset(rows)
