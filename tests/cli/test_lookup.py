"""`lamina catalogue` and `lamina errata`: by id, by chapter, by word; as text and as JSON."""

import json
import re

from lamina._catalogue import errata


def table(out: str) -> list[list[str]]:
    return [line.split("\t") for line in out.splitlines()[1:]]


def test_a_word_finds_the_equation_first_and_its_fast_paths_last(typed):
    code, out, _ = typed("catalogue", "gru")
    first = table(out)[0]
    assert code == 0 and first[:2] == ["N5.32", "equation"]
    names = first[3].split(" ")
    assert names[0] == "lamina.functional.recurrent:gru_step"
    assert [name for name in names if "gru_scan" in name] == names[-3:]
    assert {"N5.25", "N5.36", "N5.42"} < {row[0] for row in table(out)}


def test_words_find_what_has_all_of_them_and_begin_a_word(typed):
    found = {word: [row[0] for row in table(typed("catalogue", *word.split())[1])] for word in ("batch norm", "adam")}
    assert found["batch norm"][0] == "N2.38" and "N1.49" in found["batch norm"] and "N1.45" not in found["batch norm"]
    assert found["adam"][:2] == ["N1.47", "N1.48"]
    assert typed("catalogue", "stm")[0] == 2  # inside of "lstm" only
    assert typed("catalogue", "ReLU")[1] == typed("catalogue", "relu")[1]


def test_a_newcomer_finds_the_function_in_one_try(typed):
    first = {
        "GRU": ("N5.32", "gru_step"),
        "LRN": ("N3.51", "local_response_norm"),
        "Xavier": ("N2.33", "xavier"),
        "k-means": ("N1.31", "kmeans:fit"),
        "bottleneck": ("N4.19", "OriginalBottleneck"),
        "adam": ("N1.47", "adam"),
        "softmax": ("N2.60", "softmax"),
        "leaky relu": ("N1.08", "leaky_relu"),
    }
    for words, (key, name) in first.items():
        row = json.loads(typed("catalogue", *words.split(), "--json")[1])[0]
        assert row["id"] == key and re.search(rf"[.:]{name}$", row["code"][0]), (words, row)


def test_hyphens_gaps_and_capitals_do_not_matter(typed):
    out = typed("catalogue", "k-means")[1]
    assert out == typed("catalogue", "kmeans")[1] == typed("catalogue", "K-Means")[1]
    assert table(typed("catalogue", "k", "means")[1])[0] == table(out)[0]


def test_a_near_miss_names_the_word_that_was_meant(typed):
    assert typed("catalogue", "xaver") == (
        2,
        "",
        "lamina: `ID` must be an id of the catalogue, N1.01 to N5.49 or E01 to E77, or words that occur in it, "
        "got 'xaver'. Did you mean 'xavier'?\n",
    )
    assert typed("catalogue", "bottlenek")[2].endswith("got 'bottlenek'. Did you mean 'bottleneck'?\n")
    assert typed("errata", "foget")[2].endswith("got 'foget'. Did you mean 'forget'?\n")
    assert typed("catalogue", "qqqq")[2].endswith("got 'qqqq'.\n")


def test_an_id_names_the_function_of_the_equation_first(typed):
    lines = typed("catalogue", "N5.32")[1].splitlines()
    assert lines[2] == "  code    lamina.functional.recurrent:gru_step"


def test_a_row_names_its_errata(typed):
    _, out, _ = typed("catalogue", "N5.37")
    slip = errata()["E70"]
    assert out.splitlines()[-1] == f"  erratum E70  The notes: {slip.says} Right: {slip.right}"
    assert "erratum" not in typed("catalogue", "N5.38")[1]
    assert json.loads(typed("catalogue", "N1.47", "--json")[1])[0]["errata"] == ["E01", "E02"]


def test_all_77_errata_are_listed(typed):
    numbers = [f"E{number:02d}" for number in range(1, 78)]
    assert [row[0] for row in table(typed("errata")[1])] == numbers
    rows = json.loads(typed("errata", "--json")[1])
    assert [row["id"] for row in rows] == numbers and all(row["says"] and row["right"] and row["code"] for row in rows)


def test_one_erratum_by_its_id_by_its_row_and_in_the_catalogue(typed):
    _, out, _ = typed("errata", "E70")
    assert out.splitlines()[:3] == [
        "E70  The cell state of the LSTM (wrong)",
        "  notes   The forget gate multiplies the old candidate.",
        "  right   It multiplies the old cell state, as the figure shows; the printed form would forget everything "
        "after one step.",
    ]
    assert "  code    lamina.functional.recurrent:lstm_step\n" in out and out.endswith("  page    ch5/gates\n")
    assert out == typed("catalogue", "e70")[1] == typed("errata", "N5.37")[1]


def test_errata_are_found_by_word_and_by_the_first_digits(typed):
    assert [row[0] for row in table(typed("errata", "adam")[1])] == ["E01", "E02", "E35", "E41"]
    assert [row[0] for row in table(typed("catalogue", "E7")[1])] == [f"E{number}" for number in range(70, 78)]
