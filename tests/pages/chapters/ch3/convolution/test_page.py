"""The numbers that the page on convolution shows."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.functional.convolution import convolution_matrix, convolve2d, correlate2d


@pytest.mark.notes("N3.18", "N3.19")
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 3), st.integers(1, 3), st.integers(3, 5), st.integers(3, 6))
def test_a_convolution_is_its_matrix(seed, m1, m2, n1, n2):
    g = torch.Generator().manual_seed(seed)
    y, k = (torch.randn(*shape, generator=g, dtype=torch.float64) for shape in ((n1, n2), (m1, m2)))
    for flip, direct in ((True, convolve2d), (False, correlate2d)):
        matrix = convolution_matrix(k, n1, n2, flip=flip)
        torch.testing.assert_close(matrix @ y.flatten(), direct(y, k).flatten(), rtol=0, atol=1e-13)
        assert int(matrix.ne(0).sum()) == len(matrix) * m1 * m2
