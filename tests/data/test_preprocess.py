import json
import math
import os
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from lamina._errors import ArgumentError, DataError
from lamina.data.dataset import ArrayDataset, Spec, Subset
from lamina.data.load import load
from lamina.data.preprocess import Preprocess, _with_channels, resized
from lamina.data.synthetic import blobs, linear, million, truth_table

NAN = float("nan")
FITTED = {
    "digits": lambda: (load("digits"), (1, 28, 28)),
    "rgb": lambda: (load("digits"), (3, 5, 9)),
    "iris": lambda: (load("iris"), None),
    "million": lambda: (million(300), None),
    "linear": lambda: (linear(50), None),
    "xor": lambda: (truth_table("xor"), None),
}


def vectors(rows, targets=None):
    rows = torch.as_tensor(rows)
    if targets is None:
        return ArrayDataset(
            rows, torch.arange(len(rows)) % 2, Spec("vector", "classification", tuple(rows.shape[1:]), 2)
        )
    targets = torch.as_tensor(targets)
    outputs = 1 if targets.ndim == 1 else targets.shape[1]
    return ArrayDataset(rows, targets, Spec("vector", "regression", tuple(rows.shape[1:]), outputs))


def table(rows, levels):
    rows = torch.tensor(rows, dtype=torch.float64)
    names = tuple("abcdef"[: rows.shape[1]])
    spec = Spec("table", "classification", (rows.shape[1],), 2, features=names, levels=levels)
    return ArrayDataset(rows, torch.arange(len(rows)) % 2, spec)


def pictures(images, classes=2):
    spec = Spec("image", "classification", tuple(images.shape[1:]), classes)
    return ArrayDataset(images, torch.arange(len(images)) % classes, spec)


# What fitting looks at


@pytest.mark.notes("N1.66")
@pytest.mark.parametrize("name", FITTED)
def test_only_the_training_part_has_an_influence(name):
    data, inputs = FITTED[name]()
    if data.spec.complete:
        return
    split = data.split(seed=1)
    prepare = Preprocess.fit(split.train, inputs)
    changed, targets = data.inputs.clone(), data.targets.clone()
    for part in (split.validation, split.open_test()):
        changed[part.indices] = changed[part.indices] * 0 + 7
        targets[part.indices] = 0
    other = ArrayDataset(changed, targets, data.spec)
    assert Preprocess.fit(Subset(other, split.train.indices), inputs) == prepare
    assert Preprocess.fit(other, inputs) != prepare
    assert len(prepare.mean) > 0


@pytest.mark.parametrize("name", FITTED)
def test_json_round_trip_is_exact(name):
    data, inputs = FITTED[name]()
    prepare = Preprocess.fit(data, inputs)
    again = Preprocess.from_dict(json.loads(json.dumps(prepare.as_dict())))
    assert again == prepare
    assert again.apply(data.inputs).equal(prepare.apply(data.inputs))


def test_a_newer_version_is_refused():
    values = Preprocess.fit(blobs(10)).as_dict()
    with pytest.raises(DataError, match=r"a preprocessing has the unknown fields \['whiten'\]: a newer Lamina"):
        Preprocess.from_dict({**values, "whiten": True})


def test_nothing_to_fit_on():
    with pytest.raises(DataError, match="preprocessing must be fitted on at least 1 training example, got 0"):
        Preprocess.fit(Subset(blobs(10), torch.zeros(0, dtype=torch.int64)))
    with pytest.raises(ArgumentError, match="`resize` must be one of 'fit', 'crop', 'stretch', got 'bend'"):
        Preprocess.fit(load("digits"), resize="bend")


# Vectors


def test_vectors_are_standardized_as_by_scikit_learn(generator):
    rows = torch.randn(5000, 3, generator=generator, dtype=torch.float64) * torch.tensor([1e-3, 1.0, 1e4]) + 5
    prepare = Preprocess.fit(vectors(rows))
    scaler = StandardScaler().fit(rows.numpy())
    assert np.allclose(prepare.mean, scaler.mean_, rtol=1e-12) and np.allclose(prepare.std, scaler.scale_, rtol=1e-12)
    assert torch.allclose(prepare.apply(rows), torch.from_numpy(scaler.transform(rows.numpy())).float(), atol=1e-6)


def test_a_mean_far_from_zero_does_not_cancel(generator):
    rows = 1e8 + torch.randn(4000, 1, generator=generator, dtype=torch.float64)
    prepare = Preprocess.fit(vectors(rows))
    assert math.isclose(prepare.std[0], float((rows - 1e8).std(correction=0)), rel_tol=1e-6)


def test_constant_features_become_zero():
    rows = torch.tensor([[0.1, 3.0, 0.0]] * 7 + [[0.1, 5.0, 0.0]], dtype=torch.float64)
    prepare = Preprocess.fit(vectors(rows))
    assert prepare.std[0] == prepare.std[2] == 1.0
    assert prepare.apply(rows)[:, [0, 2]].abs().max() < 1e-7
    assert torch.allclose(prepare.apply(rows)[-1, 1], torch.tensor(7 / math.sqrt(7)))


def test_truth_tables_stay_as_they_are_and_others_may():
    table = truth_table("or")
    assert Preprocess.fit(table).apply(table.inputs).equal(table.inputs)
    assert Preprocess.fit(table, standardize=True).apply(table.inputs).unique().tolist() == [-1, 1]
    data = blobs(10)
    assert Preprocess.fit(data, standardize=False).apply(data.inputs).equal(data.inputs)


def test_vectors_take_any_shape_of_their_size():
    data = vectors(torch.arange(24.0).reshape(4, 6))
    assert Preprocess.fit(data, (1, 2, 3)).apply(data.inputs).shape == (4, 1, 2, 3)
    assert Preprocess.fit(data, 6).inputs == (6,)
    with pytest.raises(DataError, match=r"takes inputs of shape \(784,\), but these data have 6 numbers .* inputs=6"):
        Preprocess.fit(data, 784)


@pytest.mark.parametrize("bad", [NAN, math.inf])
def test_inputs_and_targets_must_be_finite(bad):
    with pytest.raises(DataError, match="inputs and real targets must be finite, got NaN or infinity"):
        Preprocess.fit(vectors([[1.0], [bad]]))
    with pytest.raises(DataError, match="inputs and real targets must be finite, got NaN or infinity"):
        Preprocess.fit(vectors([[1.0], [2.0]], [1.0, bad]))


def test_another_shape_is_refused():
    prepare = Preprocess.fit(blobs(10))
    with pytest.raises(DataError, match=r"examples must have the shape \(2,\) of the training data, got \(3,\)"):
        prepare.apply(torch.zeros(4, 3))


# Targets


def test_real_targets_are_standardized_and_given_back_in_their_units():
    data = vectors([[0.0], [1.0], [2.0], [3.0]], [10.0, 20.0, 30.0, 40.0])
    prepare = Preprocess.fit(data)
    assert prepare.target_mean == (25.0,) and math.isclose(prepare.target_std[0], math.sqrt(125))
    targets = prepare.targets(data.targets)
    assert targets.shape == (4, 1) and targets.dtype == torch.float32
    assert torch.allclose(targets[:, 0], torch.tensor([-15.0, -5, 5, 15]) / math.sqrt(125))
    assert torch.allclose(prepare.untargets(targets)[:, 0], data.targets)
    assert torch.allclose(prepare.untargets(targets[:, 0]), data.targets)


def test_several_outputs_and_constant_ones():
    data = vectors([[0.0], [1.0]], [[1.0, 5.0], [3.0, 5.0]])
    prepare = Preprocess.fit(data)
    assert prepare.target_mean == (2.0, 5.0) and prepare.target_std == (1.0, 1.0)
    assert prepare.targets(data.targets).tolist() == [[-1, 0], [1, 0]]


def test_labels_and_logits_pass():
    data = blobs(10)
    prepare = Preprocess.fit(data)
    assert prepare.targets(data.targets.int()).dtype == torch.int64
    logits = torch.randn(10, 4, generator=torch.Generator().manual_seed(0))
    assert prepare.untargets(logits) is logits


def test_structured_targets():
    images = load("digits").inputs[:30]
    prepare = Preprocess.fit(load((images, images), task="structured"))
    targets = prepare.targets(images)
    assert targets.shape == (30, 1, 8, 8) and targets.max() == 1 and targets.min() == 0
    assert prepare.untargets(targets).round().to(torch.uint8).equal(images)
    fields = torch.arange(12.0).reshape(3, 2, 2)
    prepare = Preprocess.fit(load((fields, fields), task="structured", kind="vector"))
    assert abs(prepare.targets(fields).mean()) < 1e-6
    assert torch.allclose(prepare.untargets(prepare.targets(fields)), fields, atol=1e-6)


# Tables


def test_missing_values_become_the_mean_and_a_mark():
    data = table([[1.0, 4.0], [NAN, 6.0], [3.0, 8.0]], ((), ()))
    prepare = Preprocess.fit(data)
    assert prepare.names == ("a", "b", "a missing") and prepare.inputs == (3,)
    rows = prepare.apply(data.inputs)
    expected = torch.tensor([[-1.0, -math.sqrt(1.5), 0], [0, 0, 1], [1, math.sqrt(1.5), 0]])
    assert torch.allclose(rows, expected)
    new = prepare.apply(torch.tensor([[NAN, NAN]], dtype=torch.float64))
    assert new.tolist() == [[0.0, 0.0, 1.0]]


def test_a_table_may_keep_its_numbers():
    data = table([[1.0, 4.0], [NAN, 6.0], [3.0, 8.0]], ((), ()))
    prepare = Preprocess.fit(data, standardize=False)
    assert prepare.apply(data.inputs).tolist() == [[1, 4, 0], [2, 6, 1], [3, 8, 0]]
    assert Preprocess.fit(load("spam")).names[0] == "free"


def test_categories_become_columns_of_the_values_in_the_training_part():
    data = table([[0.0, 5.0], [2.0, 7.0], [NAN, 5.0], [0.0, 7.0]], (("red", "green", "blue"), ()))
    prepare = Preprocess.fit(data)
    assert prepare.names == ("b", "a=red", "a=blue", "a missing") and prepare.seen == ((0, 2), ())
    assert prepare.apply(data.inputs).tolist() == [[-1, 1, 0, 0], [1, 0, 1, 0], [-1, 0, 0, 1], [1, 1, 0, 0]]


def test_an_unknown_category_is_none_of_the_known_and_is_counted():
    data = table([[0.0], [2.0], [0.0], [2.0]], (("red", "green", "blue"),))
    prepare = Preprocess.fit(data)
    rows = torch.tensor([[1.0], [2.0], [-1.0], [NAN]], dtype=torch.float64)
    assert prepare.apply(rows).tolist() == [[0, 0], [0, 1], [0, 0], [0, 0]]
    assert prepare.unknown(rows) == {"a": 2} and prepare.unknown(data.inputs) == {} and prepare.notes == ()
    assert prepare.source(ArrayDataset(rows, torch.tensor([0, 1, 0, 1]), data.spec)).inputs[0].tolist() == [0, 0]


def test_an_unknown_category_may_be_refused():
    data = table([[0.0], [2.0], [0.0], [2.0]], (("red", "green", "blue"),))
    strict = ArrayDataset(data.inputs, data.targets, replace(data.spec, unknown="error"))
    prepare = Preprocess.from_dict(Preprocess.fit(strict).as_dict())
    message = r"column 'a' holds 'green', which is not in the training rows \(known values are 'red', 'blue'\)"
    with pytest.raises(DataError, match=message + ": correct the value or leave it empty"):
        prepare.apply(torch.tensor([[1.0]], dtype=torch.float64))
    with pytest.raises(DataError, match="column 'a' holds the value number 9"):
        prepare.apply(torch.tensor([[9.0]], dtype=torch.float64))
    with pytest.raises(ArgumentError, match="`unknown` must be one of 'other', 'error', got 'no'"):
        replace(data.spec, unknown="no")


def shops(counts, **spec):
    """Make a table of one column in which category j has counts[j] rows."""
    values = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts)).double()[:, None]
    about = Spec(
        "table", "regression", (1,), 1, features=("shop",), levels=(tuple(map(str, range(len(counts)))),), **spec
    )
    return ArrayDataset(values, values[:, 0].float(), about)


def test_rare_categories_share_an_input_with_unknown_ones():
    data = shops([300, 5, 4, 196, 1])  # 506 rows: fewer than 5 of them are few
    prepare = Preprocess.fit(data)
    assert prepare.names == ("shop=0", "shop=1", "shop=3", "shop other") and prepare.pooled == ((2, 4),)
    assert prepare.columns == {"shop": (0, 1, 2, 3)} and prepare.inputs == (4,)
    few = "Categories with fewer than 5 training rows (in a small table, 1 % of them)"
    assert prepare.notes == (f"{few} share one input per column with unknown ones: 2 of 'shop'.",)
    rows = torch.tensor([[1.0], [2.0], [4.0], [-1.0], [NAN]], dtype=torch.float64)
    assert prepare.apply(rows).tolist() == [[0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
    assert prepare.unknown(rows) == {"shop": 1}
    strict = Preprocess.fit(shops([300, 5, 4, 196, 1], unknown="error"))
    assert strict.apply(rows[:3]).equal(prepare.apply(rows[:3]))
    with pytest.raises(DataError, match="column 'shop' holds the value number -1, which is not in the training rows"):
        strict.apply(rows)


def test_training_rows_with_a_category_without_a_number_count_as_other():
    data = shops([300, 300])
    rows = torch.cat([data.inputs, torch.full((2, 1), -1.0, dtype=torch.float64)])
    prepare = Preprocess.fit(ArrayDataset(rows, rows[:, 0].float(), data.spec))
    assert prepare.names == ("shop=0", "shop=1") and prepare.apply(rows[-1:]).tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("counts", "pooled"),
    [([2, 1, 1], ()), ([99, 1], ()), ([150, 1], (1,)), ([150, 2], ()), ([398, 2, 4], (1, 2)), ([1000, 4, 5], (1,))],
)
def test_in_a_small_table_one_percent_of_the_rows_is_enough(counts, pooled):
    assert Preprocess.fit(shops(counts)).pooled == (pooled,)


def test_a_column_has_a_limited_number_of_inputs():
    counts = [5] * 700 + [6] * 400
    prepare = Preprocess.fit(shops(counts))
    assert prepare.inputs == (1001,) and prepare.pooled == (tuple(range(600, 700)),)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=30), st.integers(0, 2**31))
def test_categories_are_encoded_as_by_scikit_learn(counts, seed):
    data = shops([600, *counts])
    order = torch.randperm(len(data), generator=torch.Generator().manual_seed(seed))
    prepare = Preprocess.fit(ArrayDataset(data.inputs[order], data.targets[order], data.spec))
    encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=5, sparse_output=False)
    encoder.fit(data.inputs.numpy())
    new = torch.cat([data.inputs, torch.full((2, 1), 99.0, dtype=torch.float64)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns of what it is asked to do
        expected = encoder.transform(new.numpy())
    assert np.array_equal(prepare.apply(new).numpy(), expected)


def test_each_prepared_column_belongs_to_a_column():
    data = table([[0.0, 5.0, 1.0], [2.0, NAN, 0.0], [NAN, 5.0, 1.0]], (("red", "green", "blue"), (), ("no", "yes")))
    prepare = Preprocess.fit(data)
    assert prepare.names == ("b", "a=red", "a=blue", "c=no", "c=yes", "a missing", "b missing")
    assert prepare.columns == {"a": (1, 2, 5), "b": (0, 6), "c": (3, 4)}
    iris = load("iris")
    assert Preprocess.fit(iris).columns == {name: (i,) for i, name in enumerate(iris.spec.features)}


def test_a_table_without_numbers_and_one_whose_column_is_all_missing_in_training():
    prepare = Preprocess.fit(table([[0.0], [1.0]], (("x", "y"),)))
    assert prepare.apply(torch.tensor([[1.0]], dtype=torch.float64)).tolist() == [[0.0, 1.0]]
    prepare = Preprocess.fit(table([[NAN, 1.0], [NAN, 2.0]], ((), ())))
    assert prepare.apply(torch.tensor([[5.0, 1.5]], dtype=torch.float64)).tolist() == [[5.0, 0.0, 0.0]]


def test_a_table_of_pixels_may_become_a_picture():
    data = table([[1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 9.0]], ((), (), (), ()))
    assert Preprocess.fit(data, (1, 2, 2)).apply(data.inputs).shape == (2, 1, 2, 2)


# Pictures


def test_pictures_are_normalized_by_channel_exactly(generator):
    images = torch.randint(0, 256, (50, 3, 7, 5), generator=generator, dtype=torch.uint8)
    images[:, 2] = 17
    prepare = Preprocess.fit(pictures(images))
    values = images.double() / 255
    assert np.allclose(prepare.mean, values.mean((0, 2, 3)), rtol=1e-14)
    assert np.allclose(prepare.std[:2], values.std((0, 2, 3), correction=0)[:2], rtol=1e-13) and prepare.std[2] == 1.0
    prepared = prepare.apply(images)
    assert torch.allclose(prepared[:, :2].mean((0, 2, 3)), torch.zeros(2), atol=1e-5)
    assert torch.allclose(prepared[:, :2].std((0, 2, 3), correction=0), torch.ones(2), atol=1e-5)
    assert prepared[:, 2].abs().max() < 1e-6
    mean, std = (torch.tensor(numbers)[:, None, None] for numbers in (prepare.mean, prepare.std))
    assert torch.allclose(prepared, (values.float() - mean) / std, atol=1e-5)


def test_digits_grow_from_8_to_28_as_bytes():
    data = load("digits")
    prepare = Preprocess.fit(data, (1, 28, 28))
    kept = prepare.keep(data.inputs[:20])
    plain = torch.nn.functional.interpolate(data.inputs[:20].double(), (28, 28), mode="bilinear", align_corners=False)
    assert kept.dtype == torch.uint8 and kept.shape == (20, 1, 28, 28) and prepare.kept_dtype == torch.uint8
    assert (kept.double() - plain).abs().max() <= 0.5 + 1e-4
    # constant pictures and corners are kept
    assert kept[:, :, 0, 0].equal(data.inputs[:20, :, 0, 0]) and kept[:, :, -1, -1].equal(data.inputs[:20, :, -1, -1])
    assert prepare.apply(data.inputs[:2]).shape == (2, 1, 28, 28)


@pytest.mark.parametrize(
    ("stored", "wanted", "kept", "prepared"),
    [
        ((1, 8, 8), None, (1, 8, 8), (1, 8, 8)),
        ((1, 8, 8), 64, (1, 8, 8), (64,)),
        ((1, 8, 8), (64,), (1, 8, 8), (64,)),
        ((1, 8, 8), 784, (1, 28, 28), (784,)),
        ((3, 8, 8), 3072, (3, 32, 32), (3072,)),
        ((3, 8, 8), 784, (1, 28, 28), (784,)),
        ((1, 8, 8), 3072, (3, 32, 32), (3072,)),
        ((1, 8, 8), (3, 16, 12), (3, 16, 12), (3, 16, 12)),
        ((3, 4, 2), (1, 2, 4), (1, 2, 4), (1, 2, 4)),
        ((1, 8, 8), (8, 8), (1, 8, 8), (8, 8)),
    ],
)
def test_the_shape_that_a_network_takes(stored, wanted, kept, prepared):
    data = pictures(torch.arange(4 * math.prod(stored)).reshape(4, *stored).to(torch.uint8))
    prepare = Preprocess.fit(data, wanted)
    assert (prepare.kept, prepare.inputs) == (kept, prepared)
    assert prepare.apply(data.inputs).shape == (4, *prepared)


def test_shapes_that_cannot_be():
    data = load("digits")
    with pytest.raises(DataError, match=r"pictures of shape \(1, 8, 8\) cannot be given the shape \(100000,\) that"):
        Preprocess.fit(data, 100_000)
    with pytest.raises(DataError, match=r"pictures of shape \(1, 8, 8\) cannot be given the shape \(5, 5\)"):
        Preprocess.fit(data, (5, 5))
    with pytest.raises(DataError, match="pictures of 1 channels cannot be given 2: only 1"):
        Preprocess.fit(data, (2, 8, 8))


def test_gray_and_rgb_as_pillow_does(generator):
    rgb = torch.randint(0, 256, (20, 3, 6, 6), generator=generator, dtype=torch.uint8)
    expected = [np.asarray(Image.fromarray(image.permute(1, 2, 0).numpy()).convert("L")) for image in rgb]
    gray = _with_channels(rgb, 1)
    assert gray[:, 0].equal(torch.from_numpy(np.stack(expected))) and gray.dtype == torch.uint8
    assert _with_channels(gray, 3).equal(gray.repeat(1, 3, 1, 1)) and _with_channels(gray, 1) is gray
    floats = _with_channels(rgb.double() / 255, 1)
    assert (floats * 255 - gray).abs().max() <= 0.5 + 1e-3


def test_float_pictures_keep_their_scale(generator):
    images = torch.rand(20, 1, 4, 4, generator=generator)
    prepare = Preprocess.fit(pictures(images), (1, 8, 8))
    assert prepare.scale == 1 and prepare.kept_dtype == torch.float32
    prepared = prepare.apply(images)
    assert abs(float(prepared.mean())) < 1e-5 and abs(float(prepared.std(correction=0)) - 1) < 1e-5


def test_floats_where_bytes_were_trained_on_are_refused():
    prepare = Preprocess.fit(load("digits"))
    with pytest.raises(DataError, match=r"pictures must be bytes \(0 to 255\) as in training, got torch.float32"):
        prepare.apply(torch.rand(1, 1, 8, 8, generator=torch.Generator().manual_seed(0)))


def test_policies_for_other_proportions():
    wide = torch.arange(1, 9, dtype=torch.uint8).reshape(1, 1, 1, 8).repeat(1, 1, 4, 1) * 10  # 4 high, 8 wide
    fit = resized(wide, (4, 4), "fit")
    assert fit.shape == (1, 1, 4, 4) and fit[0, 0, 0].tolist() == fit[0, 0, 3].tolist() == [0, 0, 0, 0]
    assert fit[0, 0, 1].equal(resized(wide, (2, 4), "stretch")[0, 0, 0])
    assert resized(wide, (4, 4), "crop").tolist() == wide[:, :, :, 2:6].tolist()
    stretch = resized(wide, (4, 4), "stretch")[0, 0, 0].tolist()
    assert stretch == sorted(stretch) and abs(stretch[1] - 35) <= 1 and abs(stretch[2] - 55) <= 1
    tall = wide.transpose(2, 3)
    for policy in ("fit", "crop", "stretch"):
        assert resized(tall, (6, 4), policy).equal(resized(wide, (4, 6), policy).transpose(2, 3))
    with pytest.raises(ArgumentError, match="`policy` must be one of 'fit', 'crop', 'stretch', got 'bend'"):
        resized(wide, (4, 4), "bend")


def test_shrinking_is_smooth_as_in_pillow(generator):
    images = torch.randint(0, 256, (4, 1, 32, 32), generator=generator, dtype=torch.uint8)
    ours = resized(images, (8, 8))
    theirs = [Image.fromarray(image[0].numpy()).resize((8, 8), Image.Resampling.BILINEAR) for image in images]
    assert (
        ours[:, 0].int() - torch.from_numpy(np.stack([np.asarray(image) for image in theirs])).int()
    ).abs().max() <= 1


def test_a_policy_is_stored_and_used():
    images = torch.arange(2 * 4 * 8).reshape(2, 1, 4, 8).to(torch.uint8)
    for policy in ("fit", "crop", "stretch"):
        prepare = Preprocess.fit(pictures(images), (1, 4, 4), resize=policy)
        assert prepare.resize == policy and prepare.keep(images).equal(resized(images, (4, 4), policy))


def test_many_undecoded_pictures_are_sampled(monkeypatch):
    class Undecoded:
        def __init__(self, inner):
            self.inner, self.spec, self.asked = inner, inner.spec, 0

        def __len__(self):
            return len(self.inner)

        def take(self, indices):
            self.asked += len(indices)
            return self.inner.take(indices)

    monkeypatch.setattr("lamina.data.preprocess._ENOUGH", 100)
    data = Undecoded(load("digits"))
    prepare = Preprocess.fit(data)
    assert data.asked == 101 and abs(prepare.mean[0] - Preprocess.fit(load("digits")).mean[0]) < 0.02


def test_no_warning_for_known_data():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = million(600)
        split = data.split()
        Preprocess.fit(split.train).source(split.validation)


@pytest.mark.skipif("LAMINA_DATA" not in os.environ, reason="needs LAMINA_DATA")
@pytest.mark.parametrize(
    ("name", "mean", "std"),
    [("mnist", 0.1307, 0.3081), ("fashion-mnist", 0.2860, 0.3530)],
)
def test_published_means(name, mean, std):
    prepare = Preprocess.fit(load(name))
    assert abs(prepare.mean[0] - mean) < 5e-5 and abs(prepare.std[0] - std) < 5e-5


def test_a_mean_halfway_between_two_bytes_is_the_larger_one():
    """From 8 to 28 pixels weights are multiples of 1/14: halves come out with rounding errors, in any order of sums."""
    bytes_ = torch.randint(256, (40, 1, 8, 8), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    weights = torch.nn.functional.interpolate(
        torch.eye(8, dtype=torch.float64)[None, None], (28, 8), mode="bilinear", align_corners=False, antialias=True
    )[0, 0]
    means = weights @ bytes_.double() @ weights.T
    halves = (means % 1 - 0.5).abs() < 1e-9
    assert halves.double().mean() > 0.01
    found = resized(bytes_, (28, 28), "stretch")
    assert found[halves].equal((means[halves] + 0.5).round().to(torch.uint8))
    assert found.equal((means + 1e-6 + 0.5).floor().to(torch.uint8))
