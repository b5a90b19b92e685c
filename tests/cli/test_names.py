"""Names that a shell completes."""

import os
import subprocess
import sys

from lamina.architectures.table import TABLE
from lamina.cli._names import architectures, datasets


def test_names_begin_as_typed():
    assert [name for name, _ in architectures("resnet1")] == ["resnet18", "resnet18-cifar", "resnet164", "resnet1001"]
    assert {name for name, _ in architectures("")} == set(TABLE)
    assert [name for name, _ in datasets("m")] == ["moons", "million", "mnist", "multi30k"]


def completed(*words: str) -> list[str]:
    """Ask as bash does."""
    environment = os.environ | {"_LAMINA_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words), "COMP_CWORD": "2"}
    code = "import sys; sys.argv = ['lamina']; from lamina.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    return done.stdout.split()


def test_a_shell_completes_architectures():
    assert completed("lamina", "train", "lene") == ["lenet5", "lenet5-1998"]


def test_the_shell_is_asked_for_in_help(typed):
    code, out, _ = typed("--help")
    assert code == 0 and "--install-completion" in out and "--show-completion" in out
