"""Updates on sequences against loops written by hand in float64; scheduled sampling; carried state."""

import copy
import itertools

import pytest
import torch
from torch.nn.functional import cross_entropy

import lamina
from lamina.architectures.seq2seq import teacher_inputs
from lamina.data.load import load
from lamina.data.text.batching import _bucketed_order, stream_windows
from lamina.data.text.texts import IGNORE
from lamina.data.text.vocabulary import START
from lamina.training.executors.choose import learner
from lamina.training.recipe import GD, SGD, Adam, Clip, MiniBatch, Penalty, Recipe
from lamina.training.runtime import Runtime
from lamina.training.tasks import _batches as batches
from lamina.training.tasks._batches import WindowFeed, scheduled_inputs, true_words
from lamina.training.tasks.feed import epoch_order
from lamina.training.tasks.kinds import task_of
from training.tasks.steps import EXACT, by_hand, made, pairs, reviews, run_epochs, same_weights, text

cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.mark.notes("N5.10")
def test_labels_of_texts_train_as_a_loop_by_hand():
    split = reviews()
    recipe = Recipe(MiniBatch(0.5), epochs=2, batch_size=8, precision="float64", seed=3, clip=Clip(0.3))
    step, prepare = made(split, "many-to-one", recipe, padding=0)
    model, tokens = copy.deepcopy(step.model), prepare.encode(split.train)

    def one(indices):
        inputs, labels = tokens.take(indices)
        lengths = (inputs != 0).sum(1)
        return lambda net: cross_entropy(net(inputs, lengths), labels)

    order = [b for epoch in range(2) for b in _bucketed_order(tokens.lengths, 8, 3, epoch)]
    losses = by_hand(model, [one(indices) for indices in order], 0.5, limit=0.3)
    run_epochs(step, 2)
    same_weights(step.model, model)
    second = order[step.batches :]
    mean = sum(loss * len(b) for loss, b in zip(losses[step.batches :], second, strict=True)) / len(tokens)
    assert step.totals()["loss"] == pytest.approx(mean, rel=1e-12) and step.step == len(order)


@pytest.mark.notes("N5.11", "N5.16")
def test_translation_trains_as_a_loop_by_hand_with_true_words_and_counted_ones():
    split = pairs()
    recipe = Recipe(MiniBatch(0.5), epochs=2, batch_size=8, precision="float64", label_smoothing=0.1)
    step, prepare = made(split, "seq2seq", recipe, padding=0)
    model, tokens = copy.deepcopy(step.model), prepare.encode(split.train)
    order = [b for epoch in range(2) for b in _bucketed_order(tokens.lengths, 8, 0, epoch)]

    def one(indices):
        inputs, targets = tokens.take(indices)
        heard = torch.cat([torch.full((len(targets), 1), START), targets[:, :-1]], 1)
        smooth = {"ignore_index": 0, "label_smoothing": 0.1}
        return lambda net: cross_entropy(net(inputs, heard).flatten(0, 1), targets.flatten(), **smooth)

    losses = by_hand(model, [one(indices) for indices in order], 0.5)
    run_epochs(step, 2)
    same_weights(step.model, model)
    counts = [int((tokens.take(b)[1] != 0).sum()) for b in order[step.batches :]]
    mean = sum(a * b for a, b in zip(losses[step.batches :], counts, strict=True)) / sum(counts)
    assert step.totals()["loss"] == pytest.approx(mean, rel=1e-12)
    # A check is judged without smoothing, every word once, whatever the batches.
    held = prepare.encode(split.validation)
    inputs, targets = held.take(torch.arange(len(held)))
    outputs = step.model.eval()(inputs, teacher_inputs(targets, START))
    found = step.evaluate()
    plain = cross_entropy(outputs.flatten(0, 1), targets.flatten(), ignore_index=0).item()
    right = ((outputs.argmax(-1) == targets) & (targets != 0)).sum() / (targets != 0).sum()
    assert found["validation_loss"] == pytest.approx(plain, rel=1e-12)
    assert found["validation_token_accuracy"] == pytest.approx(right.item())


@pytest.mark.notes("N5.12")
def test_labels_at_every_step_train_as_a_loop_by_hand():
    split = load("next-input", count=60, length=7, symbols=5).split(seed=0)
    recipe = Recipe(MiniBatch(0.5), epochs=1, batch_size=16, precision="float64", penalty=Penalty(1e-3))
    model = lamina.build("many-to-many", inputs=5, outputs=5, hidden=6, embedding=4, cell="rnn")
    step = learner(model, task_of(split), recipe, Runtime("cpu"))
    model = copy.deepcopy(step.model)

    def one(indices):
        inputs, targets = split.train.take(indices)
        assert (targets == IGNORE).any()
        size = lambda net: 1e-3 * sum(p.square().sum() for p in net.parameters())  # noqa: E731
        return lambda net: cross_entropy(net(inputs).flatten(0, 1), targets.flatten()) + size(net)

    order = epoch_order(len(split.train), 16, "epoch", 0, 0).split(16)
    by_hand(model, [one(indices) for indices in order], 0.5)
    run_epochs(step, 1)
    same_weights(step.model, model)
    assert "token_accuracy" in step.totals()


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_a_running_text_carries_its_state_and_stops_its_gradient(cell):
    split = text()
    recipe = Recipe(MiniBatch(0.5), epochs=2, batch_size=3, window=7, precision="float64")
    step, prepare = made(split, "many-to-many", recipe, cell=cell, layers=2)
    assert isinstance(step.feed, WindowFeed) and step.kind == "eager"
    model = copy.deepcopy(step.model)
    windows = stream_windows(prepare.stream(split.train), 3, 7)
    assert step.batches == len(windows)
    losses = []
    for _ in range(2):
        state = None
        for inputs, targets in windows:
            outputs, state = model.read(inputs, state)
            state = state.detach() if cell == "gru" else tuple(part.detach() for part in state)
            loss = cross_entropy(outputs.flatten(0, 1), targets.flatten())
            grads = torch.autograd.grad(loss, list(model.parameters()))
            with torch.no_grad():
                for p, g in zip(model.parameters(), grads, strict=True):
                    p -= 0.5 * g
            losses.append(loss.item() * targets.numel())
    run_epochs(step, 2)
    same_weights(step.model, model)
    words = sum(targets.numel() for _, targets in windows)
    assert step.totals()["loss"] == pytest.approx(sum(losses[len(windows) :]) / words, rel=1e-12)
    carried = [state] if cell == "gru" else list(state)
    for mine, theirs in zip(step.feed.carried, carried, strict=True):
        torch.testing.assert_close(mine, theirs, **EXACT)


def test_hearing_only_true_words_is_plain_and_own_words_are_mixed_in_by_a_hash():
    split = pairs()
    options = {"padding": 0, "input_dropout": 0.3, "output_dropout": 0.3}
    plain, _ = made(split, "seq2seq", Recipe(epochs=3, batch_size=8), **options)
    nearly, _ = made(split, "seq2seq", Recipe(epochs=3, batch_size=8, teacher_forcing=1 - 1e-9), **options)
    mixed, _ = made(split, "seq2seq", Recipe(epochs=3, batch_size=8, teacher_forcing=0.0), **options)
    for step in (plain, nearly, mixed):
        run_epochs(step, 3)
    for p, q in zip(plain.model.state_dict().values(), nearly.model.state_dict().values(), strict=True):
        assert torch.equal(p, q)  # the look ahead uses up no mask of dropout
    assert not torch.equal(plain.model.output.weight, mixed.model.output.weight)
    targets, own = torch.tensor([[5, 6, 7]]).repeat(400, 1), torch.tensor([[8, 9, 4]]).repeat(400, 1)
    heard = scheduled_inputs(targets, own, 0.25, seed=1, step=2)
    assert (heard[:, 0] == START).all() and set(heard[:, 1].tolist()) == {5, 8} and set(heard[:, 2].tolist()) == {6, 9}
    assert (heard[:, 1:] < 8).float().mean().item() == pytest.approx(0.25, abs=0.04)
    assert torch.equal(heard, scheduled_inputs(targets, own, torch.tensor(0.25), seed=1, step=torch.tensor(2)))
    assert not torch.equal(true_words((50,), 0.5, 1, 2), true_words((50,), 0.5, 1, 3))


def test_the_share_of_true_words_falls_evenly(monkeypatch):
    step, _ = made(pairs(), "seq2seq", Recipe(epochs=3, batch_size=8, teacher_forcing=0.4), padding=0)
    shares = []
    monkeypatch.setattr(
        batches,
        "scheduled_inputs",
        lambda targets, own, share, seed, now, first: shares.append(share) or teacher_inputs(targets, START),
    )
    run_epochs(step, 3)
    assert shares[0] == 1 and shares[-1] == pytest.approx(0.4)
    falls = [a - b for a, b in itertools.pairwise(shares)]
    assert falls == pytest.approx([0.6 / (len(shares) - 1)] * len(falls))


@pytest.mark.parametrize("optimizer", [GD(0.1), GD(0.1, line_search=True), SGD(0.05), Adam(0.01)])
def test_every_optimizer_lowers_the_loss_on_texts(optimizer):
    step, _ = made(reviews(), "many-to-one", Recipe(optimizer, epochs=4, batch_size=8), padding=0)
    step.begin(0)
    before = step.evaluate()["validation_loss"]
    seen = []
    for epoch in range(4):
        step.begin(epoch)
        for _ in range(step.batches):
            step()
        seen.append(step.totals()["loss"])
    assert seen[-1] < seen[0] and before > 0
    assert step.batches == {"GD": 1, "SGD": 28, "Adam": 4}[type(optimizer).__name__]


def test_independent_draws_are_taken_from_texts_too():
    recipe = Recipe(epochs=1, batch_size=8, sampling="with-replacement")
    step, _ = made(reviews(), "many-to-one", recipe, padding=0)
    step.begin(0)
    expected = epoch_order(28, 8, "with-replacement", 0, 0).split(8)
    assert all(torch.equal(a, b) for a, b in zip(step.feed._batches, expected, strict=True))


def test_the_state_of_a_step_comes_back_in_the_middle_of_an_epoch():
    split = text()
    recipe = Recipe(epochs=2, batch_size=3, window=7)
    options = {"cell": "lstm", "output_dropout": 0.2}
    whole, _ = made(split, "many-to-many", recipe, **options)
    run_epochs(whole, 2)
    first, _ = made(split, "many-to-many", recipe, **options)
    first.begin(0)
    for _ in range(5):
        first()
    saved = {name: value.clone() for name, value in first.state().items()}
    assert {"step/counted", "step/carried0", "step/carried1"} <= set(saved)
    second, _ = made(split, "many-to-many", recipe, **options)
    second.restore(saved, first.step)
    second.begin(0, 5)
    for _ in range(second.batches - 5):
        second()
    second.begin(1)
    for _ in range(second.batches):
        second()
    for name, value in whole.state().items():
        assert torch.equal(value, second.state()[name]), name
    assert whole.totals() == second.totals()


@cuda
@pytest.mark.parametrize("forcing", [1.0, 0.5])
def test_recorded_translation_equals_eager(forcing):
    options = {"padding": 0, "input_dropout": 0.2}
    recipe = Recipe(Adam(0.01), epochs=3, batch_size=8, teacher_forcing=forcing, clip=Clip(1.0))
    steps = [made(pairs(80), "seq2seq", recipe, "cuda", kind, **options)[0] for kind in ("eager", "captured")]
    assert steps[1].kind == "captured"
    for step in steps:
        run_epochs(step, 3)
    for p, q in zip(steps[0].model.parameters(), steps[1].model.parameters(), strict=True):
        torch.testing.assert_close(p, q, rtol=1e-3, atol=1e-4)
    assert steps[0].totals()["loss"] == pytest.approx(steps[1].totals()["loss"], rel=1e-3)


@cuda
def test_recorded_language_equals_eager():
    recipe = Recipe(Adam(0.01), epochs=3, batch_size=4, window=10)
    steps = [made(text(), "many-to-many", recipe, "cuda", kind, cell="lstm")[0] for kind in ("eager", "captured")]
    assert steps[1].kind == "captured"
    for step in steps:
        run_epochs(step, 3)
    for p, q in zip(steps[0].model.parameters(), steps[1].model.parameters(), strict=True):
        torch.testing.assert_close(p, q, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(steps[0].feed.carried[0], steps[1].feed.carried[0], rtol=1e-3, atol=1e-4)


@cuda
def test_what_cannot_be_recorded_runs_eagerly_with_a_reason():
    recipe = Recipe(GD(0.1, line_search=True), epochs=1)
    step, _ = made(reviews(), "many-to-one", recipe, "cuda", padding=0)
    assert step.kind == "eager" and "line search" in step.reason
