"""Several contexts as one, entered again and again."""

import pytest

from lamina.training.executors._contexts import Contexts


class Noted:
    def __init__(self, name, said):
        self.name, self.said = name, said

    def __enter__(self):
        self.said.append(f"{self.name} begins")

    def __exit__(self, *error):
        self.said.append(f"{self.name} ends with {error[0] and error[0].__name__}")


def test_the_last_to_begin_is_the_first_to_end_each_time():
    said = []
    both = Contexts(Noted("a", said), Noted("b", said))
    for _ in range(2):
        with both:
            said.append("work")
    assert said == ["a begins", "b begins", "work", "b ends with None", "a ends with None"] * 2


def test_an_error_ends_all_and_is_not_swallowed():
    said = []
    with pytest.raises(KeyError, match="lost"), Contexts(Noted("a", said), Noted("b", said)):
        raise KeyError("lost")
    assert said[2:] == ["b ends with KeyError", "a ends with KeyError"]


def test_one_that_cannot_begin_leaves_none_entered():
    said = []

    class Broken(Noted):
        def __enter__(self):
            raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"), Contexts(Noted("a", said), Broken("b", said)):
        pass
    assert said == ["a begins", "a ends with KeyError"]
