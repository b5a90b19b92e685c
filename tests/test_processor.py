"""bfloat16 on processors that announce more than they can run."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import lamina
from lamina import _processor
from lamina._errors import InstructionError
from lamina._processor import LIMIT, bfloat16_limit, require_bfloat16
from lamina.data import synthetic
from lamina.kernels import kmeans
from lamina.training.runtime import Runtime

WITHOUT_AMX = Path(__file__).parent / "without_amx"
DIES = "import os, signal; os.kill(os.getpid(), signal.SIGILL)"
NEEDS_LIMIT = f"import os; os.environ.get('{LIMIT}') == 'AVX512_CORE' or os.abort()"


@pytest.fixture
def trial(monkeypatch, tmp_path):
    """Let the child run another program, on a machine whose user has kept nothing yet."""

    def set_trial(program, limit=None):
        monkeypatch.setattr(_processor, "_TRIAL", program)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        if limit is None:
            monkeypatch.delenv(LIMIT, raising=False)
        else:
            monkeypatch.setenv(LIMIT, limit)
        _processor._limit.cache_clear()

    yield set_trial
    _processor._limit.cache_clear()


def test_products_that_run_need_no_limit(trial, tmp_path, monkeypatch):
    trial("pass")
    require_bfloat16()
    assert bfloat16_limit() == ""
    kept = list((tmp_path / "lamina").iterdir())
    assert [file.read_text() for file in kept] == [""]
    _processor._limit.cache_clear()
    monkeypatch.setattr(_processor, "_runs", lambda limit: pytest.fail("a child was asked twice"))
    assert bfloat16_limit() == ""


def test_a_limit_that_is_set_and_works_is_kept(trial):
    trial(NEEDS_LIMIT, "AVX512_CORE")
    require_bfloat16()
    assert bfloat16_limit() == "AVX512_CORE"


def test_the_first_limit_that_cures_is_named(trial):
    trial(NEEDS_LIMIT)
    assert bfloat16_limit() == "AVX512_CORE"
    with pytest.raises(InstructionError, match=f"would end the process on this CPU.*{LIMIT}=AVX512_CORE") as caught:
        require_bfloat16()
    assert caught.value.limit == "AVX512_CORE"


def test_a_processor_that_nothing_cures_is_refused_and_remembered(trial, monkeypatch):
    trial(DIES)
    with pytest.raises(InstructionError, match="cannot be used on this CPU.*Use 'float32'"):
        require_bfloat16()
    _processor._limit.cache_clear()
    monkeypatch.setattr(_processor, "_runs", lambda limit: pytest.fail("a child was asked twice"))
    assert bfloat16_limit() is None


def test_a_cache_that_cannot_be_written_or_read_is_no_error(trial, monkeypatch, tmp_path):
    trial("pass")
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    assert bfloat16_limit() == ""
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    assert _processor.cache_folder() == Path(os.devnull) / "lamina"


def test_a_child_that_hangs_or_cannot_start_does_not_run(monkeypatch):
    def hang(*arguments, **more):
        raise subprocess.TimeoutExpired("python", 120)

    monkeypatch.setattr(subprocess, "run", hang)
    assert not _processor._runs("")


def test_fit_and_search_refuse_before_they_make_a_folder(trial, tmp_path, net_of_two):
    trial(DIES)
    recipe = lamina.Recipe(precision="bfloat16", epochs=1)
    with pytest.raises(InstructionError, match="bfloat16"):
        lamina.fit(net_of_two, synthetic.moons(40), recipe, folder=tmp_path / "run")
    with pytest.raises(InstructionError, match="bfloat16"):
        lamina.search("fnn", "moons", {"precision": ["float32", "bfloat16"]}, epochs=1, folder=tmp_path / "study")
    assert not (tmp_path / "run").exists() and not (tmp_path / "study").exists()
    Runtime("cpu").ready("float32")


def test_kmeans_refuses_when_the_user_lets_products_round(trial):
    trial(DIES)
    points = torch.randn(40, 2, generator=torch.Generator().manual_seed(0))
    products = torch.backends.mkldnn.matmul
    before, products.fp32_precision = products.fp32_precision, "bf16"
    try:
        with pytest.raises(InstructionError, match="bfloat16"):
            kmeans.lloyd(points, points[None, :3], "keep", 2)
    finally:
        products.fp32_precision = before


@pytest.fixture
def net_of_two():
    return lamina.build("fnn", inputs=2, outputs=2, hidden=(4,))


def crippled(tmp_path, *command):
    """Run a command where bfloat16 ends the process."""
    path = os.pathsep.join([str(WITHOUT_AMX), os.environ.get("PYTHONPATH", "")])
    environment = {name: value for name, value in os.environ.items() if name != LIMIT}
    environment |= {"PYTHONPATH": path, "XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONWARNINGS": "error"}
    return subprocess.run([sys.executable, *command], cwd=tmp_path, env=environment, capture_output=True, text=True)


@pytest.mark.posix
def test_the_machine_without_amx_dies_of_a_product(tmp_path):
    for program in ("a = torch.ones(2, 2).bfloat16(); a @ a", "torch.set_float32_matmul_precision('medium'); a @ a"):
        done = crippled(tmp_path, "-c", f"import torch; a = torch.ones(2, 2); {program}")
        assert done.returncode == -signal.SIGILL
    assert crippled(tmp_path, "-c", "import torch; a = torch.ones(2, 2); a @ a").returncode == 0


def test_without_amx_the_command_starts_again_with_the_limit_and_records_it(tmp_path):
    command = ("-m", "lamina", "train", "fnn", "--data", "moons", "--epochs", "2", "--out", "run")
    done = crippled(tmp_path, *command, "--set", "precision=bfloat16")
    assert done.returncode == 0, done.stderr
    assert re.findall(rf"{LIMIT}=(\w+)", done.stderr) == ["AVX512_CORE_BF16"]
    environment = json.loads((tmp_path / "run" / "environment.json").read_text())
    assert environment["onednn"] == "AVX512_CORE_BF16"
    # Resuming, too: the variable is not set here.
    again = crippled(tmp_path, "-m", "lamina", "resume", "run", "--epochs", "3")
    assert again.returncode == 0 and "restarting with this setting" in again.stderr


def test_without_amx_the_library_refuses_with_the_way_out(tmp_path):
    program = (
        "import lamina; net = lamina.build('fnn', inputs=2, outputs=2);"
        "lamina.fit(net, lamina.load('moons'), lamina.Recipe(precision='bfloat16', epochs=1), folder='run')"
    )
    done = crippled(tmp_path, "-c", program)
    assert done.returncode == 1 and f"set the environment variable {LIMIT}=AVX512_CORE_BF16" in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_limit_that_does_not_help_is_refused_by_the_command(tmp_path, monkeypatch, capsys):
    from lamina import cli

    def refuse(**_):
        raise InstructionError("no way", None)

    monkeypatch.setattr(cli, "app", refuse)
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 2 and capsys.readouterr().err == "lamina: no way\n"
