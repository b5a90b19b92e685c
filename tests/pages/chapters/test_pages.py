"""Every page: `marimo check` is content, it runs as a script, and its ids are known and shown where they belong."""

import ast
import re
import subprocess
import sys

import pytest

from lamina._catalogue import items
from lamina.pages.site.contents import PAGES, pages

IDS = [page.path for page in pages()]


def test_every_notebook_is_in_the_table_of_contents():
    folder = PAGES[0].file.parents[2]
    assert folder.name == "chapters" and set(folder.rglob("page.py")) <= {page.file for page in PAGES}


def test_marimo_check_is_content():
    command = [sys.executable, "-m", "marimo", "check", "--strict", *(str(page.file) for page in pages())]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", pages(), ids=IDS)
def test_ids_are_known_and_sections_have_questions(page):
    tree = ast.parse(page.file.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = [ast.unparse(call.func) for call in calls]
    ids = [constant.value for call in calls if ast.unparse(call.func) == "kit.section"
           for word in call.keywords if word.arg == "ids" for constant in ast.walk(word.value)
           if isinstance(constant, ast.Constant)]  # fmt: skip
    assert set(ids) <= set(items())
    assert named.count("kit.section") >= 1 and named.count("kit.question") >= 1 and named.count("kit.source") >= 1
    predicted = [call for call in calls if ast.unparse(call.func) == "kit.question"
                 and any(word.arg == "options" for word in call.keywords)]  # fmt: skip
    large = [call for call in calls if ast.unparse(call.func) == "kit.section"
             and not any(word.arg == "level" for word in call.keywords)]  # fmt: skip
    assert predicted and len(predicted) >= len(large) - 2, "something to predict in nearly every section"
    assert "kit.formula" in named or "$$" in page.file.read_text(encoding="utf-8")
    if page.chapter.startswith("ch"):
        assert ids and all(key.startswith(f"N{page.chapter[2:]}.") for key in ids)


@pytest.mark.parametrize("page", pages(), ids=IDS)
def test_sentences_are_whole_and_speak_to_the_reader(page):
    """What reads as translated: "Whoever counts", "does one need", and a run without a verb."""
    text = page.file.read_text(encoding="utf-8")
    assert re.findall(r"\bWhoever\b.*|\b(?:does|must) one (?:need|give)\b.*|\bA recorded run;.*", text) == []


@pytest.mark.slow
@pytest.mark.parametrize("page", pages(), ids=IDS)
def test_page_runs_as_a_script(page):
    done = subprocess.run([sys.executable, str(page.file)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
