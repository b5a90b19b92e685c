"""The work of the page ch1/perceptron: what an activation costs."""

from lamina.pages.chapters.ch1.perceptron._work import costs


def test_only_sigmoid_and_tanh_need_the_exponential_function():
    (row,) = costs(10, 3)
    counts = dict(zip([cells[0] for cells in row["rows"]], row["rows"], strict=True))
    place = next(i for i, name in enumerate(row["head"]) if "exp" in name)
    assert row["run"] == 3
    assert {name for name, cells in counts.items() if cells[place]} == {"sigmoid", "tanh"}
