"""From texts to batches of tokens: by hand, with the training part alone, and back."""

import json

import pytest
import torch

from lamina._errors import ArgumentError, DataError
from lamina.architectures.seq2seq import teacher_inputs
from lamina.data.load import load
from lamina.data.ragged import lengths_of
from lamina.data.text.texts import PairDataset, RunningText, TextDataset
from lamina.data.text.tokens import TextPreprocess, TokenSource
from lamina.data.text.vocabulary import END, PAD, START, UNKNOWN, Wording

FILMS = TextDataset.of(["a good film", "", "a bad, bad film"], torch.tensor([1, 0, 0]), ("no", "yes"), source="films")
PAIRS = PairDataset.of(["The sun is shining today", "yes"], ["Heute scheint die Sonne", "Ja"])


def test_labeled_texts_by_hand():
    prepare = TextPreprocess.fit(FILMS)
    assert prepare.vocabulary.words == (",", "a", "bad", "film", "good")
    assert (prepare.input_size, prepare.output_size) == (9, 2)
    data = prepare.encode(FILMS)
    inputs, labels = data.take(torch.arange(3))
    assert (
        inputs.tolist() == [[5, 8, 7, 3, 0, 0], [3, 0, 0, 0, 0, 0], [5, 6, 4, 6, 7, 3]] and inputs.dtype == torch.int64
    )
    assert labels.tolist() == [1, 0, 0] and data.lengths.tolist() == [[4], [1], [6]]
    assert lengths_of(inputs).tolist() == [4, 1, 6]  # even an empty text has one step
    assert data.take(torch.tensor([1]))[0].tolist() == [[END]]  # padded to the longest of the batch, not of all
    assert data.spec.kind == "tokens" and data.spec.classes == ("no", "yes") and data.spec.outputs == 2
    assert prepare.read(["a new film"]).tolist() == [[5, UNKNOWN, 7, END]]


@pytest.mark.notes("N5.03", "N5.48")
def test_pairs_have_six_and_five_tokens_with_their_ends():
    prepare = TextPreprocess.fit(PAIRS)
    inputs, targets = prepare.encode(PAIRS).take(torch.arange(2))
    assert lengths_of(inputs).tolist() == [6, 2] and lengths_of(targets).tolist() == [5, 2]
    assert targets.tolist() == [[5, 7, 4, 8, END], [6, END, PAD, PAD, PAD]]
    assert teacher_inputs(targets, START)[0].tolist() == [START, 5, 7, 4, 8]
    assert prepare.write(targets) == ["Heute scheint die Sonne", "Ja"]
    assert prepare.output_size == 9 == len(prepare.answer_vocabulary)


def test_one_dictionary_for_both_sides_and_other_wordings():
    shared = TextPreprocess.fit(PAIRS, shared=True)
    assert shared.vocabulary is shared.answer_vocabulary and len(shared.vocabulary.words) == 11
    letters = TextPreprocess.fit(PAIRS, Wording(size=3), answers=Wording("character"))
    assert len(letters.vocabulary.words) == 3 and "S" in letters.answer_vocabulary
    assert letters.write(letters.encode(PAIRS).take(torch.tensor([0]))[1]) == ["Heute scheint die Sonne"]


def test_only_the_training_part_makes_the_dictionary():
    texts = [f"word{i} common" for i in range(60)]
    split = TextDataset.of(texts, torch.arange(60) % 2, ("a", "b")).split()
    prepare = TextPreprocess.fit(split.train)
    assert len(prepare.vocabulary.words) == 41
    held, _ = prepare.encode(split.validation).take(torch.arange(10))
    common = prepare.vocabulary.index["common"]
    assert held.tolist() == [[UNKNOWN, common, END]] * 10


def test_long_texts_are_cut_and_still_end():
    prepare = TextPreprocess.fit(FILMS, longest=3)
    assert prepare.encode(FILMS).take(torch.arange(3))[0].tolist() == [[5, 8, END], [END, 0, 0], [5, 6, END]]
    assert prepare.read(["film " * 10_000]).tolist() == [[7, 7, END]]


def test_real_targets_are_standardized():
    data = TextDataset.of(["a", "b", "c", "d"], torch.tensor([1.0, 2.0, 3.0, 6.0]))
    prepare = TextPreprocess.fit(data)
    targets = prepare.encode(data).targets
    torch.testing.assert_close(targets, (torch.tensor([1.0, 2, 3, 6]) - 3) / torch.tensor(3.5).sqrt())
    torch.testing.assert_close(prepare.untargets(targets), data.targets)
    assert prepare.output_size == 1 and FILMS.targets.equal(
        TextPreprocess.fit(FILMS).untargets(FILMS.targets.float()).long()
    )


def test_a_running_text_is_one_row():
    data = RunningText.of("abracadabra", block=4)
    prepare = TextPreprocess.fit(data)
    assert prepare.vocabulary.words == tuple("abcdr") and prepare.output_size == 9
    assert prepare.stream(data).tolist() == [4, 5, 8, 4, 6, 4, 7, 4, 5, 8, 4]
    split = RunningText.of("aabbcc" * 4).split()
    assert prepare.vocabulary.decode(prepare.stream(split.validation)) == "ccaa"
    with pytest.raises(DataError, match="a running text is one row of tokens: use `stream`"):
        prepare.encode(data)


def test_a_source_gives_batches_of_alike_lengths():
    texts = [" ".join(["w"] * (1 + i % 20)) for i in range(200)]
    data = PairDataset.of([f"{text} {i}" for i, text in enumerate(texts)], texts)
    source = TextPreprocess.fit(data).source(data)
    assert isinstance(source, TokenSource) and len(source) == 200
    seen = []
    for indices in source.order(10, seed=1, epoch=2):
        inputs, targets = source.batch(indices)
        assert inputs.shape == (10, int(source.lengths[indices, 0].max()))
        assert targets.shape == (10, int(source.lengths[indices, 1].max()))
        assert lengths_of(inputs).tolist() == source.lengths[indices, 0].tolist()
        seen += indices.tolist()
    assert sorted(seen) == list(range(200))
    assert torch.cat(source.order(10, 1, 2)).tolist() == seen
    widths = [int(source.lengths[batch, 0].max()) for batch in source.in_order(10)]
    assert widths == sorted(widths)
    rounded = TokenSource(TextPreprocess.fit(data).encode(data), multiple=8)
    assert {rounded.batch(i)[0].shape[1] for i in rounded.order(10, 0, 0)} <= {8, 16, 24}
    assert source.batch(torch.zeros(0, dtype=torch.int64))[0].shape == (0, 0)


@pytest.mark.cuda
def test_a_source_on_a_gpu_gives_the_same_batches():
    prepare = TextPreprocess.fit(PAIRS)
    here, there = prepare.source(PAIRS), prepare.source(PAIRS, "cuda")
    for first, second in zip(here.batch(torch.tensor([1, 0])), there.batch(torch.tensor([1, 0])), strict=True):
        assert second.device.type == "cuda" and second.cpu().equal(first)


@pytest.mark.parametrize("data", [FILMS, PAIRS, RunningText.of("to be or not")], ids=["text", "pairs", "language"])
def test_a_preparation_survives_json(data):
    prepare = TextPreprocess.fit(data, longest=5)
    again = TextPreprocess.from_dict(json.loads(json.dumps(prepare.as_dict())))
    assert again == prepare
    with pytest.raises(DataError, match=r"a preparation has the unknown fields \['sound'\]"):
        TextPreprocess.from_dict(prepare.as_dict() | {"sound": 1})


def test_messages():
    with pytest.raises(DataError, match="a dictionary needs texts, got data of kind 'vector': use `Preprocess`"):
        TextPreprocess.fit(load("moons"))
    with pytest.raises(DataError, match="must be fitted on at least 1 training text, got 0"):
        TextPreprocess.fit(TextDataset.of([], torch.zeros(0, dtype=torch.int64), ("a", "b")))
    with pytest.raises(ArgumentError, match="`longest` must be at least 1, got 0"):
        TextPreprocess.fit(FILMS, longest=0)
    with pytest.raises(ArgumentError, match="`multiple` must be at least 1, got 0"):
        TokenSource(TextPreprocess.fit(FILMS).encode(FILMS), multiple=0)
