import numpy as np
import pytest
import scipy.linalg
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import ArgumentError, ShapeError
from lamina.classical import linear_regression as lr

F64 = torch.float64


def example(examples=8, features=3, seed=0):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(examples, features, generator=g, dtype=F64), torch.randn(examples, generator=g, dtype=F64)


@pytest.mark.notes("N1.22")
def test_exact_data_are_fitted_exactly():
    U, _ = example()
    W = torch.tensor([1.0, -2.0, 0.5], dtype=F64)
    result = lr.fit(U, U @ W)
    torch.testing.assert_close(result.weight, W, rtol=0, atol=1e-14)
    torch.testing.assert_close(result.predict(U), U @ W, rtol=0, atol=1e-14)
    assert result.loss < 1e-28 and result.rank == 3


@pytest.mark.notes("N1.24", "N1.28")
def test_the_two_scalings_differ_by_the_number_of_examples():
    U, S = example()
    W = torch.tensor([0.3, -0.7, 1.1], dtype=F64)
    mean, total = lr.squared_error(W, U, S), lr.squared_error(W, U, S, "sum")
    torch.testing.assert_close(total, 8 * mean, rtol=1e-14, atol=0)
    torch.testing.assert_close(mean, torch.nn.MSELoss()(U @ W, S) / 2, rtol=1e-14, atol=0)
    by_hand = sum((sum(u * w for u, w in zip(row, W, strict=True)) - s) ** 2 for row, s in zip(U, S, strict=True)) / 16
    torch.testing.assert_close(mean, by_hand, rtol=1e-14, atol=0)


@pytest.mark.notes("N1.28")
def test_stable_steps_of_the_example_and_one_minimizer(as_user):
    """The data of check `mse_scaling`: 0.190 for the 1/2 loss, 1.523 for the 1/(2N) loss."""
    U, S = example()
    assert lr.stable_step(U, "sum").item() == pytest.approx(0.190, abs=5e-4)
    assert lr.stable_step(U, "mean").item() == pytest.approx(1.523, abs=5e-4)
    for scaling in lr.SCALINGS:
        bound = lr.stable_step(U, scaling)
        ends = []
        for factor in (0.5, 0.99, 1.01):
            W = torch.zeros(3, dtype=F64)
            for _ in range(2500):
                W = W - factor * bound * lr.gradient(W, U, S, scaling)
            ends.append(W)
        torch.testing.assert_close(ends[0], lr.fit(U, S).weight, rtol=0, atol=1e-12)
        torch.testing.assert_close(ends[1], lr.fit(U, S).weight, rtol=0, atol=1e-12)
        assert ends[2].norm() > 1e10


@pytest.mark.notes("N1.25")
@given(seed=st.integers(0, 10_000), scaling=st.sampled_from(lr.SCALINGS))
@settings(max_examples=50, deadline=None)
def test_the_loss_is_convex_and_not_negative(seed, scaling):
    U, S = example(5, 4, seed)
    one, other = torch.randn(2, 4, generator=torch.Generator().manual_seed(seed + 1), dtype=F64)
    loss = lr.squared_error
    assert torch.linalg.eigvalsh(lr.hessian(U, scaling)).min() >= -1e-12
    assert loss(one, U, S, scaling) >= 0
    chord = (loss(one, U, S, scaling) + loss(other, U, S, scaling)) / 2
    assert loss((one + other) / 2, U, S, scaling) <= chord + 1e-12
    # Quadratic: the second difference is the Hessian in that direction, wherever it is taken.
    bend = 4 * (chord - loss((one + other) / 2, U, S, scaling)) * 2
    torch.testing.assert_close(bend, (one - other) @ lr.hessian(U, scaling) @ (one - other), rtol=1e-9, atol=1e-9)


@pytest.mark.notes("N1.25", "N1.26")
@pytest.mark.parametrize("scaling", lr.SCALINGS)
@pytest.mark.parametrize("outputs", [(), (2,)])
def test_gradient_and_hessian_equal_autograd(scaling, outputs):
    U, _ = example()
    g = torch.Generator().manual_seed(1)
    S, W = torch.randn(8, *outputs, generator=g, dtype=F64), torch.randn(3, *outputs, generator=g, dtype=F64)
    reference = torch.func.grad(lr.squared_error)(W, U, S, scaling)
    torch.testing.assert_close(lr.gradient(W, U, S, scaling), reference, rtol=0, atol=1e-13)
    if not outputs:
        second = torch.func.jacrev(torch.func.grad(lr.squared_error))(W, U, S, scaling)
        torch.testing.assert_close(lr.hessian(U, scaling), second, rtol=0, atol=1e-13)


@pytest.mark.notes("N1.26")
def test_gradient_is_the_printed_formula():
    U, S = example()
    W = torch.tensor([1.0, 2.0, 3.0], dtype=F64)
    torch.testing.assert_close(lr.gradient(W, U, S, "sum"), U.T @ U @ W - U.T @ S, rtol=0, atol=1e-13)


@pytest.mark.notes("N1.27")
def test_full_rank_normal_equations_and_least_squares_agree():
    U, S = example(50, 4)
    W = lr.fit(U, S).weight
    assert lr.gradient(W, U, S, "sum").norm() < 1e-10
    torch.testing.assert_close(lr.normal_equations(U, S), W, rtol=0, atol=1e-13)
    torch.testing.assert_close(W.numpy(), scipy.linalg.lstsq(U.numpy(), S.numpy())[0], rtol=0, atol=1e-13)
    torch.testing.assert_close(W, torch.linalg.lstsq(U, S[:, None]).solution[:, 0], rtol=0, atol=1e-13)


@pytest.mark.notes("N1.27")
def test_a_duplicated_column_gives_the_solution_of_least_norm():
    """The data of check `least_squares_singular`."""
    rng = np.random.default_rng(0)
    U = rng.normal(size=(6, 3))
    U = torch.from_numpy(np.c_[U, U[:, 0]])
    S = torch.from_numpy(rng.normal(size=6))
    result = lr.fit(U, S)
    assert result.rank == 3 and result.condition == float("inf")
    assert lr.gradient(result.weight, U, S, "sum").abs().max() < 1e-12
    torch.testing.assert_close(
        result.weight.numpy(), np.linalg.lstsq(U.numpy(), S.numpy(), rcond=None)[0], rtol=0, atol=1e-13
    )
    assert result.weight[0] == pytest.approx(result.weight[3].item(), abs=1e-14)
    other = result.weight + torch.tensor([1.0, 0.0, 0.0, -1.0], dtype=F64)
    torch.testing.assert_close(lr.squared_error(other, U, S), lr.squared_error(result.weight, U, S))
    assert other.norm() > result.weight.norm()
    with pytest.raises(ArgumentError, match=r"linearly independent columns \(4\), got rank 3: .* use fit"):
        lr.normal_equations(U, S)


@pytest.mark.notes("N1.27")
def test_fewer_examples_than_features_never_have_an_inverse():
    U, S = example(3, 5)
    result = lr.fit(U, S)
    assert result.rank == 3 and result.loss < 1e-28
    assert torch.linalg.matrix_rank(U.T @ U) == 3
    torch.testing.assert_close(result.weight, torch.linalg.pinv(U) @ S, rtol=0, atol=1e-13)
    with pytest.raises(ArgumentError, match=r"\(5\), got rank 3"):
        lr.normal_equations(U, S)


def test_several_outputs_are_fitted_side_by_side():
    U, S = example()
    both = lr.fit(U, torch.stack([S, 2 * S], 1)).weight
    torch.testing.assert_close(both[:, 0], lr.fit(U, S).weight, rtol=0, atol=1e-14)
    torch.testing.assert_close(both[:, 1], 2 * both[:, 0], rtol=0, atol=1e-14)


def test_least_squares_can_be_mapped_over_data_sets():
    g = torch.Generator().manual_seed(2)
    U, S = torch.randn(4, 6, 3, generator=g, dtype=F64), torch.randn(4, 6, generator=g, dtype=F64)
    together = torch.vmap(lr.least_squares)(U, S)[0]
    for W, u, s in zip(together, U, S, strict=True):
        torch.testing.assert_close(W, lr.fit(u, s).weight, rtol=0, atol=1e-13)


def test_a_matrix_of_zeros_has_the_zero_solution():
    result = lr.fit(torch.zeros(3, 2, dtype=F64), torch.ones(3, dtype=F64))
    assert result.weight.tolist() == [0, 0] and result.rank == 0 and result.loss == 0.5


def test_float32_is_kept():
    U, S = example()
    weight = lr.fit(U.float(), S.float()).weight
    assert weight.dtype == torch.float32
    torch.testing.assert_close(weight.double(), lr.fit(U, S).weight, rtol=1e-5, atol=1e-5)


def test_wrong_arguments(as_user):
    U, S = example()
    with pytest.raises(ShapeError, match="`inputs` and `targets` must hold the same number of examples, got 8 and 7"):
        lr.fit(U, S[:7])
    with pytest.raises(ShapeError, match="`inputs` must hold at least 1 example, got 0"):
        lr.fit(U[:0], S[:0])
    with pytest.raises(ShapeError, match=r"`targets` must have 1 axis or 2 \(examples, outputs\), got 3"):
        lr.fit(U, torch.zeros(8, 2, 2, dtype=F64))
    with pytest.raises(ArgumentError, match="`inputs` must be finite, got 3 NaN or infinite values"):
        lr.fit(U.index_fill(0, torch.tensor([2]), float("nan")), S)
    with pytest.raises(ArgumentError, match="`targets` must be finite, got 1 NaN"):
        lr.normal_equations(U, S.index_fill(0, torch.tensor([2]), float("inf")))
    with pytest.raises(ArgumentError, match="`scaling` must be one of 'mean', 'sum', got 'half'"):
        lr.squared_error(S[:3], U, S, "half")
