"""A million names and pictures take little memory, and come back as they were."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.data.picture_list import Made, Names, Pictures
from lamina.data.pictures import Picture


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=20))
def test_names_come_back(names):
    found = Names(names)
    assert list(found) == names and len(found) == len(names) and found[1:3] == names[1:3]
    assert not names or found[-1] == names[-1]


def test_names_that_are_no_text_come_back():
    odd = b"caf\xe9.png".decode("utf-8", "surrogateescape")
    if sys.platform == "win32":
        pytest.skip("names are text there")
    assert Names([odd])[0] == odd


def test_there_is_nothing_beyond_the_end():
    with pytest.raises(IndexError):
        Names(["a"])[1]


def test_what_is_made_is_made_when_asked_for():
    asked = []
    made = Made(Names(["a", "b", "c"]), lambda name: asked.append(name) or Path(name))
    assert made[1] == Path("b") and asked == ["b"] and made[1:] == [Path("b"), Path("c")] and len(made) == 3


def test_pictures_come_back():
    paths = [Path(f"{n}.png") for n in range(4)]
    given = {
        0: Picture(paths[0], "0", 3, 5, True, 1),
        2: Picture(paths[2], "2", 7, 2, False, 8, True),
        3: Picture(paths[3], "3", 7, 2, True, 6),
    }
    pictures = Pictures(paths, [str(n) for n in range(4)])
    for place, picture in given.items():
        pictures.put(place, picture)
    assert list(pictures) == list(given.values()) and pictures.places.tolist() == [0, 2, 3]
    assert pictures.sizes() == {(3, 5): 1, (7, 2): 2} and list(pictures.sizes()) == [(3, 5), (7, 2)]
    assert not pictures.gray and pictures.several == [1] and pictures.middle == 2
    pictures.drop(2)
    assert len(pictures) == 2 and pictures[1] == given[3] and pictures.gray and pictures[0:1] == [given[0]]


def test_a_file_takes_less_than_a_hundred_bytes():
    names = Names(f"class{n % 10}/picture-{n:07d}.png" for n in range(10_000))
    pictures = Pictures(Made(names, Path), names)
    pictures.put(3, Picture(Path(), "", 1, 1, True, 1))
    held = sys.getsizeof(names._bytes) + sys.getsizeof(names._ends) + pictures._sizes.nbytes + pictures._marks.nbytes
    assert held / len(names) < 64
