"""Questions of a homework: numbers by hand, other numbers for others, own questions, and what cannot be assigned."""

import math
import re
from pathlib import Path

import pytest

from lamina._errors import ArgumentError, DataError
from lamina.drawing.scene import Text
from lamina.pages.homework.exercises import Question, assign


def test_backpropagation_by_hand(tmp_path):
    data = tmp_path / "own.csv"
    data.write_text("name,a,b,wanted\nx,0.5,-1,1\n", encoding="utf-8")
    told, asked = assign("ch2/backpropagation", data).asked("Ada")
    numbers = [[float(v) for v in re.findall(r"-?[\d.]+", part)] for part in re.findall(r"\](?: = )\((.*?)\)", told)]
    (w11, w12, w21, w22), (b1, b2), (v1, v2), (c,) = numbers
    assert "u = (0.5, -1) with the wanted answer S = 1." in told
    y1, y2 = math.tanh(w11 * 0.5 - w12 + b1), math.tanh(w21 * 0.5 - w22 + b2)
    out = 1 / (1 + math.exp(-(v1 * y1 + v2 * y2 + c)))
    first = (out - 1) * v1 * (1 - y1**2)
    wanted = [y1, y2, out, -math.log(out), out - 1, (out - 1) * y2, first, first * 0.5]
    assert [float(question.answer) for question in asked] == pytest.approx(wanted, abs=1e-12)
    assert all(question.right(f"{value:.3g}") for question, value in zip(asked, wanted, strict=True))


def test_the_network_is_drawn_with_what_is_given(tmp_path):
    data = tmp_path / "own.csv"
    data.write_text("a,b,wanted\n0.5,-1,1\n", encoding="utf-8")
    homework = assign("ch2/backpropagation", data)
    told, _ = homework.asked("Ada")
    given = {shape.title: shape.content for shape in homework.drawn("Ada").shapes if isinstance(shape, Text)}
    (w11, w12, w21, w22), (b1, b2), (v1, v2), (c,) = (
        re.findall(r"-?[\d.]+", part) for part in re.findall(r"\](?: = )\((.*?)\)", told)
    )
    assert (given["y[0](1)"], given["y[0](2)"], given["y[1](1)"], given["y[2](1)"]) == ("0.5", "−1", "?", "?")
    wanted = {"W[0](1,1)": w11, "W[0](1,2)": w12, "W[0](2,1)": w21, "W[0](2,2)": w22, "W[1](1,1)": v1, "W[1](1,2)": v2}
    wanted |= {"b[0](1)": b1, "b[0](2)": b2, "b[1](1)": c}
    assert {name: given[name].replace("−", "-") for name in wanted} == wanted
    assert assign("ch1/regression").drawn("Ada") is None


def test_a_line_by_hand_and_other_numbers_for_others(tmp_path):
    data = tmp_path / "own.csv"
    data.write_text("u,S\n0,1\n1,3\n2,5\n3,7\n", encoding="utf-8")
    homework = assign("ch1/regression", data)
    assert [float(q.answer) for q in homework.asked("Ada")[1][:3]] == pytest.approx([2, 1, 0], abs=1e-12)
    told = {homework.asked(name)[0] for name in ("Ada", "Grace", "Emmy", "Sofia", "Hypatia", "Mary")}
    assert len(told) > 1 and homework.asked("ada ")[0] == homework.asked("Ada")[0]


def test_own_questions_for_any_page(tmp_path):
    data = tmp_path / "own.csv"
    data.write_text("Question,Answer,Tolerance\nWho?,Yann LeCun,\nHow many?,61706,0\nAbout?,10,0.2\n", encoding="utf-8")
    _, (who, many, about) = assign("ch3/lenet", data).asked("Ada")
    assert who.right("yann  lecun") and not who.right("LeCun")
    assert many.right("61706") and not many.right("61707") and not many.right("many")
    assert about.right("11.9") and not about.right("12.1")
    assert not Question("", "1").right("1" * 500) and not Question("", "1").right("inf")


def test_whole_numbers_are_exact_and_small_numbers_are_not_zero(tmp_path):
    data = tmp_path / "own.csv"
    data.write_text("question,answer\nHow many?,61706\nWhich rate?,0.0001\nWhich share?,0.25\n", encoding="utf-8")
    _, (many, rate, share) = assign("ch3/lenet", data).asked("Ada")
    assert many.right("61,706") and many.right("61 706") and not many.right("61700")
    assert rate.right("1e-4") and rate.right("0,000101") and not rate.right("0") and not rate.right("0.0005")
    assert share.right("0.2524") and share.right("1/4") and share.right("25 %") and not share.right("0.26")


@pytest.mark.parametrize(
    "given", ["-0.75", "−0,75", "–0.75", "-3/4", " -.75 ", "= -0.75", "≈−0,7501", "-75 %", "-7.5·10^-1", "-7,5e-1"]
)
def test_a_number_is_read_as_people_write_it(given):
    assert Question("", "-0.75").right(given)
    assert not Question("", "0.75").right(given)


@pytest.mark.parametrize("given", ["", "-", "1/0", "0/0", "1/2/3", "%", "=", "·10^3", "1,2,3", "٣"])
def test_what_is_no_number_is_not_right(given):
    assert not any(Question("", answer).right(given) for answer in ("0", "1", "3", "-0.75"))


def test_a_table_with_semicolons_and_commas_in_numbers(tmp_path):
    data = tmp_path / "own.csv"
    data.write_text("a;b;wanted\n0,5;-1;1\n", encoding="utf-8")
    assert "u = (0.5, -1) with" in assign("ch2/backpropagation", data).asked("Ada")[0]


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        ("ch3/lenet", None, "`--assign` has no questions for ch3/lenet, only for ch2/backpropagation, ch1/regression"),
        ("ch9/x", None, "there is no page 'ch9/x'"),
        (
            "ch2/backpropagation",
            "a,b\n1,2\n",
            "at least 3 columns of numbers, or the columns question and answer; it has 2 of numbers.",
        ),
        ("ch1/regression", "u,S\n1,hello\n", "it has 1 of numbers (column 's' has 'hello')."),
        ("ch2/backpropagation", "a,b,c\n1,2,3\n", "from 0 to 1, got 3"),
        ("ch2/backpropagation", "a,b,c\n", "a line of names and 1 to 10000 rows, got 0 rows"),
        ("ch1/regression", "a,b\n1,2\n", "at least 3 rows of numbers for ch1/regression, got 1"),
        ("ch1/regression", "a,b\n1,2\n1,3\n1,4\n", "must differ among any 5 rows in a row"),
        (
            "ch1/regression",
            "question,answer\nWhich is max(0,z)?,ReLU\n",
            "line 2 of `--data` has 3 cells, and the first line has 2: put a text with a comma between quotation marks",
        ),
        ("ch1/regression", "question,answer\nWhy?,\n", "line 2 of `--data` must have a question, an answer"),
        ("ch1/regression", "question,answer\n" + "a,b\n" * 41, "at most 40 questions, got 41"),
    ],
)
def test_what_cannot_be_assigned(tmp_path, path, text, words):
    data = None
    if text is not None:
        data = tmp_path / "own.csv"
        data.write_text(text, encoding="utf-8")
    with pytest.raises((ArgumentError, DataError), match=re.escape(words)):
        assign(path, data)


def test_a_file_that_is_none(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="x.csv must be a CSV file in UTF-8: "):
        assign("ch1/regression", tmp_path / "x.csv")
    for name in ("missing.csv", "."):
        with pytest.raises(DataError, match="`--data` must be a CSV file, but '.*' is no file"):
            assign("ch1/regression", tmp_path / name)


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    (tmp_path / "x.csv").write_text("a,b\n")

    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refused)
    with pytest.raises(DataError, match=r"x.csv cannot be read: Permission denied\."):
        assign("ch1/regression", tmp_path / "x.csv")
