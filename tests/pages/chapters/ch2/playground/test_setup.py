"""A setup decides data, network and recipe."""

from dataclasses import replace

import pytest

from lamina._errors import DataError
from lamina.pages.chapters.ch2.playground._setup import (
    STARTS,
    Setup,
    Table,
    first_network,
    problem,
    read_columns,
    recipe,
)

SMALL = Setup(count=80, hidden=(4,), epochs=3, batch_size=20)


class File:
    def __init__(self, name, text):
        self.name, self.contents = name, text.encode()


TABLE = "a,b,c,kind\n" + "\n".join(f"{i},{(i * 7) % 11},{'xy'[i % 2]},{'no' if i % 3 else 'yes'}" for i in range(30))


def test_a_setup_decides_data_network_and_recipe():
    setup = replace(SMALL, data="spirals", noise=0.05, optimizer="momentum 0.9", penalty=0.01, norm=1, start="He")
    given = problem(setup)
    assert len(given.split.train) == 60 and len(given.split.validation) == 20 and given.outputs == 1
    assert given is problem(setup)  # made once
    made = recipe(setup)
    assert (made.optimizer.momentum, made.penalty.strength, made.penalty.norm) == (0.9, 0.01, 1)
    assert problem(replace(setup, data="blobs")).outputs == 4
    constant = first_network(replace(setup, start="all weights 0.5"), 1)
    assert all((W == 0.5).all() for W in constant.weights)
    assert set(STARTS) >= {"Xavier", "He"}


def test_rows_with_gaps_are_left_out_and_said():
    text = TABLE.replace("\n3,", "\n,")
    given = problem(replace(SMALL, table=Table("mine.csv", text.encode(), "kind", "a", "b")))
    assert given.note == "1 of 30 rows were left out: a number is missing, or there are too many."
    assert len(given.split.train) + len(given.split.validation) == 29


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        (TABLE, ("a", "a"), "both axes show the column 'a': choose two different ones"),
        ("a,b,kind\n1,2,x\n2,3,y\n4,5,x\n", ("a", "b"), "has 3 rows with both numbers, at least 8 are needed"),
        (
            "a,b,kind\n" + "\n".join(f"{i},{i * i},k{i % 9}" for i in range(45)),
            ("a", "b"),
            "'kind' has 9 classes, at most 8 have a color here",
        ),
    ],
)
def test_tables_that_do_not_fit_are_refused_in_a_sentence(text, columns, message):
    with pytest.raises(DataError, match=message):
        problem(replace(SMALL, table=Table("mine.csv", text.encode(), "kind", *columns)))


def test_a_table_needs_two_columns_of_numbers():
    text = "a,c,kind\n" + "\n".join(f"{i},{'xy'[i % 2]},{'no' if i % 3 else 'yes'}" for i in range(30))
    with pytest.raises(DataError, match=r"1 column\(s\) of numbers besides the target 'kind', but the plane needs 2"):
        read_columns(File("mine.csv", text))
