"""Predictions as labels, as a table and as files."""

import json
from dataclasses import replace

import polars as pl
import pytest
import torch

from lamina._errors import ArgumentError
from lamina.training.predictions import Predictions


def test_the_most_likely_classes_come_first():
    told = Predictions(("x", "y"), ("a", "b", "c"), torch.tensor([[0.25, 0.125, 0.625], [0.5, 0.25, 0.25]]))
    assert told.top(2)[0] == [("c", 0.625), ("a", 0.25)] and told.top(1)[1] == [("a", 0.5)]
    assert told.labels == ["c", "a"] and len(told) == 2 and len(told.top()[0]) == 3


def test_columns_say_what_is_predicted():
    classes = Predictions(("x",), ("a", "b"), torch.tensor([[0.25, 0.75]]))
    assert classes.frame().to_dict(as_series=False) == {
        "name": ["x"], "predicted": ["b"], "probability": [0.75], "p(a)": [0.25], "p(b)": [0.75]
    }  # fmt: skip
    numbers = Predictions(("x",), (), torch.tensor([[1.5, 2.5]]))
    assert numbers.frame().row(0, named=True) == {"name": "x", "predicted": 1.5, "predicted 2": 2.5}
    texts = Predictions(("one",), (), torch.tensor([[-0.5]]), ("eins",), called="text")
    assert texts.frame().row(0, named=True) == {"text": "one", "predicted": "eins", "value": -0.5}


def test_every_kind_of_file_holds_the_columns_that_were_read(tmp_path):
    read = pl.DataFrame({"id": [7, 8], "größe": ["S", None]})
    found = Predictions(("1", "2"), ("a", "b"), torch.tensor([[0.25, 0.75], [0.5, 0.5]]), read=read)
    rows = [(7, "S", "b", 0.75, 0.25, 0.75), (8, None, "a", 0.5, 0.5, 0.5)]
    readers = {"csv": pl.read_csv, "parquet": pl.read_parquet, "jsonl": pl.read_ndjson}
    for suffix, reader in readers.items():
        assert reader(found.save(tmp_path / f"p.{suffix}")).rows() == rows
    assert pl.read_csv(found.save(tmp_path / "p.tsv"), separator="\t").rows() == rows
    assert json.loads((tmp_path / "p.jsonl").read_text(encoding="utf-8").splitlines()[0])["größe"] == "S"


def test_other_files_are_refused_before_anything_is_computed():
    found = Predictions(("x",), (), torch.tensor([[1.0]]))
    with pytest.raises(ArgumentError, match=r"end in .csv, .tsv, .parquet or .jsonl, got `out.doc`: choose one of"):
        found.save("out.doc")


def test_folders_are_made_and_what_cannot_be_written_is_a_sentence(tmp_path):
    found = Predictions(("x",), (), torch.tensor([[1.0]]))
    assert pl.read_csv(found.save(tmp_path / "new" / "folder" / "p.csv")).rows() == [("x", 1.0)]
    (tmp_path / "file").write_text("")
    with pytest.raises(ArgumentError, match=r"predictions cannot be written to `.*p\.csv` .*: choose another file\."):
        found.save(tmp_path / "file" / "p.csv")


def test_a_notebook_and_a_prompt_show_the_first_answers():
    found = Predictions(tuple("abcdef"), (), torch.arange(6.0)[:, None] / 3)
    assert repr(found) == "Predictions(6 examples: 0, 0.333333, 0.666667, 1, 1.33333, ...)"
    html = found._repr_html_()
    assert "<th" in html and ">0.333333<" in html and ">f<" in html
    blank = Predictions(("a", "b"), ("<x>",), torch.tensor([[1.0], [torch.nan]]))
    assert "&lt;x&gt;" in blank._repr_html_() and repr(blank) == "Predictions(2 examples: <x>, )"


def test_lines_say_what_is_predicted_with_what_is_known_about_it():
    one, two = torch.tensor([[0.75, 0.25]]), torch.tensor([[1.0, 2.0]])
    assert Predictions(("a",), ("x", "y"), one, sets=(("x",),)).lines(1) == [("a", "{x}; x 75.0%")]
    assert Predictions(("a",), ("x", "y"), one, texts=("x",)).lines() == [("a", "x (x 75.0%, y 25.0%)")]
    assert Predictions(("a",), (), torch.tensor([[-0.5]]), texts=("ein Hund",)).lines() == [("a", "ein Hund")]
    numbers = Predictions(("a",), (), two, lower=two - 1, upper=two + 1)
    assert numbers.lines() == [("a", "1 [0, 2], 2 [1, 3]")]
    ahead = replace(numbers, moments=(("May", "June"),), columns=("load",))
    assert ahead.lines() == [("May", "1 [0, 2]"), ("June", "2 [1, 3]")]
    several = Predictions(("a", "b"), (), torch.cat([two, two]), moments=(("May", "June"),) * 2, columns=("load",))
    assert several.lines()[2:] == [("b May", "1"), ("b June", "2")]
