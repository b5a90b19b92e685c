import json

import pytest

from lamina.experiments.result import REGISTRY, Claim, Plot, Result


def test_a_table_with_its_claims(typed):
    code, out, _ = typed("experiment", "n4.02")
    assert code == 0 and out.startswith("products of factors") and out.count("holds: ") == 5


def test_by_name_as_json_with_seeds_and_a_drawing(typed, tmp_path):
    code, out, _ = typed("experiment", "blocks_as_steps", "--seeds", "1", "--json", "-o", "plot.svg")
    said = json.loads(out)
    assert code == 0 and said["experiment"] == "blocks_as_steps" and said["plot"] == "plot.svg"
    assert said["rows"][0]["tau"] == 1.0 and all(claim["holds"] for claim in said["claims"])
    assert "difference quotient" in (tmp_path / "plot.svg").read_text()


def test_fresh_seeds_give_other_numbers(typed):
    def rows(*words):
        code, out, _ = typed("experiment", *words, "--json")
        assert code == 0
        return json.loads(out)["rows"]

    assert rows("N4.21", "--seeds", "2") == rows("N4.21", "--seeds", "2", "--first-seed", "0")
    assert rows("N4.21", "--seeds", "2") != rows("N4.21", "--seeds", "2", "--first-seed", "2000")
    assert len(rows("N3.20", "--first-seed", "7", "--seeds", "2")) == 2
    assert rows("N3.20", "--first-seed", "7", "--seeds", "2")[0]["seed"] == 7
    assert rows("N1.59") == rows("N1.59", "--first-seed", "0") != rows("N1.59", "--first-seed", "1")


def test_all_of_them_are_listed(typed):
    code, out, _ = typed("experiment", "--list")
    lines = out.splitlines()
    assert (
        code == 0 and lines[0] == "id\texperiment\twhat it does" and any("N4.02, N4.03\tproducts" in x for x in lines)
    )
    code, out, _ = typed("experiment", "--json")
    found = json.loads(out)
    assert code == 0 and sum(len(row["ids"]) for row in found) == len(REGISTRY)


def test_a_claim_that_fails_ends_with_one(typed, monkeypatch):
    def broken() -> Result:
        """Fail."""
        return Result("nothing", ("n", "x"), ((1, float("nan")),), Claim("one is two", False))

    monkeypatch.setitem(REGISTRY, "N4.02", broken)
    code, out, _ = typed("experiment", "N4.02")
    assert code == 1 and "FAILS: one is two" in out
    code, out, _ = typed("experiment", "N4.02", "--json")
    assert code == 1 and json.loads(out)["rows"] == [{"n": 1, "x": None}]
    code, _, err = typed("experiment", "N4.02", "-o", "x.svg")
    assert code == 2 and "`result` must say what to draw" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("N9.99",), "`ID` 'N9.99' is not the id of an experiment: `lamina experiment --list` shows all of them"),
        (("N4.04",), "`ID` 'N4.04' is in the catalogue but has no experiment"),
        (("N4.02", "--seeds", "3"), "`--seeds` has no meaning for N4.02: products runs once; leave it out"),
        (
            ("N4.02", "--first-seed", "3"),
            "`--first-seed` has no meaning for N4.02: products uses no random numbers; leave it out",
        ),
        (("N4.15", "-o", "plot.gif"), "must end in one of .svg, .tex, .pdf, .png, got 'plot.gif'"),
    ],
)
def test_refusals(typed, words, message):
    code, _, err = typed("experiment", *words)
    assert code == 2 and message in err


def test_plots_are_data():
    assert Plot("n", ("x", "y")).label == "x, y" and Plot("n", ("x",), y_label="loss").label == "loss"
