"""The work of the page ch2/approximation: numbers by hand, and what the notes say of them."""

from lamina.pages.chapters.ch2.approximation._work import learn_wave


def test_a_wave_is_learned_from_several_starts():
    *_, last = learn_wave(8, 1, "tanh", seeds=2, steps=60, points=40)
    assert last["step"] == 60 and len(last["losses"]) == 2
    assert last["losses"][0][-1] < last["losses"][0][0] and last["curves"][0] != last["curves"][1]
