"""`lamina notes`: the address, the chapter, editing a copy, and the sentences for bad options."""

import pytest

from lamina._errors import ArgumentError


@pytest.fixture
def served(monkeypatch):
    found = {}
    monkeypatch.setattr("lamina.pages.site.server.serve", lambda **options: found.update(options))
    return found


def test_options_reach_the_server(typed, served):
    assert typed("notes", "--no-browser", "--port", "2800", "--chapter", "1") == (0, "", "")
    assert served == {"host": "127.0.0.1", "port": 2800, "token": None, "first": "/ch1/perceptron", "browser": False}


def test_a_chapter_is_1_to_5(typed, served):
    code, _, said = typed("notes", "--chapter", "6")
    assert code == 2 and "`--chapter` must be a whole number from 1 to 5, got 6." in said and not served


def test_beyond_this_machine_a_token_is_made_each_time_another(typed, monkeypatch):
    seen = []

    def build(host, token, homework):
        seen.append((host, token))
        raise ArgumentError("nobody listens in a test")

    monkeypatch.setattr("lamina.pages.site.server.build", build)
    for _ in range(2):
        code, _, said = typed("notes", "--host", "0.0.0.0", "--no-browser")
        assert code == 2 and "nobody listens in a test" in said
    (host, first), (_, second) = seen
    assert host == "0.0.0.0" and len(first) >= 16 and first != second


def test_edit_copies_the_page_and_opens_the_editor(typed, monkeypatch, tmp_path):
    ran = []
    monkeypatch.setattr("subprocess.run", lambda command, check: ran.append(command))
    code, said, _ = typed("notes", "--edit", "ch1/perceptron", "--no-browser")
    assert code == 0 and said == "Your copy: ch1-perceptron.py\n" and (tmp_path / "ch1-perceptron.py").is_file()
    assert ran[0][1:4] == ["-m", "marimo", "edit"] and ran[0][-3:] == ["--host", "127.0.0.1", "--headless"]


def test_an_unknown_page_is_said(typed):
    code, _, said = typed("notes", "--edit", "ch1/none")
    assert code == 2 and "there is no page 'ch1/none': choose one of ch1/perceptron" in said


def test_a_book_is_written_without_a_server(typed, served, tmp_path):
    code, said, _ = typed("notes", "--export", str(tmp_path / "site"), "--only", "ch5/dictionary")
    assert code == 0 and "recorded ch5/dictionary\nThe book: " in said and " files, " in said and not served
    assert (tmp_path / "site/ch5/dictionary.html").is_file() and (tmp_path / "site/index.html").is_file()


def test_without_a_browser_nothing_is_printed(typed, monkeypatch, tmp_path):
    monkeypatch.setattr("lamina.pages.book.printing._ELSEWHERE", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CHROMIUM", raising=False)
    code, _, said = typed("notes", "--pdf", str(tmp_path / "book.pdf"))
    assert code == 2 and "`--pdf` needs a Chromium, Chrome or Edge" in said


def test_only_needs_something_to_choose_for(typed, served):
    code, _, said = typed("notes", "--only", "ch3/lenet")
    assert code == 2 and "`--only` chooses pages for --export, --pdf or --panels" in said and not served


def test_a_homework_is_served(typed, served, tmp_path):
    answers = tmp_path / "answers.csv"
    code, said, _ = typed("notes", "--no-browser", "--assign", "ch1/regression", "--collect", str(answers))
    assert code == 0 and f"Answers are collected in {answers}." in said
    assert served["first"] == "/homework" and answers.read_text().startswith("time,name,try,right,of,q1,")
    served["homework"]._answers.close()


def test_data_belongs_to_a_homework(typed, served, tmp_path):
    for more in ((), ("--export", str(tmp_path / "site"))):
        code, _, said = typed("notes", "--data", "own.csv", *more)
        assert code == 2 and "`--data` and `--collect` belong to a homework: add --assign PAGE." in said and not served


def test_one_thing_at_a_time(typed, served, tmp_path):
    site = str(tmp_path / "site")
    for first, second in (("--assign", "--export"), ("--edit", "--pdf"), ("--edit", "--panels")):
        code, _, said = typed("notes", first, "ch1/regression", second, site)
        assert code == 2 and f"`{first}` cannot be combined with {second}: choose one of them." in said
    code, _, said = typed("notes", "--edit", "ch1/regression", "--assign", "ch1/regression")
    assert code == 2 and "`--edit` cannot be combined with --assign" in said and not served
