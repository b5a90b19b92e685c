import warnings

import pytest
import torch

from lamina._errors import DataError, DataWarning
from lamina.data.tables import load_table


def test_categories_numbers_and_truth_values(write):
    data = load_table(write("code,flag,x,y\n1,True,1e3,a\n2,false,-.5,b\n3a,,+4,a\n"))
    assert data.spec.levels == (("1", "2", "3a"), ("false", "true"), ())
    rows = torch.tensor([[0, 1, 1000], [1, 0, -0.5], [2, torch.nan, 4]], dtype=torch.float64)
    assert torch.equal(data.inputs.nan_to_num(-9), rows.nan_to_num(-9))


@pytest.mark.parametrize(
    ("header", "target", "chosen", "said"),
    [
        ("a,b,c", None, "c", "The target is the last column, 'c'."),
        ("a,Class,c", None, "Class", "The target is the column 'Class', by its name."),
        ("label,target,c", None, "target", "The target is the column 'target', by its name."),
        ("a,b,label", "a", "a", None),
    ],
)
def test_the_target(write, header, target, chosen, said):
    data = load_table(write(header + "\n1.5,2.5,3.5\n4.5,5.5,6.5\n"), target)
    assert data.spec.target == chosen and chosen not in data.spec.features and data.spec.task == "regression"
    assert data.spec.notes == (() if said is None else (said,))


def test_columns_that_only_name_rows_are_left_out(write):
    rows = "".join(f"{i},n{i},{i * 0.5},{'ab'[i % 2]}\n" for i in range(12))
    with pytest.warns(DataWarning) as record:
        data = load_table(write("id,name,x,y\n" + rows))
    assert data.spec.features == ("x",)
    texts = [str(warning.message) for warning in record]
    assert any("Column 'id' is left out: it only numbers the rows" in text for text in texts)
    assert any("Column 'name' is left out: it has a different text in every row" in text for text in texts)
    assert data.spec.notes[-1].startswith("Column 'name' is left out")
    with pytest.warns(DataWarning, match="Column 'column 1' is left out"):
        load_table(write(",name,x,y\n" + rows.replace("n", "m"), "pandas.csv"), drop=["name"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_table(write("year,name,x,y\n" + rows, "year.csv"), drop=["name"]).spec.features == ("year", "x")


def test_a_category_with_too_many_values(write):
    rows = "".join(f"w{i % 1500},{i % 2}\n" for i in range(3000))
    with pytest.raises(
        DataError, match="column 'x' has 1500 different texts, more than the 1000 that a category may have"
    ):
        load_table(write("x,y\n" + rows))
