import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA

from lamina._errors import ArgumentError, ShapeError
from lamina.classical import pca

F64 = torch.float64


def cloud(seed, count, features):
    g = torch.Generator().manual_seed(seed)
    mixed = torch.randn(count, features, generator=g, dtype=F64) @ torch.randn(
        features, features, generator=g, dtype=F64
    )
    return mixed + torch.randn(features, generator=g, dtype=F64)


@pytest.mark.notes("N1.29")
def test_an_ellipse_by_hand():
    points = torch.tensor([[3.0, 1.0], [-1.0, 1.0], [1.0, 2.0], [1.0, 0.0]], dtype=F64)
    result = pca.fit(points)
    assert result.mean.tolist() == [1.0, 1.0]
    torch.testing.assert_close(result.components, torch.eye(2, dtype=F64), rtol=0, atol=1e-14)
    torch.testing.assert_close(result.explained_variance, torch.tensor([2.0, 0.5], dtype=F64), rtol=0, atol=1e-14)
    assert result.total_variance == pytest.approx(2.5, abs=1e-14)
    assert pca.fit(points, 1).transform(points).flatten().tolist() == pytest.approx([2, -2, 0, 0], abs=1e-14)


@pytest.mark.notes("N1.29")
@given(seed=st.integers(0, 10_000), count=st.integers(2, 12), features=st.integers(1, 6), data=st.data())
@settings(max_examples=50, deadline=None)
def test_orthonormal_sorted_complete_and_the_error_is_the_discarded_variance(seed, count, features, data):
    points = cloud(seed, count, features)
    kept = data.draw(st.integers(1, min(count, features)))
    full, part = pca.fit(points), pca.fit(points, kept)
    eye = torch.eye(min(count, features), dtype=F64)
    torch.testing.assert_close(full.components @ full.components.T, eye, rtol=0, atol=1e-12)
    assert (full.explained_variance.diff() <= 0).all()
    total = points.var(0, correction=0).sum().item()
    assert full.explained_variance.sum().item() == pytest.approx(total, rel=1e-12)
    assert part.total_variance == pytest.approx(total, rel=1e-12)
    error = (points - part.reconstruct(part.transform(points))).square().sum(1).mean().item()
    discarded = total - part.explained_variance.sum().item()
    assert error == pytest.approx(discarded, abs=1e-11 * total)
    torch.testing.assert_close(full.reconstruct(full.transform(points)), points, rtol=0, atol=1e-11)


@pytest.mark.notes("N1.29")
@given(seed=st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_parity_with_scikit_learn_up_to_sign(seed):
    points = cloud(seed, 30, 4)
    ours, theirs = pca.fit(points, 3), PCA(3, svd_solver="full").fit(points.numpy())
    np.testing.assert_allclose(ours.components.abs().numpy(), np.abs(theirs.components_), atol=1e-9)
    np.testing.assert_allclose((ours.components.numpy() * theirs.components_).sum(1).__abs__(), 1, atol=1e-12)
    np.testing.assert_allclose(ours.explained_variance.numpy() * 30 / 29, theirs.explained_variance_, rtol=1e-11)
    np.testing.assert_allclose(
        ours.transform(points).abs().numpy(), np.abs(theirs.transform(points.numpy())), atol=1e-8
    )


def test_the_sign_is_fixed():
    points = cloud(0, 20, 5)
    components = pca.fit(points).components
    assert (components.gather(1, components.abs().argmax(1, keepdim=True)) > 0).all()
    torch.testing.assert_close(pca.fit(-points).components, components, rtol=0, atol=1e-12)


def test_one_point_has_no_variance():
    result = pca.fit(torch.tensor([[1.0, 2.0]], dtype=F64))
    assert result.total_variance == 0 and result.explained_variance.tolist() == [0]


def test_wrong_arguments(as_user):
    points = cloud(0, 6, 3)
    with pytest.raises(ArgumentError, match=r"`components` must be in \[1, 3\], got 4"):
        pca.fit(points, 4)
    with pytest.raises(ArgumentError, match=r"`components` must be in \[1, 3\], got 0"):
        pca.fit(points, 0)
    with pytest.raises(ArgumentError, match="`points` must be finite, got 18 NaN"):
        pca.fit(points * float("nan"))
    with pytest.raises(ShapeError, match="`points` must hold at least 1 example, got 0"):
        pca.fit(points[:0])
