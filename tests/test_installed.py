"""Lamina as it is installed: all its files are there, and the command trains, predicts and exports without any extra.

`make wheel-test` runs this against the built wheel, from a folder outside the checkout.
"""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import lamina

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(lamina.__file__).parent
SCRIPTS = (HERE.parent / "bin", Path(sysconfig.get_path("scripts")))
"""Where `pip install --target` and `pip install` put the command."""
HIDDEN = (
    "marimo anywidget optuna torchdiffeq sacrebleu tokenizers tensorboard mlflow sqlalchemy alembic wandb onnx "
    "onnxscript onnxruntime pillow_heif sphinx myst_parser furo pytest xdist hypothesis beartype pandas openpyxl "
    "torchvision selenium"
).split()
"""What the extras and the tests install, by the names of the modules."""


@pytest.fixture
def typed(tmp_path):
    """Type a command as it is installed, in an empty folder, where no extra is; return what it printed."""
    command = next(path for folder in SCRIPTS if (path := folder / "lamina").is_file())
    places = [ROOT / "tests/without_extras", HERE.parent, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places)), "HIDDEN": ",".join(HIDDEN)}

    def run(*words, code=0):
        done = subprocess.run(
            [sys.executable, command, *words], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stderr

    return run


def files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_every_file_is_installed():
    assert len(files(HERE)) > 500 and files(HERE) == files(ROOT / "src/lamina")


@pytest.mark.slow
def test_the_command_works_without_any_extra(typed, tmp_path):
    assert typed("--version") == f"lamina {lamina.__version__}\n"
    assert "N5.32  equation" in typed("catalogue", "N5.32")
    typed("train", "fnn", "--data", "digits", "--epochs", "3", "--set", "hidden=32", "--out", "run")
    said = json.loads(typed("evaluate", "run", "--json"))
    assert said["examples"] == 299 and said["accuracy"] > 0.5
    typed("report", "run", "-o", "page.html")
    assert "<h1>fnn on digits</h1>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    typed("draw", "run", "-o", "digit.png")
    typed("export", "run", "-o", "model.safetensors")
    assert typed("predict", "model.safetensors", "digit.png") == typed("predict", "run", "digit.png")
    typed("search", "fnn", "learning_rate=1e-3,1e-2", "--data", "moons", "--epochs", "1", "--folder", "study")
    assert "pip install 'lamina-nn[export]'" in typed("export", "run", "-o", "model.onnx", code=2)
    assert "pip install 'lamina-nn[notes]'" in typed("notes", "--no-browser", code=2)
