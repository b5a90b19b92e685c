"""The drawings of the page ch3/pooling: numbers by hand, and what the notes say of them."""

import pytest

from lamina.pages.chapters.ch3.pooling._drawing import pooling_entry


@pytest.mark.notes("N3.41", "N3.42")
def test_the_drawn_pooling_has_the_numbers_of_the_notes():
    image = [[1, 3, 0, -7], [-2, 4, 1, -1], [0, 1, 8, -3], [2, 0, 4, 5]]
    said = [pooling_entry(image, place, kind=kind).description for kind in ("max", "average")
            for place in ((1, 1), (1, 2), (2, 1), (2, 2))]  # fmt: skip
    assert [words.split(" = ")[-1] for words in said] == ["4.", "1.", "2.", "8.", "1.5.", "−1.75.", "0.75.", "3.5."]


def test_padding_is_minus_infinity_for_max_and_zero_for_the_mean():
    image = [[-1.0, -2.0], [-3.0, -4.0]]
    options = {"kernel_size": 3, "stride": 1, "padding": 1}
    assert "−∞" in pooling_entry(image, **options).description
    assert pooling_entry(image, **options).description.endswith("= −1.")
    assert pooling_entry(image, kind="average", **options).description.endswith("/ 9 = −1.11.")
