"""`lamina tune` as it is typed."""

import json
import shlex
from pathlib import Path


def test_a_rate_is_found_drawn_and_offered(typed):
    assert typed("train", "fnn", "--data", "iris", "--epochs", "20", "--out", "run", "-q")[0] == 0
    code, out, err = typed("tune", "run", "--rates", "16", "--device", "cpu")
    lines = out.splitlines()
    assert (code, err) == (0, "") and lines[2] == "16 rates from 3e-06 to 0.3, 2 epochs each, 16 as one"
    assert lines[3].startswith("best: ") and "the run has 0.003" in lines[3] and "drawn to run/rates.svg" in lines
    assert "<svg" in Path("run/rates.svg").read_text()
    command = out.split("next: ")[1].replace("\\\n", " ")
    best = lines[3].split()[1]
    assert shlex.split(command)[:3] == ["lamina", "train", "fnn"] and f"learning_rate={best}" in command
    code, out, _ = typed("tune", "run", "--rates", "4", "--epochs", "1", "--json", "-o", "curve.png")
    found = json.loads(out)
    assert found["epochs"] == 1 and len(found["losses"]) == 4 and found["best"] in found["rates"]
    assert Path("curve.png").stat().st_size > 1000
    code, out, _ = typed("tune", "run", "--rates", "4", "--epochs", "1", "-q")
    assert code == 0 and out == f"{found['best']:.3g}\n"


def test_bad_input_gets_a_sentence(typed):
    code, _, err = typed("tune", "nothing")
    assert code == 2 and err.count("\n") == 1
    assert typed("train", "fnn", "--data", "iris", "--epochs", "1", "--out", "run", "-q")[0] == 0
    code, _, err = typed("tune", "run", "--rates", "2")
    assert code == 2 and "3" in err
    code, _, err = typed("tune", "run", "-o", "curve.gif")
    assert code == 2 and "must end in one of .svg" in err
