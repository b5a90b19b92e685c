"""Numbers of a command line with their bounds, and one sentence for a command that is written in the wrong way."""

import re

import pytest


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("train", "fnn", "--epochs", "abc"), "`--epochs` must be a whole number of at least 1, got 'abc'."),
        (("train", "fnn", "--epochs", "1.5"), "`--epochs` must be a whole number of at least 1, got '1.5': write 2."),
        (("train", "fnn", "--seed", "-3"), "`--seed` must be a whole number of at least 0, got -3."),
        (("notes", "--port", "70000"), "`--port` must be a whole number from 0 to 65535, got 70000."),
        (
            ("predict", "x", "--temperature", "nan"),
            "`--temperature` must be a number of at least 0, got 'nan': it",
        ),
        (("report", "x", "--format", "docx"), "`--format`: 'docx' is not one of 'html', 'md'"),
        (("train",), "missing argument 'ARCH': `lamina train --help` shows what there is."),
        (("train", "fnn", "x"), "got unexpected extra argument"),
        (("trian",), "`lamina` has no command 'trian'. Did you mean 'train'? `lamina --help` shows what there is."),
        (("list", "--jsn"), "`lamina list` has no option '--jsn'. Did you mean '--json'? `lamina list --help` shows"),
    ],
)
def test_one_sentence(typed, words, sentence):
    code, out, err = typed(*words)
    assert (code, out) == (2, "") and err.startswith(f"lamina: {sentence}") and err.count("\n") == 1, err


def test_nothing_at_all_gets_help(typed):
    code, out, err = typed()
    assert code == 2 and "Usage: lamina" in out + err and "lamina:" not in err


def test_sizes_that_no_memory_holds_get_a_sentence(typed):
    code, _, err = typed("inspect", "fnn", "--inputs", "2", "--outputs", "2", "--set", "hidden=99999999,99999999")
    said = re.fullmatch(
        r"lamina: there is not enough memory: 40 PB more were asked for\. Choose a smaller network, fewer or smaller "
        r"examples, or a smaller batch_size; --set micro_batch=N computes a batch in pieces of N examples, and "
        r"the update stays the same\.\n",
        err,
    )
    assert code == 2 and said, err
