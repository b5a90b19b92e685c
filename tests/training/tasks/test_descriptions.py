"""One to many, end to end: a thing is read once, and a text about it is written."""

import pytest
import torch
from torch.nn.functional import cross_entropy

import lamina
from lamina._errors import ArgumentError, ShapeError
from lamina.data.dataset import ArrayDataset, Spec
from lamina.data.text.descriptions import DescriptionDataset, DescriptionPreprocess
from lamina.data.text.texts import answers_of
from lamina.data.text.vocabulary import END, PAD, START
from lamina.report.render import render
from lamina.training.fit import fit, resume
from lamina.training.recipe import Adam, Recipe, Stopping
from lamina.training.run import Run
from lamina.training.tasks.kinds import task_of
from lamina.training.tasks.texts import describe

WORDS = ("yes", "no", "perhaps")


def answers(count=60):
    """Vectors near one of three corners, each with its word."""
    labels = torch.arange(count) % 3
    noise = torch.randn(count, 3, generator=torch.Generator().manual_seed(0))
    things = ArrayDataset(torch.eye(3)[labels] * 4 + noise / 4, labels, Spec("vector", "classification", (3,), 3))
    return DescriptionDataset.of(things, [WORDS[k] for k in labels.tolist()])


def network(prepared, **options):
    sizes = {"inputs": prepared.inputs[0], "outputs": prepared.output_size, "steps": prepared.steps, "hidden": 16}
    return lamina.build("one-to-many", **sizes | options)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    split = answers().split(seed=0)
    model = network(DescriptionPreprocess.of(split.train), output_bias=True)
    folder = tmp_path_factory.mktemp("runs") / "answers"
    return fit(model, split, Recipe(Adam(0.02), epochs=15, batch_size=8), folder=folder)


@pytest.mark.notes("N5.09")
def test_a_thing_is_described_and_the_text_ends_by_itself(run):
    found = run.evaluate()
    assert found.metrics["exact"] == 1.0 and found.worst == [] and found.examples == 10
    given = run.predict(torch.eye(3) * 4)
    assert given.texts == WORDS and given.classes == () and given.values.shape == (3, 1)
    outputs = run.outputs(torch.eye(3) * 4)
    p = outputs.index_fill(-1, torch.tensor([PAD, START]), -torch.inf).log_softmax(-1).max(-1)
    assert (p.indices[1] == END).nonzero()[0].item() == 2
    torch.testing.assert_close(given.values[1, 0], p.values[1, :3].mean())
    loaded = Run.load(run.folder)
    assert loaded.predict(torch.eye(3) * 4).texts == WORDS and loaded.preprocess == run.preprocess
    assert "exact" in render(run.folder)


def test_the_loss_is_a_mean_over_the_characters_that_count(run):
    data = run.split.validation
    inputs, targets = data.take(torch.arange(len(data)))
    tokens = run.preprocess.targets(targets)
    outputs = run.outputs(inputs)
    expected = cross_entropy(outputs.flatten(0, 1), tokens.flatten(), ignore_index=PAD)
    assert run.rows[-1]["validation_loss"] >= min(row["validation_loss"] for row in run.rows)
    assert min(row["validation_loss"] for row in run.rows) == pytest.approx(expected.item(), rel=1e-4)


def test_mistakes_are_listed_with_what_was_wanted(tmp_path):
    split = answers(24).split(seed=0)
    model = network(DescriptionPreprocess.of(split.train))
    run = fit(model, split, Recipe(Adam(1e-6), epochs=1), folder=tmp_path / "bad")
    found = run.evaluate()
    assert found.metrics["exact"] == 0 and found.worst[0]["target"] in WORDS and "x1" in found.worst[0]["values"]
    assert "wanted" in render(tmp_path / "bad")


def test_a_killed_run_goes_on_bit_for_bit(tmp_path):
    def make():
        split = answers().split(seed=0)
        return network(DescriptionPreprocess.of(split.train), input_dropout=0.2), split

    recipe = Recipe(Adam(0.01), epochs=3, batch_size=8)
    whole = fit(*make(), recipe, folder=tmp_path / "whole")
    model, split = make()
    fit(
        model,
        split,
        Recipe(Adam(0.01), epochs=3, batch_size=8, stopping=Stopping(max_steps=7)),
        folder=tmp_path / "cut",
    )
    again = resume(tmp_path / "cut", data=split, options={"max_steps": None})
    assert again.rows[-1]["loss"] == whole.rows[-1]["loss"]
    for p, q in zip(whole.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(p, q)


def test_networks_that_do_not_fit_get_a_sentence(tmp_path):
    split = answers().split(seed=0)
    prepared = DescriptionPreprocess.of(split.train)
    with pytest.raises(ShapeError, match="must write 8 steps, .* got outputs of shape .* build it with steps=8"):
        fit(network(prepared, steps=5), split, Recipe(), folder=tmp_path / "a")
    with pytest.raises(ShapeError, match="a description task does not fit ManyToMany: use one-to-many"):
        fit(lamina.build("many-to-many", inputs=3, outputs=9), split, Recipe(), folder=tmp_path / "b")
    with pytest.raises(ShapeError, match="gives 4 outputs, but the data have .* words: build it with outputs="):
        fit(network(prepared, outputs=4), split, Recipe(), folder=tmp_path / "c")
    with pytest.raises(ArgumentError, match="`longest` is not for descriptions"):
        task_of(split, longest=3)
    assert task_of(split, level="word").preprocess.steps == 2
    assert sorted(set(answers_of(split.train))) == sorted(WORDS)


def test_descriptions_stop_at_the_first_end_and_never_write_padding():
    prepared = DescriptionPreprocess.of(answers(6))
    outputs = torch.full((1, prepared.steps, prepared.output_size), -9.0)
    letters = [prepared.vocabulary.index[c] for c in "no"]
    for step, token in enumerate([*letters, END, letters[0]]):
        outputs[0, step, token] = 1.0
    outputs[0, :, PAD] = 100.0
    texts, worth = describe(prepared, outputs)
    rest = outputs[0, :3].clone()
    rest[:, [PAD, START]] = -torch.inf
    assert texts == ["no"] and worth.item() == pytest.approx(rest.log_softmax(-1).max(-1).values.mean().item())
