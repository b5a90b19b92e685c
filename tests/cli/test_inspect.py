"""`lamina inspect` as it is typed: tables, JSON, runs, sentences."""

import json
from pathlib import Path

import pytest


def test_the_table_of_lenet(typed):
    code, out, err = typed("inspect", "lenet5")
    lines = [line.split("\t") for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert lines[0] == ["layer", "kind", "output", "parameters", "FLOPs", "memory", "sees", "share"]
    assert lines[1] == ["features", "Sequential", "16×5×5", "2,572", "715k", "32.3 KiB", "16×16", "4.2%"]
    assert ["  1", "Linear", "120", "48,120", "96k", "1.56 KiB", "all", "78.0%"] in lines
    assert out.splitlines()[-1].startswith("LeNet5: 61,706 parameters (241 KiB); for 1 example 833k operations")


def test_sizes_options_and_depth(typed):
    code, out, _ = typed(
        "inspect", "cifar-resnet", "--set", "depth=8", "--outputs", "3", "--depth", "1", "--batch", "4"
    )
    assert code == 0 and "layer3\tSequential\t64×8×8\t" in out and "fc\tLinear\t3\t195\t" in out
    assert "nested layers are not shown: --depth 2 shows more." in out and "for 4 examples" in out
    assert "\n  0\tOriginalBlock" not in out
    code, out, _ = typed("inspect", "many-to-many", "--inputs", "7,3", "--set", "hidden=5", "--set", "cell=rnn")
    assert code == 0 and "  cells.0\tRNNCell (7 calls)\t5\t45\t" in out


def test_fields_in_words_and_json(typed):
    code, out, _ = typed("inspect", "lenet5", "--field")
    assert code == 0 and "features.5\tAvgPool2d\t16×16\t4×4\t-2, -2\t6–21 × 6–21" in out
    found = json.loads(typed("inspect", "lenet5", "--inputs", "1,32,32", "--field", "--json")[1])
    assert found["summary"]["parameters"] == 61706 and found["summary"]["flops"] == 833040
    fields = {layer["name"]: layer for layer in found["fields"]}
    assert fields["features"]["size"] == [16, 16] and fields["features"]["start"] == [0, 0]
    assert fields["features"]["middle"] == [[8, 23], [8, 23]] and fields[""]["everything"]


def test_gradients_of_random_inputs(typed):
    words = ("inspect", "fnn", "--inputs", "8", "--set", "hidden=8,8,8,8,8,8,8,8", "--set", "activation=sigmoid")
    code, out, _ = typed(*words, "--gradients")
    assert code == 0 and "warning: gradients vanish" in out and "of 32 random inputs with random labels" in out
    found = json.loads(typed(*words, "--gradients", "--json")[1])["gradients"]
    sizes = [layer["state_gradient"] for layer in found["layers"]]
    assert len(sizes) == 9 and sizes[0] < 1e-3 * sizes[-1] and found["ratio"] < 1e-3
    assert json.loads(typed(*words, "--gradients", "--json")[1])["gradients"] == found, "the seed is fixed"


def test_a_run_shows_its_own_gradients(typed):
    code, _, err = typed("train", "fnn", "--data", "iris", "--epochs", "1", "--out", "one", "--json")
    assert code == 0, err
    code, out, err = typed("inspect", "one", "--gradients", "--batch", "20")
    assert (code, err) == (0, "") and "gradients of 20 training examples" in out
    assert "affine\tLinear\t3\t195\t" in out and "for 20 examples" in out
    code, _, err = typed("inspect", "one", "--outputs", "4")
    assert (code, err) == (
        2,
        "lamina: `--outputs` and `--set` build a new network: leave them out for the folder of a run.\n",
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("lenet6",), "lamina: `name` must be one of perceptron"),
        (("runs/none",), "lamina: runs/none is not a folder: give the folder of a run"),
        (
            ("lenet5", "--inputs", "a,b"),
            "lamina: `--inputs` must be positive numbers separated by commas, such as 1,28,28, got",
        ),
        (
            ("lenet5", "--inputs", "0"),
            "lamina: `--inputs` must be positive numbers separated by commas, such as 1,28,28, got",
        ),
        (("lenet5", "--set", "colour=1"), "lamina: lenet5 has no option 'colour'"),
        (("lenet5", "--batch", "0"), "lamina: `--batch` must be a whole number of at least 1, got 0."),
        (("lenet5", "--depth", "0"), "lamina: `--depth` must be a whole number of at least 1, got 0."),
        (("seq2seq", "--gradients"), "lamina: `--gradients` needs a network that reads one sequence, got seq2seq"),
    ],
)
def test_bad_input_ends_with_one_sentence_and_exit_code_2(typed, words, sentence):
    code, out, err = typed("inspect", *words)
    assert code == 2 and err.startswith(sentence) and err.count("\n") == 1 and out == ""


def test_importance_is_that_of_the_evaluation(typed):
    words = ("--epochs", "2", "--set", "hidden=4", "--threads", "1")
    assert typed("train", "fnn", "--data", "iris", "--out", "runs/i", *words)[0] == 0
    wanted = json.loads(Path("runs/i/evaluation.json").read_text())["importance"]
    code, out, _ = typed("inspect", "runs/i", "--importance", "--json")
    assert code == 0 and json.loads(out)["importance"] == wanted and len(wanted["columns"]) == 4
    out = typed("inspect", "runs/i", "--importance")[1]
    first = wanted["columns"][0]
    assert f"{first['column']}\t{first['mean']:.4g}\t{first['spread']:.2g}" in out
    assert "when a column is shuffled among 24 test examples, 5 times; columns that carry the same" in out


def test_importance_where_there_is_none(typed):
    code, _, err = typed("inspect", "fnn", "--importance")
    assert code == 2 and "`--importance` is about a trained network: name the folder of a run." in err
    words = ("--epochs", "1", "--set", "hidden=4", "--threads", "1")
    assert typed("train", "fnn", "--data", "digits", "--out", "runs/d", *words)[0] == 0
    code, _, err = typed("inspect", "runs/d", "--importance")
    assert code == 2 and "data of kind 'image' have no columns" in err
    assert typed("train", "fnn", "--data", "xor", "--out", "runs/x", *words)[0] == 0
    code, _, err = typed("inspect", "runs/x", "--importance")
    assert code == 2 and "the evaluation of runs/x did not measure importance: `lamina evaluate runs/x --again`" in err
