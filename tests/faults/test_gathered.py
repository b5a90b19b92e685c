"""Every kind of fault that issue and docs name has a test that is marked with it, so that `make faults` runs it."""

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]
KINDS = {
    "SIGKILL", "SIGTERM", "SIGSTOP", "SIGHUP", "full disk", "slow disk", "read-only disk", "clock jumps",
    "damaged bytes", "changed data", "two writers", "lost network", "gradients that are no numbers", "memory limits",
    "hostile inputs", "hostile visitors",
}  # fmt: skip


def marked(path):
    """Give the words of all `pytest.mark.faults(...)` in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.faults":
            yield from (ast.literal_eval(word) for word in node.args)


def test_every_kind_of_fault_has_a_test():
    found = {}
    for path in TESTS.rglob("test_*.py"):
        for kind in marked(path):
            found.setdefault(kind, []).append(path.name)
    assert set(found) == KINDS
