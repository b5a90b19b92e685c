"""Greedy decoding inside an ONNX file, and its two halves."""

import jaxtyping
import numpy as np
import onnx
import pytest
import torch

from lamina.data.text.vocabulary import END, PAD, START
from lamina.export._loop import most_words
from lamina.export.save import save


@pytest.fixture(scope="module")
def files(pairs, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jaxtyping.config, "jaxtyping_disable", True)
        return save(pairs, tmp_path_factory.mktemp("loop") / "m.onnx").files


def test_a_whole_translation(pairs, files, answer):
    assert [file.name for file in files] == ["m.onnx", "m-decoder.onnx", "m-encoder.onnx"]
    texts = ["small cat", "old hen", "young", "large bee dog"]
    wanted = pairs.predict(texts, copy_unknown=False)
    assert len(set(wanted.texts)) > 1
    tokens = pairs.preprocess.read(texts)
    words = answer(files[0].read_bytes(), {"inputs": tokens})["words"]
    assert pairs.preprocess.write(torch.from_numpy(words)) == list(wanted.texts)
    assert not np.isin(words, (PAD, START)).any()


def test_the_halves_by_hand(pairs, files, answer):
    """The loop does what a program with the encoder and the decoder does."""
    whole, decoder, encoder = (file.read_bytes() for file in files)
    tokens = pairs.preprocess.read(["small cat", "old hen pig"])
    state, before, written = answer(encoder, {"inputs": tokens}), np.full(2, START), []
    assert set(state) == {"h", "c"}
    for _ in range(most_words(tokens.shape[1])):
        found = answer(decoder, {"before": before, **state})
        outputs = found["outputs"].copy()
        outputs[:, [PAD, START]] = -np.inf
        before = outputs.argmax(1)
        if written and (written[-1] == END).any():
            before = np.where(written[-1] == END, END, before)
        written.append(before)
        state = {name: found[f"{name}_after"] for name in state}
        if (before == END).all():
            break
    assert answer(whole, {"inputs": tokens})["words"].tolist() == np.stack(written, 1).tolist()


def test_a_text_that_never_ends_is_cut(pairs, files, answer):
    model = onnx.load(files[0])
    for tensor in model.graph.initializer:
        if tensor.name == "never":  # never write END
            tensor.CopyFrom(onnx.numpy_helper.from_array(_never(onnx.numpy_helper.to_array(tensor)), "never"))
    tokens = pairs.preprocess.read(["small cat", "old hen"])
    words = answer(model.SerializeToString(), {"inputs": tokens})["words"]
    assert words.shape == (2, most_words(tokens.shape[1])) and not (words == END).any()


def _never(values):
    values = values.copy()
    values[END] = -np.inf
    return values
