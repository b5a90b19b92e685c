"""Lamina without what only Linux has: what is hidden is not missed, and what Windows refuses is not asked of it."""

import ast
import errno
import gc
import importlib.util
import io
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
import typer
import yaml

from lamina import _system
from lamina._errors import RunError
from lamina.cli import app
from lamina.kernels import _nvrtc, native
from lamina.studies.folder import _StudyFolder
from lamina.training.files import cannot_write
from lamina.training.folder import RunFolder

ROOT = Path(__file__).resolve().parents[1]
OTHERS = ROOT / "tests" / "other_systems"


@pytest.fixture
def windows(monkeypatch):
    """Let `lamina._system` believe that it runs on Windows, unless it does."""
    if sys.platform == "win32":
        return
    if sys.platform != "linux":
        pytest.skip("needs Linux")
    spec = importlib.util.spec_from_file_location("other_systems", OTHERS / "sitecustomize.py")
    played = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(played)
    monkeypatch.setattr(_system, "WINDOWS", True)
    monkeypatch.setitem(sys.modules, "msvcrt", played.fake_msvcrt())
    monkeypatch.setattr("ctypes.WinDLL", lambda name: {"kernel32": played.Kernel32()}[name], raising=False)


@pytest.fixture(params=["here", "windows"])
def both(request):
    if request.param == "windows":
        request.getfixturevalue("windows")


# The parts

CORES = """
import os, sys, threading, lamina._system as system
common = sorted(os.sched_getaffinity(os.getppid()))
wait, names = threading.Event(), {"other": None, "lamina-late": None}
def live(name):
    names[name] = threading.get_native_id()
    with open(f"/proc/self/task/{names[name]}/comm", "w") as file:
        file.write(name)
    wait.wait()
for name in names:
    threading.Thread(target=live, args=(name,)).start()
while None in names.values():
    pass
def cores():
    found = {tuple(sorted(os.sched_getaffinity(int(thread)))) for thread in os.listdir("/proc/self/task")}
    return list(found)
first, half = common[0], len(common) // 2
system.keep_to_cores(1, 2)
assert cores() == [tuple(common[half : 2 * half] or common)], cores()
system.keep_to_cores(0, len(common))
assert cores() == [(first,)], cores()
system.keep_to_cores(0, len(common) + 1)
assert cores() == [tuple(common)], cores()
system.keep_to_cores(0, len(common))
system.keep_to_cores(0, len(common), threads=2)
assert cores() == [tuple(common)], cores()
system.keep_to_cores(0, 1)
os.sched_setaffinity(0, {common[-1]})  # somebody else chooses
system.keep_to_cores(0, len(common))
assert os.sched_getaffinity(0) == {common[-1]} and (len(common) == 1 or len(cores()) == 2)
system.let_others_finish("lamina-late")
assert os.sched_getscheduler(names["lamina-late"]) == os.SCHED_BATCH
assert os.sched_getscheduler(names["other"]) == os.sched_getscheduler(0) == os.SCHED_OTHER
wait.set()
"""


def test_a_process_keeps_to_its_cores_and_a_thread_interrupts_nobody():
    if sys.platform != "linux":
        pytest.skip("needs Linux")
    done = subprocess.run([sys.executable, "-c", CORES], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_cores_are_left_alone_where_nobody_can_choose_them(monkeypatch):
    for name in ("sched_setaffinity", "SCHED_BATCH"):
        monkeypatch.delattr(os, name, raising=False)
    monkeypatch.setattr(_system, "_threads", lambda: pytest.fail("nothing can be asked"))
    _system.keep_to_cores(0, 2)
    _system.let_others_finish("lamina-late")


def test_a_lock_keeps_others_out_until_it_is_let_go(both, tmp_path):
    with open(tmp_path / "file", "ab") as mine, open(tmp_path / "file", "ab") as theirs:
        mine.write(b"some text")
        mine.flush()
        _system.lock(mine.fileno())
        with pytest.raises(OSError) as said:
            _system.lock(theirs.fileno(), wait=False)
        assert said.value.errno in (errno.EACCES, errno.EAGAIN)
        assert (tmp_path / "file").read_bytes() == b"some text"
        timer = threading.Timer(0.1, _system.unlock, (mine.fileno(),))
        begun = time.monotonic()
        timer.start()
        _system.lock(theirs.fileno())
        assert time.monotonic() - begun >= 0.09
        timer.join()
        theirs.write(b" and more")
        theirs.flush()
        assert (tmp_path / "file").read_bytes() == b"some text and more"


def test_a_lock_that_fails_for_another_reason_is_an_error_at_once(windows, tmp_path, monkeypatch):
    def refuse(handle, mode, count):
        raise OSError(errno.EINVAL, "no locks here")

    monkeypatch.setattr(sys.modules["msvcrt"], "locking", refuse)
    with open(tmp_path / "file", "ab") as file, pytest.raises(OSError, match="no locks here"):
        _system.lock(file.fileno())


def test_a_process_is_known_by_its_start(both):
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    born = _system.birth(process.pid)
    assert born is not None and born == _system.birth(process.pid) != _system.birth(os.getpid())
    process.kill()
    until = time.monotonic() + 10
    while _system.birth(process.pid) and time.monotonic() < until:
        time.sleep(0.01)
    assert _system.birth(process.pid) is None  # not fetched yet
    process.communicate()
    assert _system.birth(process.pid) is None


@pytest.mark.posix
def test_without_proc_the_system_is_asked(monkeypatch):
    if shutil.which("ps") is None:
        pytest.skip("needs ps")
    monkeypatch.setattr(_system, "Path", lambda name: Path("/nowhere" + name))
    assert _system.birth(os.getpid()) == _system.birth(os.getpid()) is not None
    assert _system.birth(2**22 + 1) is None


def busy(monkeypatch, times):
    """Let the first moves of a file be refused, and count all."""
    real, seen = os.replace, []

    def replace(draft, path):
        seen.append(path)
        if len(seen) <= times:
            raise PermissionError(errno.EACCES, "The process cannot access the file")
        real(draft, path)

    monkeypatch.setattr(os, "replace", replace)
    return seen


def test_a_file_that_is_open_elsewhere_is_waited_for_on_windows(windows, tmp_path, monkeypatch):
    seen = busy(monkeypatch, 3)
    (tmp_path / "draft").write_bytes(b"new")
    _system.replace(tmp_path / "draft", tmp_path / "file")
    assert len(seen) == 4 and (tmp_path / "file").read_bytes() == b"new"
    monkeypatch.setattr(_system, "PATIENCE", 0.05)
    busy(monkeypatch, 10**9)
    with pytest.raises(PermissionError):
        _system.replace(tmp_path / "file", tmp_path / "other")


def test_elsewhere_a_refusal_is_final(tmp_path, monkeypatch):
    monkeypatch.setattr(_system, "WINDOWS", False)
    seen = busy(monkeypatch, 1)
    with pytest.raises(PermissionError):
        _system.replace(tmp_path / "draft", tmp_path / "file")
    assert len(seen) == 1


def test_what_is_no_longer_needed_is_removed_if_it_can_be(tmp_path, monkeypatch):
    monkeypatch.setattr(_system, "WINDOWS", False)
    (tmp_path / "old").touch()
    _system.remove(tmp_path / "old")
    _system.remove(tmp_path / "old")
    assert not (tmp_path / "old").exists()

    def refuse(self, missing_ok=False):
        raise PermissionError(errno.EACCES, "The process cannot access the file")

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(PermissionError):
        _system.remove(tmp_path / "old")
    monkeypatch.setattr(_system, "WINDOWS", True)
    _system.remove(tmp_path / "old")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("runs/fnn-iris", ""),
        ("../runs.old/./Äpfel 2", ""),
        ("runs/console", ""),
        ("runs/a:b", "Windows allows no ':' in a name"),
        ("what?", "Windows allows no '?' in a name"),
        ("runs/con", "Windows reserves the name 'con'"),
        ("NUL.csv/x", "Windows reserves the name 'NUL.csv'"),
        ("runs/lpt1", "Windows reserves the name 'lpt1'"),
        ("runs/end.", "a name cannot end with '.' on Windows"),
        ("runs/end /x", "a name cannot end with ' ' on Windows"),
    ],
)
def test_names_that_windows_does_not_have(name, why, windows, monkeypatch):
    assert _system.refused(Path(name)) == why
    monkeypatch.setattr(_system, "WINDOWS", False)
    assert _system.refused(Path(name)) == ""


def test_a_drive_is_no_character_in_a_name(windows):
    class Drive:
        parts, anchor = ("C:\\", "runs", "a"), "C:\\"

    assert _system.refused(Drive()) == ""


def test_the_sentences_for_windows(windows, tmp_path):
    with pytest.raises(
        RunError, match=r"cannot make the run folder .*con: Windows reserves .* Choose another with --out"
    ):
        RunFolder.create(tmp_path / "con")
    with pytest.raises(RunError, match=r"study folder .*a:b: Windows allows no ':' in a name\. .* with --folder"):
        _StudyFolder.create(tmp_path / "a:b", {})
    said = cannot_write(Path("history.jsonl"), PermissionError(errno.EACCES, "x"))
    assert "permission denied: close the program that has it open, or choose another folder with --out, or copy" in said


def test_no_compiler_is_asked_on_windows(monkeypatch):
    monkeypatch.setattr(native, "WINDOWS", True)
    assert native.compiler() is None


def test_the_libraries_of_cuda_have_other_names_on_windows(as_user, monkeypatch):
    monkeypatch.setattr(_nvrtc, "WINDOWS", True)
    monkeypatch.setattr(_nvrtc.torch.version, "cuda", "12.8")
    monkeypatch.setattr(_nvrtc.ctypes, "CDLL", lambda name: name)
    assert (_nvrtc._compiler.__wrapped__(), _nvrtc._driver.__wrapped__()) == ("nvrtc64_120_0.dll", "nvcuda.dll")


def test_the_signals_that_stop():
    assert set(_system.STOPS) >= {signal.SIGINT, signal.SIGTERM}


@pytest.mark.posix
def test_a_process_steps_back():
    code = "import os; from lamina._system import step_back; step_back(3); print(os.nice(0))"
    before = os.nice(0)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert int(done.stdout) == min(19, before + 3)


def test_a_process_ends_with_the_one_that_started_it():
    child = (
        "import os, time; from lamina._system import end_with; end_with(os.getppid()); "
        "print(os.getpid(), flush=True); time.sleep(600)"
    )
    parent = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {child!r}]); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, encoding="utf-8") as process:
        started = psutil.Process(int(process.stdout.readline()))
        assert started.is_running()
        process.kill()
    assert psutil.wait_procs([started], timeout=60)[0]


# Whole commands


def played(system, folder, *command, encoding="utf-8", **variables):
    """Run Python on this system or another one, with no program beside `ps`."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    if system == "macos" and not (programs / "ps").exists():
        (programs / "ps").symlink_to(shutil.which("ps"))
    kept = {name: value for name, value in os.environ.items() if name not in ("CXX", "PYTHONPATH")}
    path = os.pathsep.join(map(str, [OTHERS, ROOT / "tests", *filter(None, [os.environ.get("PYTHONPATH")])]))
    environment = {**kept, "SYSTEM": system, "PATH": str(programs), "PYTHONPATH": path, **variables}
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding=encoding,
        errors="replace",
    )


COMMANDS = [
    "data list",
    "train fnn --data rows.csv --target kind --epochs 2 --set hidden=8 --threads 1 --out runs/a",
    "resume runs/a --epochs 4",
    "evaluate runs/a",
    "predict runs/a rows.csv -o found.csv",
    "report runs/a",
    "search fnn learning_rate=1e-3,1e-2,3e-2 --data moons --epochs 2 --threads 1 --on processes:2 --folder s",
    "search --resume s",
]
PROGRAM = """
import json, sys, time
from counting import count
from lamina.cli import main
from lamina.pages.kit._jobs import Job, context

if __name__ == "__main__":
    for line in json.loads(sys.argv[1]):
        sys.argv = ["lamina", *line.split()]
        try:
            main()
        except SystemExit as end:
            assert not end.code, (line, end.code)
    job = Job(count, to=5, pause=0.0)
    until = time.monotonic() + 120
    while job.state in ("waiting", "running") and time.monotonic() < until:
        job.poll()
        time.sleep(0.01)
    print(context().get_start_method(), job.state, job.rows)
"""


def everything(system, folder):
    """Run all commands and a job of the pages on a system."""
    rows = [f"{i % 7},{i * 5 % 11},{'müde' if (i % 7) * 2 > i * 5 % 11 else 'wach'}" for i in range(120)]
    (folder / "rows.csv").write_text("\n".join(["a,b,kind", *rows, ""]), encoding="utf-8")
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    done = played(system, folder, "program.py", json.dumps(COMMANDS))
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ordinary")
    return folder, everything("", folder)


def scores(folder):
    """Give the score of each trial of a study, whoever computed it."""
    events = map(json.loads, (folder / "s/journal.jsonl").read_bytes().splitlines())
    return {event["trial"]: event["value"] for event in events if event["event"] == "result"}


@pytest.mark.linux
@pytest.mark.parametrize("system", ["windows", "macos"])
def test_every_command_works_on_other_systems_and_gives_the_same(system, ordinary, tmp_path):
    if shutil.which("ps") is None:
        pytest.skip("needs ps")
    home, said = ordinary
    out = everything(system, tmp_path)
    for name in ("config.toml", "preprocess.json", "history.jsonl", "weights.safetensors", "evaluation.json"):
        assert (tmp_path / "runs/a" / name).read_bytes() == (home / "runs/a" / name).read_bytes(), name
    assert (tmp_path / "found.csv").read_bytes() == (home / "found.csv").read_bytes()
    assert (tmp_path / "runs/a/report.html").stat().st_size > 10_000
    assert "note: no C++ compiler was found, so torch computes the stacked networks" in out
    # Without kernels the width of a stack may change the last bits.
    assert scores(tmp_path) == pytest.approx(scores(home), rel=1e-4) and len(scores(home)) == 3
    assert said.endswith("forkserver done [1, 2, 3, 4, 5]\n")
    assert out.endswith(f"{'spawn' if system == 'windows' else 'forkserver'} done [1, 2, 3, 4, 5]\n")


@pytest.mark.linux
def test_the_command_starts_again_and_ends_as_the_new_one_does(tmp_path):
    code = (
        "import os, sys; from lamina._system import restart; print(os.environ.get('MORE'), flush=True); "
        "os.environ.get('MORE') or restart({'MORE': 'yes'}); sys.exit(7)"
    )
    for system in ("", "windows"):
        done = played(system, tmp_path, "-c", code)
        assert (done.returncode, done.stdout) == (7, "None\nyes\n"), done.stderr


@pytest.mark.linux
@pytest.mark.parametrize(("encoding", "cat", "sign"), [("cp1252", r"\u732b", "ü"), ("ascii", r"\u732b", r"\xfc")])
def test_a_console_that_lacks_characters_gets_their_numbers(encoding, cat, sign, tmp_path):
    (tmp_path / "pets.csv").write_text("weight,kind\n" + "4,猫\n30,müde\n" * 3, encoding="utf-8")
    words = ("-m", "lamina", "data", "show", "pets.csv", "--target", "kind")
    done = played("windows", tmp_path, *words, encoding=encoding, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert done.returncode == 0 and f"  {cat} " in done.stdout and f"  m{sign}de " in done.stdout, done.stderr


@pytest.mark.linux
def test_the_machine_is_really_another_one(tmp_path):
    """What is hidden cannot be had, so that the tests above would notice who asks for it."""
    code = """
import os, pathlib, signal
def tried(action):
    try:
        return repr(action())
    except BaseException as error:
        return type(error).__name__
file = open("file", "w")
print(*map(tried, [
    lambda: __import__("fcntl"), lambda: pathlib.Path("/proc/self/stat").read_text(), lambda: os.pread,
    lambda: os.open(".", os.O_RDONLY), lambda: os.replace("other", "file"), lambda: os.execve("a", [], {}),
    lambda: signal.SIGHUP, lambda: os.unlink("file"), lambda: __import__("multiprocessing").get_all_start_methods()]))
"""
    (tmp_path / "other").touch()
    found = played("windows", tmp_path, "-c", code).stdout
    assert found == (
        "ModuleNotFoundError FileNotFoundError AttributeError PermissionError PermissionError AssertionError "
        "AttributeError PermissionError ['spawn']\n"
    )


# The texts


def without_encoding(tree):
    """Find calls that read or write text in the encoding of whoever runs them."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or any(word.arg == "encoding" for word in node.keywords):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        binary = any(isinstance(a, ast.Constant) and isinstance(a.value, str) and "b" in a.value for a in node.args[1:])
        words = {word.arg for word in node.keywords}
        if (
            (name == "read_text" and not node.args)
            or (name == "write_text" and len(node.args) < 2)
            or (isinstance(node.func, ast.Name) and name == "open" and not binary)
            or (name in ("run", "Popen", "check_output") and words & {"text", "universal_newlines"})
        ):
            yield node.lineno, ast.unparse(node)


def test_calls_without_an_encoding_are_found():
    calls = ("p.read_text()", "p.write_text(t)", "open(f, 'w')", "run(w, text=True)", "open(f, 'rb')", "p.read_text(e)")
    assert [line for line, _ in without_encoding(ast.parse("\n".join(calls)))] == [1, 2, 3, 4]


@pytest.mark.parametrize("folder", ["src", "benchmarks", "tools", "examples"])
def test_every_text_has_an_encoding(folder):
    found = [
        f"{path.relative_to(ROOT)}:{line}: {call}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, call in without_encoding(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


def test_only_one_module_asks_which_system_it_is():
    asks = re.compile(r"sys\.platform ==|os\.name\b|import (fcntl|msvcrt|resource|pwd|grp|termios)\b|os\.fork\(")
    found = {
        path.relative_to(ROOT / "src/lamina").as_posix()
        for path in (ROOT / "src/lamina").rglob("*.py")
        if asks.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"_system.py"}


def test_a_stream_that_cannot_be_changed_stays(monkeypatch):
    for stream in (io.StringIO(), io.TextIOWrapper(io.BytesIO(), encoding="ascii")):
        monkeypatch.setattr(sys, "stdout", stream)
        _system.use_any_console()
    stream.write("−")
    stream.flush()
    assert stream.buffer.getvalue() == rb"\u2212"


# The workflow for the three systems


@pytest.fixture(scope="module")
def job():
    text = (ROOT / ".github/workflows/systems.yml").read_text(encoding="utf-8")
    assert "has not been run by us yet" in text and "://" not in text
    return yaml.safe_load(text)["jobs"]["tests"]


def test_the_workflow_names_the_systems_and_a_python_that_is_supported(job):
    matrix = job["strategy"]["matrix"]
    assert [name.partition("-")[0] for name in matrix["system"]] == ["ubuntu", "macos", "windows"]
    oldest = re.search(r'requires-python = ">=(3\.\d+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))[1]
    assert matrix["python"][0] == oldest and all(isinstance(name, str) for name in matrix["python"])


def test_the_workflow_names_commands_and_files_that_exist(job):
    lines = [line for step in job["steps"] for line in step.get("run", "").splitlines()]
    assert len(lines) == 8 and "make" not in " ".join(lines)
    verbs = typer.main.get_command(app).commands
    for words in map(str.split, lines):
        if words[:2] == ["python", "-m"]:
            assert importlib.util.find_spec(words[2]), words
        else:
            assert words[0] == "lint-imports" or (words[0] == "lamina" and words[1] in verbs), words
        for word in words[3:]:
            assert not word.startswith("tests/") or (ROOT / word).is_dir(), word
    extras = re.search(r'-e "\.\[(\w+)\]"', "\n".join(lines))[1]
    assert f"\n{extras} = [" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_memory_is_asked_of_the_system_and_given_back(monkeypatch):
    assert 2**20 < _system.free_memory() < 2**50
    _system.give_back()
    monkeypatch.setattr(_system.Path, "read_text", lambda self, **options: "MemTotal: 7 kB\nMemAvailable: 3 kB\n")
    assert _system.free_memory() == 3072
    monkeypatch.setattr(_system.Path, "read_text", lambda self, **options: "nothing")
    assert _system.free_memory() == 4 * 2**30


def group(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / f"memory.{name}").write_text(f"{content}\n")


@pytest.fixture
def process(tmp_path):
    """Tell a process about its groups: the lines of /proc/self/cgroup and where they are mounted."""

    def tell(groups, *mounts):
        own = tmp_path / "self"
        own.mkdir()
        (own / "cgroup").write_text(groups)
        rows = [f"35 31 0:32 {m[1]} {tmp_path / m[2]} rw,relatime - {m[0]} {m[0]} rw,{m[3]}\n" for m in mounts]
        (own / "mountinfo").write_text("22 1 8:1 / / rw - ext4 /dev/sda rw\n" + "".join(rows))
        return own

    return tell


@pytest.mark.posix
def test_a_group_of_version_2_and_those_above_it_limit_the_memory(tmp_path, process):
    own = process("0::/class/student\n", ("cgroup2", "/", "top", "nsdelegate"))
    group(tmp_path / "top/class/student", max="max", current=300, stat="anon 1\ninactive_file 50")
    assert _system._left_to_group(own) == math.inf
    group(tmp_path / "top/class", max=1000, current=700, stat="anon 600\ninactive_file 100\nactive_file 7")
    assert _system._left_to_group(own) == 1000 - 700 + 100
    group(tmp_path / "top/class/student", max=350)
    assert _system._left_to_group(own) == 350 - 300 + 50


@pytest.mark.posix
def test_a_group_of_version_1_limits_the_memory_and_a_container_sees_its_own_as_the_topmost(tmp_path, process):
    own = process(
        "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/\n",
        ("cgroup", "/docker/abc", "cpu", "cpu,cpuacct"),
        ("cgroup", "/docker/abc", "memory", "memory"),
    )
    files = {"limit_in_bytes": 5000, "usage_in_bytes": 4500, "stat": "inactive_file 3\ntotal_inactive_file 200"}
    group(tmp_path / "memory", **files)
    group(tmp_path / "cpu", **files | {"limit_in_bytes": 1})
    assert _system._left_to_group(own) == 5000 - 4500 + 200
    (own / "cgroup").write_text("4:memory:/elsewhere\n")  # seen from a namespace beside
    assert _system._left_to_group(own) == 700


def test_free_memory_is_what_the_group_leaves(monkeypatch):
    assert _system._left_to_group(Path("/nowhere")) == math.inf
    monkeypatch.setattr(_system, "_left_to_group", lambda: 2**20)
    assert _system.free_memory() == (2**20 if Path("/proc/meminfo").exists() else _system._UNKNOWN)


SHARES = """
import sys
from lamina import _system
memory = _system.shared_by(sys.argv[1], 5000)
memory[4990:] = bytes(range(10))
"""


@pytest.mark.parametrize("named", [True, False], ids=["anonymous", "file"])
def test_a_child_writes_into_shared_memory(monkeypatch, named):
    if not named:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    memory, name, handles = _system.shared(5000)
    subprocess.run([sys.executable, "-c", SHARES, name], pass_fds=handles, check=True)
    for handle in handles:
        os.close(handle)
    assert memory[4990:] == bytes(range(10)) and memory[:4990] == bytes(4990)
    memory.close()


def test_memory_that_has_no_room_is_refused_before_it_is_used(monkeypatch):
    gc.collect()  # files that tests before this one have left are closed now, and not in between
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    monkeypatch.setattr(os, "write", lambda handle, content: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    with pytest.raises(OSError, match="full"):
        _system.shared(5000)
    assert not before or len(os.listdir("/proc/self/fd")) == before


def test_windows_shares_memory_by_its_name(windows, monkeypatch):
    asked = []
    monkeypatch.setattr(_system.mmap, "mmap", lambda *places, **named: asked.append((places, named)))
    _, name, handles = _system.shared(5000)
    _system.shared_by(name, 5000)
    assert handles == () and asked == [((-1, 5000), {"tagname": name})] * 2


ARENAS = """
import ctypes, sys, threading
from lamina._system import one_arena
if sys.argv[1] == "one":
    one_arena()
libc, gate = ctypes.CDLL(None), threading.Barrier(7)
libc.malloc.restype = libc.fopen.restype = ctypes.c_void_p
def take():
    libc.malloc(50_000)
    gate.wait()
threads = [threading.Thread(target=take) for _ in range(6)]
for thread in threads: thread.start()
gate.wait()
for thread in threads: thread.join()
file = ctypes.c_void_p(libc.fopen(sys.argv[2].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc has arenas")
def test_threads_take_memory_from_one_place(tmp_path):
    found = []
    for which in ("one", "many"):
        subprocess.run([sys.executable, "-c", ARENAS, which, str(tmp_path / which)], check=True)
        found.append((tmp_path / which).read_text().count("<heap nr="))
    assert found[0] == 1 < found[1]
