"""README and docs are run: every Python block, every `lamina` line; and what docs-only rows ask for is checked."""

import ast
import importlib
import pkgutil
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import torch.utils.data

import lamina
from scripts import command

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_program_of_the_readme_prints_an_accuracy_and_draws_its_picture(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 130
    (program,) = blocks(ROOT / "README.md", "python")
    exec(compile(program, "README.md", "exec"), {})
    accuracy, examples = re.search(r"accuracy (0\.\d+), .* on (\d+) test examples", capsys.readouterr().out).groups()
    promised = float(re.search(r"prints `accuracy (0\.\d+)`", text)[1])
    assert abs(float(accuracy) - promised) < 0.04 and f"on {examples} test pictures" in text  # 4 standard deviations
    assert (tmp_path / "lenet5.svg").read_text() == (ROOT / "docs/figures/lenet5.svg").read_text()
    assert "](docs/figures/lenet5.svg)" in text


@pytest.mark.parametrize("path", RUN[1:], ids=lambda path: path.name)
def test_a_page_runs_from_top_to_bottom(path, capsys, tmp_path, monkeypatch, request):
    """Python blocks share their names, and shell lines find the files that blocks above them wrote."""
    monkeypatch.chdir(tmp_path)
    if path.name == "export.md":  # a trace has sizes that are no numbers
        request.getfixturevalue("as_user")
    names: dict[str, object] = {}
    text = path.read_text(encoding="utf-8")
    for language, block in re.findall(r"^```(python|sh)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        if language == "sh":
            run_shell(block)
        else:
            exec(compile(block, str(path), "exec"), names)
            promised = re.findall(r"print\(.*#\s*(.+)$", block, re.MULTILINE)
            printed = capsys.readouterr().out.splitlines()
            assert printed[: len(promised)] == promised, path


def test_shell_lines_of_the_readme_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in blocks(ROOT / "README.md", "sh"):
        run_shell(block)


def run_shell(block: str) -> None:
    """Run the `lamina` lines of a block, and see that its `make` targets are there."""
    makefile = (ROOT / "Makefile").read_text()
    for line in block.splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["lamina"]:
            done = command(*words[1:])
            assert done.returncode == 0, (line, done.stderr)
        elif words[:1] == ["make"]:
            assert re.search(rf"^{words[1]}:", makefile, re.MULTILINE), line


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_inside_the_project_lead_somewhere(path):
    prose = re.sub(r"`[^`\n]*`", "", path.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#]+)\)", prose):
        assert target.startswith("http") or (path.parent / target).exists(), target


@cache
def defined() -> set[str]:
    """Return the names of all classes of the library."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "src/lamina").rglob("*.py"))
    return {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def resolves(name: str) -> bool:
    """Say whether a dotted name is a module of the library, or an attribute of one."""
    packages = {module.name for module in pkgutil.iter_modules(lamina.__path__)}
    parts = name.removeprefix("lamina.").split(".")
    if parts[0] not in packages:
        return hasattr(lamina, parts[0])
    found = importlib.import_module(f"lamina.{parts[0]}")
    for depth, part in enumerate(parts[1:], 2):
        if not hasattr(found, part):
            importlib.import_module(".".join(["lamina", *parts[:depth]]))
        found = getattr(found, part)
    return True


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_names_in_the_docs_exist(path):
    prose = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    names = set(re.findall(r"`([A-Za-z_][\w.]*)`", prose))
    camel = {name for name in names if re.fullmatch(r"(?:[A-Z][a-z]+){2,}\w*", name)}
    assert camel <= defined() | {*dir(torch.utils.data)}
    packages = "|".join(module.name for module in pkgutil.iter_modules(lamina.__path__) if module.ispkg)
    for name in sorted(name for name in names if re.match(rf"lamina\.|({packages})\.\w", name)):
        assert resolves(name), name


def section(title: str) -> str:
    return (ROOT / "docs/conventions.md").read_text().split(f"## {title}\n")[1].split("\n## ")[0]


@pytest.mark.notes("N1.20")
def test_tasks_are_sorted_into_supervised_and_unsupervised():
    table = dict(re.findall(r"^\| ([a-z ]+?) \| (.*?) \|", section("Tasks"), re.MULTILINE))
    assert {"classification", "regression", "structured output"} == {k for k, v in table.items() if v != "none"} - {
        "task"
    }
    assert {"clustering", "dimension reduction"} == {k for k, v in table.items() if v == "none"}


@pytest.mark.notes("N1.83", "N1.81", "N2.56")
def test_words_for_depth_are_stated():
    text = section("Shallow, deep, depth")
    assert "no hidden layer" in text and "one hidden layer" in text and "0 to n-1" in text and "XOR" in text


@pytest.mark.notes("N3.09", "N3.11")
def test_words_for_convolutional_layers_are_stated():
    text = section("Layers of a convolutional network")
    assert "three layers here" in text and "batch × channel × height × width" in text


@pytest.mark.notes("N4.25")
def test_the_other_name_of_preactivation_networks_is_stated():
    assert "ResNetV2" in section("Residual networks")


def test_what_the_readme_claims_stands_in_the_benchmarks():
    """One source for each claim: every time and every speed of the README is a cell of docs/benchmarks.md."""
    table = (ROOT / "README.md").read_text(encoding="utf-8").split("<!-- highlights")[1].split("<!-- end -->")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[3:] if line]
    page = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
    assert len(rows) == 6
    for _, _, value, speed, hardware in rows:
        assert hardware in page
        for number in (value.split(" ")[0], *re.findall(r"[\d.,]+", speed)):
            assert re.search(rf"[ |]{re.escape(number)}\b", page), (value, speed)


def test_a_ratio_is_a_speed_everywhere():
    page = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
    for head, body in re.findall(r"^(\|.*\|)\n\| --- .*\n((?:\|.*\n)+)", page, re.MULTILINE):
        assert ("×" in body) == ("speed, times" in head), head


def test_readme_tables_are_what_the_records_say():
    done = subprocess.run([sys.executable, ROOT / "tools/readme.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
