"""Products and sums on a GPU: a member's bits depend neither on how many others there are nor on its place."""

import pytest

from lamina.kernels import native, ordered
from populations.widths import CASES, assert_feels_no_width


@pytest.mark.cuda
@pytest.mark.skipif(native.compiler() is None, reason="needs g++")
@pytest.mark.parametrize("kind", ("adam", "nesterov"))
@pytest.mark.parametrize("name", CASES)
def test_a_member_feels_neither_the_width_nor_its_place(name, kind, monkeypatch):
    monkeypatch.setitem(ordered.WANTED, "cuda", True)
    assert_feels_no_width(name, kind, "cuda")
