"""The net under the tests holds: leaks and unlisted skips fail, and a plain test passes."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import safety

HERE = Path(__file__).parent
LEAKS = {
    "denormals flushed": "torch.set_flush_denormal(True)",
    "threads of torch": "torch.set_num_threads(2)",
    "default dtype": "torch.set_default_dtype(torch.float64)",
    "grad mode": "torch.set_grad_enabled(False)",
    "deterministic": "torch.use_deterministic_algorithms(True)",
    "precision": "torch.set_float32_matmul_precision('medium')",
    "signal handlers": "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
    "environment": "os.environ['LEFT'] = '1'",
    "working directory": "os.chdir('/')",
    "threads": "threading.Thread(target=time.sleep, args=(3,)).start()",
}


def test_leaks_and_unlisted_skips_fail(tmp_path):
    shutil.copy(HERE.parent / "conftest.py", tmp_path)
    tests = [f"def test_{n}():\n    {text}\n" for n, text in enumerate(LEAKS.values())]
    numbers = "np.random.rand(), random.random(), torch.rand(1).item()"
    tests.append(f"SEEN = []\ndef test_plain(generator):\n    SEEN.append([{numbers}])\n")
    tests.append(f"def test_next(generator):\n    assert SEEN == [[{numbers}]]\n")
    tests.append("@pytest.fixture(scope='module')\ndef net():\n    return torch.nn.Linear(2, 2).eval()\n")
    tests.append("def test_reads(net):\n    net(torch.ones(2))\n")
    tests.append("def test_writes(net):\n    torch.nn.init.ones_(net.weight)\n")
    tests.append("def test_switches(net):\n    net.train()\n")
    tests.append("def test_later(net):\n    pass\n")
    tests.append("def test_unlisted():\n    pytest.skip('it is Monday')\n")
    tests.append("def test_listed():\n    pytest.skip('needs a GPU')\n")
    imports = "import os, random, signal, threading, time\nimport numpy as np\nimport pytest\nimport torch\n"
    (tmp_path / "test_some.py").write_text(imports + "".join(tests))
    (tmp_path / "test_whole.py").write_text("import pytest\npytest.skip('no', allow_module_level=True)\n")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}
    environment["COLUMNS"] = "400"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rA", "--continue-on-collection-errors"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    for n, name in enumerate(LEAKS):
        assert (
            f"ERROR test_some.py::test_{n} - AssertionError: the test left the process changed: {name}:" in done.stdout
        )
    for name in ("writes", "switches"):
        said = (
            f"ERROR test_some.py::test_{name} - AssertionError: the test left the process changed: `net`, which other"
        )
        assert said in done.stdout
    assert not re.search("ERROR test_some.py::test_(reads|later)", done.stdout)
    assert "PASSED test_some.py::test_next" in done.stdout and "ERROR test_some.py::test_next" not in done.stdout
    assert "skipped because 'it is Monday', which is not on the list" in done.stdout
    assert "skipped because 'no', which is not on the list" in done.stdout
    assert "1 failed" in done.stdout and "1 skipped" in done.stdout and f"{len(LEAKS) + 3} errors" in done.stdout


def test_state_is_compared_item_by_item(monkeypatch, tmp_path):
    before = safety.state()
    assert safety.changes(before, safety.state()) == []
    monkeypatch.chdir(tmp_path)
    (found,) = safety.changes(before, safety.state())
    assert found == f"working directory: {before['working directory']} became {tmp_path}"


@pytest.mark.parametrize("reason", safety.REASONS)
def test_reasons_are_a_gpu_data_or_a_program(reason):
    assert reason.startswith("needs ")
