"""The drawing of the page ch3/lrn: a network with dropout."""

from lamina.pages.chapters.ch3.lrn._drawing import thinned_network


def test_a_thinned_network_counts_what_is_left():
    none = thinned_network([[True] * 4, [True] * 6, [True] * 3])
    assert none.description == "Of 13 units 0 are dropped; 42 of 42 arrows are left."
    assert thinned_network([[True] * 2, [False] * 3]).description.endswith("0 of 6 arrows are left.")
