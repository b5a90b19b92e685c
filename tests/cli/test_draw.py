import json
import struct
import subprocess
import sys

import pytest

from lamina.drawing.table import TABLE


def test_a_network_is_drawn_by_its_widths_in_every_format(typed, tmp_path):
    code, out, _ = typed(
        "draw", "fnn", "--widths", "3,5,5,5,1", *"-o net.svg -o deep/net.tex -o net.pdf -o net.png".split()
    )
    assert code == 0
    assert out.splitlines() == [f"drawing: {name}" for name in ("net.svg", "deep/net.tex", "net.pdf", "net.png")]
    text = (tmp_path / "net.svg").read_text()
    assert text.count("<circle") == 19
    assert text.count("<polyline") == 70
    assert "tikzpicture" in (tmp_path / "deep/net.tex").read_text()


def test_names_have_a_default_file_and_options(typed, tmp_path):
    code, out, _ = typed("draw", "deep", "--set", "layers=2", "--set", "steps=4", "--theme", "dark", "--json")
    assert code == 0
    assert json.loads(out)["files"] == ["deep.svg"]
    text = (tmp_path / "deep.svg").read_text()
    assert "#16181d" in text
    assert typed("draw", "lenet5", "--style", "boxes")[0] == 0
    assert typed("draw", "fnn", "--most", "3")[0] == 0
    assert (tmp_path / "fnn.svg").read_text().count("<circle") == 3 * 4 + 1


def test_architectures_without_a_drawing_of_their_own_are_built_and_drawn(typed, tmp_path):
    code, out, _ = typed("draw", "lenet5-1998", "-o", "old.svg", "--json")
    assert code == 0
    assert json.loads(out)["description"].startswith("input 1×32×32, convolution 6×28×28, pooling 6×14×14")


def test_a_png_is_as_large_as_asked(typed, tmp_path):
    sizes = []
    for scale in ("1", "4"):
        assert typed("draw", "fnn", "-o", "net.png", "--scale", scale)[0] == 0
        sizes.append(struct.unpack(">II", (tmp_path / "net.png").read_bytes()[16:24]))
    assert sizes[1][0] == pytest.approx(4 * sizes[0][0], abs=4)
    code, _, err = typed("draw", "fnn", "--scale", "0")
    assert code == 2 and "`--scale` must be from 0.25 to 20 pixels per point, got 0." in err


def test_a_run_is_drawn_with_its_weights(typed, tmp_path):
    assert typed(*"train fnn --data iris --epochs 1 --set hidden=3 --step eager --out r --json".split())[0] == 0
    assert typed("draw", "r")[:2] == (0, "drawing: r/network.svg\n")
    text = (tmp_path / "r/network.svg").read_text()
    assert text.count("<title>W[") == 4 * 3 + 3 * 3
    assert all(f">{name}<" in text for name in ("sepal length (cm)", "petal width (cm)", "setosa", "virginica"))
    assert typed("draw", "r", "--no-weights", "-o", "plain.svg")[0] == 0
    assert "<title>W[" not in (tmp_path / "plain.svg").read_text()
    code, _, err = typed("draw", "r", "--widths", "3,1")
    assert code == 2
    assert "leave them out for the folder of a run" in err


def test_the_list_names_all_drawings(typed):
    code, out, _ = typed("draw", "--list")
    assert code == 0
    assert all(name in out for name in TABLE)
    assert [row["name"] for row in json.loads(typed("draw", "--list", "--json")[1])] == list(TABLE)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "`lamina draw` needs something to draw: a name (see --list), an architecture, or a run."),
        (
            ("gru", "--set", "theme=1"),
            "`--set theme=1` must be written `--theme 1`: it is an option of the command.",
        ),
        (("gruu",), "'gruu' is not a drawing, an architecture or the folder of a run. Did you mean 'gru'?"),
        (("fnn", "--widths", "3"), "`--widths` must be at least two positive numbers"),
        (("fnn", "--widths", "3,x"), "got '3,x'"),
        (("fnn", "--widths", "3,0"), "got '3,0'"),
        (("gru", "--widths", "3,1"), "the drawing 'gru' has no option 'widths'"),
        (("gru", "-o", "gru.jpg"), "`path` must end in one of .svg, .tex, .pdf, .png, got 'gru.jpg'"),
        (("gru", "-o", "."), "`--output` must be a file, but . is a folder"),
        (("gru", "--theme", "pink"), "`--theme` must be one of 'light', 'dark', 'page', got 'pink'"),
        (("gru", "--theme", "page", "-o", "gru.pdf"), "`theme` 'page' must be written as .svg, got .pdf"),
        (("lenet5", "--style", "round"), "`style` must be one of 'blocks', 'boxes', got 'round'"),
        (("fnn", "--most", "1"), "`most` must be at least 2, got 1"),
    ],
)
def test_bad_input_ends_with_a_sentence(typed, words, sentence):
    code, _, err = typed("draw", *words)
    assert code == 2
    assert sentence in err
    assert "Traceback" not in err


def test_the_list_imports_neither_torch_nor_matplotlib():
    code = (
        "import sys; sys.argv = ['lamina', 'draw', '--list', '--json']\n"
        "from lamina.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "bad = {'torch', 'matplotlib'} & set(sys.modules); assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=120)
