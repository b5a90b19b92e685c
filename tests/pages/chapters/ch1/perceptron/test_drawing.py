"""The drawing of one neuron."""

from lamina.pages.chapters.ch1.perceptron._drawing import live_neuron


def test_the_live_neuron_has_no_overlapping_words():
    from lamina.drawing._collisions import overlaps

    scene = live_neuron([1.0, -2.0, 0.5], [-3.0, 3.0, 0.1], -3.0, -8.95, -8.95, "leaky ReLU")
    assert overlaps(scene) == []
