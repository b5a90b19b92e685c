"""A typed matrix is read, or one sentence says why not."""

import pytest

from lamina._errors import DataError
from lamina.pages.kit._matrices import read_matrix

K = [[1.0, 2, 3], [4, 5, 6], [7, 8, 9]]


def test_a_matrix_is_read_in_the_forms_people_type():
    assert read_matrix("1 5 -2\n3, 8, 7\n") == [[1, 5, -2], [3, 8, 7]]
    assert read_matrix(" 1;2 ;; −0.5 ") == [[1], [2], [-0.5]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "K is empty: type rows of numbers"),
        ("1 2; 3", "every row of K must have as many numbers as the others, got 1 and 2"),
        ("1 a", "K must hold numbers, got 'a': write them as 3 or -0.5"),
        ("inf", "K must hold numbers below a million, got inf"),
        ("1 2 3 4 5 6 7 8 9", "K may have at most 8 rows and columns, got 1 x 9"),
    ],
)
def test_a_matrix_that_cannot_be_read_says_why(text, words):
    with pytest.raises(DataError, match=words):
        read_matrix(text, "K")
