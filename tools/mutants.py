"""Change the source by one operator at a time and see whether a test that runs the changed line fails.

    python tools/mutants.py                 # `make mutants`: sample, run what has no verdict yet, write the record
    python tools/mutants.py --count 40      # only the first so many that have no verdict
    python tools/mutants.py --control 20    # the tests of so many mutants on the unchanged text: all must survive

Operators are those of cosmic-ray (`OPERATORS`), positions are sampled with a seed, so many per group (`GROUPS`). Which
tests run a line is measured first, test file by test file, and kept in build/mutants. Nothing on disk is changed: one
process imports torch once and forks a child per mutant, whose import system compiles the changed text. A verdict
"killed" stays in the record as long as the changed text does; what survived is run again each time. A mutant that no
test can notice is listed with the reason in tools/equivalent_mutants.toml and leaves the denominator.
"""

import argparse
import ast
import hashlib
import json
import os
import select
import signal
import sys
import time
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RECORD, CACHE = ROOT / "benchmarks/records/mutants.json", ROOT / "build/mutants"
SEED = 13
LOOP = ("loop", "stopping", "recipe", "objective", "tasks/feed")
GROUPS = {
    "functional": (110, ["functional/*.py"]),
    "layers": (90, ["layers/*.py"]),
    "classical": (90, ["classical/*.py", "backprop/*.py"]),
    "architectures": (80, ["architectures/*.py"]),
    "rest": (70, ["data/splits.py", *(f"training/{name}.py" for name in LOOP)]),
}
"""How many mutants each group gives, and its files below src/lamina."""
LEFT_OUT = {
    "__init__.py": "re-exports only",
    "layers/_fused.py": "chooses between a readable form and its kernel",
    "layers/half_weights.py": "fast path of torch.autocast",
    "layers/memory_format.py": "changes the speed only",
}
"""Ends of file names that are not readable forms of the notes, with the reason."""
RULES = [
    "not in annotations, signatures (but in their defaults), type unions outside functions, `if TYPE_CHECKING`",
    "not in `zip(strict=...)`, which asserts what the lines above made true",
    "not inside a `raise` statement: it holds the wording of a message",
    "one mutant per position, its operator chosen by the seed; a change that leaves the syntax tree as it was is none",
]
BINARY = (
    "Add_Sub Sub_Add Mul_Div Div_Mul Mul_Add FloorDiv_Div FloorDiv_Mul Mod_FloorDiv Pow_Mul BitOr_BitAnd BitAnd_BitOr"
)
COMPARISON = "Eq_NotEq NotEq_Eq Lt_LtE Lt_GtE LtE_Lt LtE_Gt Gt_GtE Gt_LtE GtE_Gt GtE_Lt Is_IsNot IsNot_Is"
OPERATORS = [
    *(f"ReplaceBinaryOperator_{pair}" for pair in BINARY.split()),
    *(f"ReplaceComparisonOperator_{pair}" for pair in COMPARISON.split()),
    *(f"ReplaceUnaryOperator_Delete_{name}" for name in ("USub", "Invert", "Not")),
    *("AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd"),
    *("ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "NumberReplacer", "RemoveDecorator"),
    "ZeroIterationForLoop",
]
"""Of cosmic-ray's 200 operators those whose mutants a person could have written, not `+` to `<<`, which raises."""
TESTS = [
    *(f"tests/{name}" for name in ("functional", "layers", "classical", "backprop", "architectures", "conformance")),
    *("tests/data/test_splits.py", "tests/training/test_fit.py", "tests/training/test_update.py"),
    *(f"tests/training/test_{name}.py" for name in ("change", "diagnosis", "learner", "line_search", "schedules")),
    "tests/training/executors/test_eager.py",
    "tests/kernels/test_torch_recurrent.py",  # the readable loop of layers/recurrent.py with every option
]
"""Beside the doctests of the files and the tests that mirror them."""
SIGNATURES = "tests/conformance/test_defaults.py"
"""Reads signatures, so it notices lines that run at import only."""


@dataclass(frozen=True)
class Mutant:
    """One change of one file: which operator where, and the lines before and after."""

    file: str
    line: int
    operator: str
    before: str
    after: str
    number: int
    """Which of the equal lines of the file."""

    @property
    def key(self) -> str:
        """What names it in the record while the file around it changes."""
        return digest(self.file, self.before, self.after, self.number)


def digest(*parts: object) -> str:
    """Return a short hash of some texts."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]


# Which mutants there are


def files() -> dict[str, list[str]]:
    """Return the files of each group, relative to the root."""
    found = {}
    for group, (_, patterns) in GROUPS.items():
        paths = [path for pattern in patterns for path in sorted((ROOT / "src/lamina").glob(pattern))]
        names = [path.relative_to(ROOT).as_posix() for path in paths]
        found[group] = [name for name in names if not name.endswith(tuple(LEFT_OUT))]
    return found


def forbidden(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the spans in which nothing is changed, as pairs of (line, column); see `RULES`."""
    nodes: list[Any] = []
    spans = []
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign):
            nodes.append(node.annotation)
        elif isinstance(node, ast.Raise):
            nodes.append(node)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            nodes.append(node)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "zip":
            nodes += node.keywords
        elif isinstance(node, ast.FunctionDef):
            # Of a signature only the defaults: annotations are no code, and a bare * would be read as a product.
            place = node.lineno, node.col_offset
            for default in filter(None, (*node.args.defaults, *node.args.kw_defaults)):
                spans.append((place, (default.lineno, default.col_offset)))
                place = default.end_lineno or 0, default.end_col_offset or 0
            spans.append((place, (node.body[0].lineno, 0)))
    for outer in (tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))):
        for statement in outer.body:
            if isinstance(statement, ast.Assign):
                nodes += [n for n in ast.walk(statement) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.BitOr)]
    return spans + [((n.lineno, n.col_offset), (n.end_lineno, n.end_col_offset)) for n in nodes]


@dataclass(frozen=True)
class Position:
    """A place in a file where something can be changed; the smallest keys are sampled."""

    key: str
    file: str
    line: int
    number: int
    """Which of the equal lines of the file, so that the key does not depend on what stands above."""
    ways: tuple[tuple[str, int], ...]
    """Operators, and which of their places this is, in an order drawn by the seed."""


def positions(source: str, file: str, seed: int) -> list[Position]:
    """Return the places of a source text where an operator may act."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator

    spans, nodes, lines = forbidden(source), list(ast_nodes(get_ast(source))), source.splitlines()
    ways: dict[tuple[int, int], list[tuple[str, int]]] = {}
    for name in OPERATORS:
        operator, occurrence = get_operator(f"core/{name}")(), 0
        for node in nodes:
            for start, _ in operator.mutation_positions(node):
                if not any(first <= start < last for first, last in spans):
                    ways.setdefault(start, []).append((name, occurrence))
                occurrence += 1
    found, seen = [], dict[tuple[str, int], int]()
    for (line, column), choices in sorted(ways.items()):
        place = lines[line - 1], column
        seen[place] = seen.get(place, -1) + 1
        key = digest(seed, file, *place, seen[place])
        order = [way for _, way in sorted((digest(key, k, way[0]), way) for k, way in enumerate(choices))]
        found.append(Position(key, file, line, seen[place], tuple(order)))
    return found


def mutate(source: str, position: Position) -> tuple[Mutant, str] | None:
    """Return the mutant of a position and the changed text, or None where every change leaves the syntax tree."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    for name, occurrence in position.ways:
        changed = mutate_code(source, get_operator(f"core/{name}")(), occurrence)
        if changed is not None and _parsed(changed) not in (None, _parsed(source)):
            before, after = _difference(source.splitlines(), changed.splitlines())
            return Mutant(position.file, position.line, name, before, after, position.number), changed
    return None


def _parsed(source: str) -> str | None:
    try:
        return ast.dump(ast.parse(source))
    except SyntaxError:
        return None


def _difference(before: list[str], after: list[str]) -> tuple[str, str]:
    """Return the lines that differ, without their indentation."""
    head = next(k for k in range(len(before) + 1) if before[: k + 1] != after[: k + 1])
    tail = next(k for k in range(len(before) + 1) if before[-1 - k :] != after[-1 - k :] or k >= len(before) - head)
    cut = [lines[head : max(head + 1, len(lines) - tail)] for lines in (before, after)]
    return "\n".join(map(str.strip, cut[0])), "\n".join(map(str.strip, cut[1]))


def sample(seed: int) -> list[tuple[str, Mutant, str]]:
    """Return the sampled mutants with their group and text: those with the smallest keys of each group.

    A change in one file moves no mutant of another, unless the key of the last one drawn changes.
    """
    found = []
    for group, names in files().items():
        texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in names}
        every = [place for name, text in texts.items() for place in positions(text, name, seed)]
        made = (mutate(texts[place.file], place) for place in sorted(every, key=lambda place: place.key))
        found += [(group, *pair) for pair in islice(filter(None, made), GROUPS[group][0])]
    return found


# Children that run tests


class Reports:
    """Send the outcome of every test through a pipe, and name the test to the coverage measurement."""

    def __init__(self, pipe: int, measured: Any = None) -> None:
        self._pipe, self._measured = pipe, measured

    def send(self, kind: str, test: str, value: object = "") -> None:
        """Write one line."""
        os.write(self._pipe, (json.dumps([kind, test, value]) + "\n").encode())

    def pytest_runtest_logstart(self, nodeid: str) -> None:  # noqa: D102
        if self._measured is not None:
            self._measured.switch_context(nodeid.split("[")[0])

    def pytest_runtest_logreport(self, report: Any) -> None:  # noqa: D102
        self.send("failed" if report.failed else "passed", report.nodeid, report.duration)

    def pytest_collectreport(self, report: Any) -> None:  # noqa: D102
        if report.failed:
            self.send("failed", f"{report.nodeid} (import)")


def child(tests: Iterable[str], pipe: int, root: Path, change: tuple[str, str] | None, measure: list[str]) -> None:
    """Run tests in this process, which was forked for it, with one file's text changed or with its lines measured."""
    os.setsid()
    os.chdir(root)
    quiet = os.open(CACHE / "last.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    import pytest
    from hypothesis import settings

    settings.register_profile("mutants", database=None, derandomize=True)  # the same examples each time
    settings.load_profile("mutants")
    if change is not None:
        compile_changed(str(root / change[0]), change[1])
    measured: Any = None
    if measure:
        import coverage

        measured = coverage.Coverage(data_file=None, include=[str(root / name) for name in measure])
        measured.start()
    reports = Reports(pipe, measured)
    # Left to pytest, a file whose doctests run would be imported again, and its classes would exist twice.
    for module in {module_of(test.split("::")[0]) for test in tests if test.startswith("src/")}:
        try:
            import_module(module)
        except Exception as problem:
            return reports.send("failed", f"{type(problem).__name__} (import)")
    arguments = ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    code = pytest.main(arguments[1:] if measure else arguments, plugins=[reports])
    if measured is not None:
        measured.stop()
        data = measured.get_data()
        for name in measure:
            lines = data.contexts_by_lineno(str(root / name))
            reports.send("lines", name, {k: [t for t in found if t] for k, found in lines.items() if any(found)})
    reports.send("end", "", int(code))


def module_of(file: str) -> str:
    """Return the name of a source file's module."""
    return file.removeprefix("src/").removesuffix(".py").replace("/", ".")


def compile_changed(path: str, changed: str) -> None:
    """Make this process compile another text whenever it imports one file."""
    load: Callable[..., CodeType | None] = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, name: str) -> CodeType | None:
        return compile(changed, path, "exec") if self.path == path else load(self, name)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


def run(
    tests: list[str],
    patience: float,
    root: Path = ROOT,
    change: tuple[str, str] | None = None,
    measure: Iterable[str] = (),
) -> list[list[Any]]:
    """Fork a child that runs tests; return what it sent, with ["timeout", ...] if it was silent for too long."""
    CACHE.mkdir(parents=True, exist_ok=True)
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        os.close(reading)
        try:
            child(tests, writing, root, change, list(measure))
        finally:
            os._exit(0)
    os.close(writing)
    text, silent = b"", False
    while not silent:
        silent = not select.select([reading], [], [], patience)[0]
        piece = b"" if silent else os.read(reading, 1 << 20)
        if not piece:
            break
        text += piece
    os.close(reading)
    try:
        os.killpg(process, signal.SIGKILL)  # with what it started
    except ProcessLookupError:
        pass
    os.waitpid(process, 0)
    found = [json.loads(line) for line in text.split(b"\n")[:-1]]
    return [*found, ["timeout", "", patience]] if silent else found


# Which tests run which line


def mirrored(file: str) -> str:
    """Return the test file of a source file."""
    path = Path(file.replace("src/lamina", "tests"))
    return (path.parent / f"test_{path.name.lstrip('_')}").as_posix()


def test_files(names: list[str]) -> list[str]:
    """Return the files whose tests may run: those of `TESTS`, those that mirror the sources, and their doctests."""
    tests = {
        path.relative_to(ROOT).as_posix() for name in TESTS for path in (ROOT / name, *(ROOT / name).glob("test_*.py"))
    }
    tests = {name for name in {*tests, *map(mirrored, names), *names} if (ROOT / name).is_file()}
    return sorted(tests)


def measure(names: list[str]) -> tuple[dict[str, dict[int, set[str]]], dict[str, float]]:
    """Return for each line of the files the tests that run it, and the seconds that each test takes."""
    helpers = [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests/conformance").glob("[!t]*.py")]
    lines: dict[str, dict[int, set[str]]] = {name: {} for name in names}
    seconds: dict[str, float] = {}
    for test in test_files(names):
        kept = CACHE / f"{test.replace('/', '.')}.json"
        old = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {"stamp": "", "sent": []}
        if old["stamp"] != _stamp(test, helpers, old["sent"]):
            print(f"measuring {test}", flush=True)
            sent = run([test], 300, measure=names)
            failed = [name for kind, name, _ in sent if kind in ("failed", "timeout")]
            if failed or not sent or sent[-1][0] != "end":
                sys.exit(f"tests must pass before anything is changed, but {failed or test} fails: {CACHE}/last.log")
            old = {"stamp": _stamp(test, helpers, sent), "sent": sent}
            kept.write_text(json.dumps(old), encoding="utf-8")
        for kind, name, value in old["sent"]:
            if kind == "lines":
                for line, found in value.items():
                    lines[name].setdefault(int(line), set()).update(found)
            elif kind == "passed":
                seconds[name.split("[")[0]] = seconds.get(name.split("[")[0], 0.0) + value
    return lines, seconds


def _stamp(test: str, helpers: list[str], sent: list[list[Any]]) -> str:
    """Return a hash of a test file, of what it may import and of the sources whose lines it runs."""
    sources = [name for kind, name, lines in sent if kind == "lines" and lines and (ROOT / name).exists()]
    return digest(*((ROOT / name).read_text(encoding="utf-8") for name in (test, *sorted(helpers), *sorted(sources))))


def covering(line: int, source: str, lines: dict[int, set[str]], readers: Iterable[str] = ()) -> set[str]:
    """Return the tests that run the statement of a line.

    A signature runs at import: its tests are those of the function's body. What else runs at import concerns every
    test that runs a function of the file or is in a file that imports it.
    """
    every = list(ast.walk(ast.parse(source)))
    functions = [node for node in every if isinstance(node, ast.FunctionDef)]

    def tests(nodes: Iterable[ast.stmt]) -> set[str]:
        places = {k for node in nodes for k in range(node.lineno, (node.end_lineno or 0) + 1)}
        return set().union(*(lines.get(k, set()) for k in places))

    for node in sorted(functions, key=lambda node: -node.lineno):
        if node.body[0].lineno <= line <= (node.end_lineno or 0):
            inside = [n for n in ast.walk(node) if isinstance(n, ast.stmt) and n.lineno <= line <= (n.end_lineno or 0)]
            return tests([min(inside, key=lambda n: (n.end_lineno or 0) - n.lineno)])
    for node in functions:
        if node.lineno <= line < node.body[0].lineno:
            return tests(node.body) | {SIGNATURES}
    return tests(part for node in functions for part in node.body) | {SIGNATURES, *readers}


def ordered(tests: set[str], file: str, seconds: dict[str, float]) -> list[str]:
    """Put the tests of the file's own test file and its doctests first, then test files with few seconds."""
    own, cost = (mirrored(file), file), dict[str, float]()
    for test in tests:
        cost[test.split("::")[0]] = cost.get(test.split("::")[0], 0.0) + seconds.get(test, 0.0)
    return sorted(tests, key=lambda t: (t.split("::")[0] not in own, cost[t.split("::")[0]], t.split("::")[0], t))


# Verdicts


def judge(
    file: str, changed: str, tests: list[str], seconds: dict[str, float], root: Path = ROOT, patience: float = 30
) -> tuple[str, str]:
    """Return "killed" and by which test, or "survived" and how many tests passed."""
    if not tests:
        return "survived", "no test runs this line"
    sent = run(tests, patience + 10 * max(seconds.get(test, 0.0) for test in tests), root, (file, changed))
    for kind, name, value in sent:
        if kind == "failed":
            return "killed", name
        if kind == "timeout":
            return "killed", f"silent for {value:.0f} s"
    if not sent or sent[-1][0] != "end":
        return "killed", "the process ended"
    return "survived", f"{len(tests)} tests passed"


def summary(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Count verdicts by group and over all; equivalents leave the denominator.

    >>> rows = [{"group": "a", "verdict": v} for v in ("killed", "killed", "survived", "equivalent")]
    >>> summary(rows)["all"]
    {'sampled': 4, 'killed': 2, 'survived': 1, 'equivalent': 1, 'share': 0.6667}
    """
    found = {}
    for group in (*dict.fromkeys(row["group"] for row in rows), "all"):
        verdicts = [row["verdict"] for row in rows if group in (row["group"], "all")]
        counts = {name: verdicts.count(name) for name in ("killed", "survived", "equivalent")}
        share = counts["killed"] / max(1, counts["killed"] + counts["survived"])
        found[group] = {"sampled": len(verdicts), **counts, "share": round(share, 4)}
    return found


def with_verdicts(chosen: list[tuple[str, Mutant, str]]) -> dict[str, dict[str, Any]]:
    """Return the rows of the record for the sampled mutants, with the verdicts that are known."""
    old = (
        {row["key"]: row for row in json.loads(RECORD.read_text(encoding="utf-8"))["mutants"]}
        if RECORD.exists()
        else {}
    )
    reasons = {(e["file"], e["before"], e["after"]): e["reason"] for e in equivalents()}
    rows = {}
    for group, mutant, _ in chosen:
        row = rows[mutant.key] = {"key": mutant.key, "group": group, **asdict(mutant)}
        reason, before = reasons.get((mutant.file, mutant.before, mutant.after)), old.get(mutant.key)
        if reason is not None:
            row |= {"verdict": "equivalent", "by": reason}
        elif before is not None and before["verdict"] != "equivalent":
            row |= {"verdict": before["verdict"], "by": before["by"]}
    return rows


def main() -> None:
    """Run what has no verdict yet, in an order drawn by lot, and write the record after each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--seed", type=int, default=SEED, help="which mutants; other seeds write no record")
    parser.add_argument("--count", type=int, default=10**6, help="how many are run at most")
    parser.add_argument("--control", type=int, default=0, help="how many to run with nothing changed")
    options = parser.parse_args()
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
    import scipy.stats  # noqa: F401
    import sklearn.cluster
    import sklearn.linear_model  # noqa: F401
    import torch

    torch.set_num_threads(1)
    names = sorted(name for group in files().values() for name in group)
    lines, seconds = measure(names)
    tests = {name: (ROOT / name).read_text(encoding="utf-8") for name in test_files(names) if name not in names}

    def verdict_of(mutant: Mutant, changed: str) -> tuple[str, str]:
        source = (ROOT / mutant.file).read_text(encoding="utf-8")
        readers = [name for name, text in tests.items() if module_of(mutant.file) in text]
        found = ordered(covering(mutant.line, source, lines[mutant.file], readers), mutant.file, seconds)
        return judge(mutant.file, changed, found, seconds)

    chosen = sorted(sample(options.seed), key=lambda entry: (list(GROUPS).index(entry[0]), entry[1].key))
    if options.control:
        for _, mutant, _ in chosen[:: max(1, len(chosen) // options.control)]:
            verdict, by = verdict_of(mutant, (ROOT / mutant.file).read_text(encoding="utf-8"))
            print(f"unchanged: {verdict:8} {mutant.file}:{mutant.line}  {by}", flush=True)
        return
    rows = with_verdicts(chosen)
    todo = [(m, text) for _, m, text in chosen if rows[m.key].get("verdict", "survived") == "survived"]
    for number, (mutant, changed) in enumerate(sorted(todo, key=lambda pair: pair[0].key)[: options.count]):
        began = time.monotonic()
        verdict, by = verdict_of(mutant, changed)
        rows[mutant.key] |= {"verdict": verdict, "by": by}
        spent = time.monotonic() - began
        print(f"{number + 1}/{len(todo)} {spent:5.1f} s  {verdict:8} {mutant.file}:{mutant.line}  {by}", flush=True)
        if verdict == "survived":
            print(f"    - {mutant.before}\n    + {mutant.after}", flush=True)
        if options.seed == SEED:
            write([row for row in rows.values() if "verdict" in row])
    known = [row for row in rows.values() if "verdict" in row]
    if options.seed == SEED:
        write(known)
    for group, counts in summary(known).items():
        print(f"{group:14} {counts}")


def equivalents() -> list[dict[str, str]]:
    """Return the mutants that no test can notice, with reasons."""
    return tomllib.loads((ROOT / "tools/equivalent_mutants.toml").read_text(encoding="utf-8"))["mutant"]


def write(rows: list[dict[str, Any]]) -> None:
    """Write the record."""
    tools = {name: version(name) for name in ("cosmic-ray", "torch", "pytest", "hypothesis")}
    record = {"seed": SEED, "tools": tools, "rules": RULES, "left_out": LEFT_OUT, "operators": OPERATORS}
    record |= {"summary": summary(rows), "mutants": rows}
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
