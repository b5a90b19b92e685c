"""Who knows what kind of data there is: the data and the tasks, and nobody else."""

import ast
from pathlib import Path

HOME = Path(__file__).parents[1] / "src" / "lamina"
ROOMS = ("data/", "training/tasks/", "cli/_data.py")  # the command shows data


def found(source: str) -> list[int]:
    """Give the lines that compare the kind or the task of a spec, or ask of which type a preparation is."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            asked = [side for side in sides if isinstance(side, ast.Attribute) and side.attr in ("kind", "task")]
            lines += [node.lineno for side in asked if ast.unparse(side.value).endswith("spec")]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            lines += [node.lineno] if "Preprocess" in ast.unparse(node.args[1]) else []
    return lines


def test_such_lines_are_found():
    assert found(
        'if train.spec.kind == "image" or "tagging" != spec.task or isinstance(p, TextPreprocess | int):\n pass\n'
    )
    assert not found('if schedule.kind == "cosine" or isinstance(p, Mapping):\n pass\n')


def test_nobody_but_data_and_tasks_knows_the_kind():
    files = {path.relative_to(HOME).as_posix(): path for path in HOME.rglob("*.py")}
    assert len(files) > 300
    outside = {name: found(path.read_text()) for name, path in files.items() if not name.startswith(ROOMS)}
    assert {name: lines for name, lines in outside.items() if lines} == {}
