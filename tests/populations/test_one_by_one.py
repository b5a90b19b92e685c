"""Networks that read words are searched one by one; each is what `fit` makes of it."""

import pytest
import torch

import lamina
from lamina._errors import ArgumentError, DataWarning
from lamina.populations.one_by_one import NOTE, train_in_turn
from lamina.studies.problem import Problem
from lamina.training.loop import drain
from lamina.training.runtime import Runtime

SMALL = {"hidden": 4, "embedding": 3}


def problem(data="order", **options):
    return Problem.make("many-to-one", lamina.load(data, count=120), options={**SMALL, "epochs": 3, **options})


def test_a_member_is_the_run_that_fit_makes(tmp_path):
    made = problem()
    members = [made.members({"cell": cell})[0] for cell in ("rnn", "gru")]
    found = drain(train_in_turn(members, made.task))
    for member, result in zip(members, found, strict=True):
        run = lamina.fit(member.build(), made.split, member.recipe, folder=tmp_path / member.config.cell)
        assert list(result.rows) == list(run.rows) and result.state == "finished" and result.reason == "epochs"
        losses = [row["validation_loss"] for row in result.rows]
        assert result.best_row == losses.index(min(losses)) and result.notes == (NOTE,)
        assert all(torch.equal(value, result.weights[name]) for name, value in run.model.state_dict().items())


def test_members_take_turns_and_can_be_dropped():
    made, seen, steps = problem(), [], []

    def watch(event):
        if event.row is None:
            steps.append(event.step)
            return None
        seen.append((event.epoch, [None if row is None else row["epoch"] for row in event.row["members"]]))
        return [0] if event.epoch == 1 else []

    members = [made.members({"learning_rate": rate})[0] for rate in (0.001, 0.01)]
    found = drain(train_in_turn(members, made.task, every=5), watch)
    assert seen == [(1, [1, 1]), (2, [None, 2]), (3, [None, 3])] and steps == [5, 5, 10, 15]
    assert [len(result.rows) for result in found] == [1, 3] and [result.reason for result in found] == [
        "dropped",
        "epochs",
    ]


def test_a_divergence_is_the_members_own(tmp_path):
    made = problem(optimizer="minibatch", clip=None)
    members = [made.members({"learning_rate": rate})[0] for rate in (1e38, 0.01)]
    bad, good = drain(train_in_turn(members, made.task, runtime=Runtime()))
    assert (bad.state, bad.reason, bad.rows) == ("diverged", "diverged", ())
    run = lamina.fit(members[0].build(), made.split, members[0].recipe, folder=tmp_path / "run")
    assert f"not been finite since step {bad.first_bad_step + 1}:" in run.reason.sentence
    assert (good.state, good.first_bad_step, len(good.rows)) == ("finished", None, 3)


def test_label_noise_is_for_tokens_and_not_for_texts(tmp_path):
    made = problem()
    plain, noisy = (drain(train_in_turn(made.members({"label_noise": noise}), made.task))[0] for noise in (0.0, 0.5))
    assert plain.rows[0]["loss"] != noisy.rows[0]["loss"]
    rows = "".join(f"good film number {n},yes\nbad film number {n},no\n" for n in range(30))
    (tmp_path / "films.csv").write_text(f"text,label\n{rows}")
    texts = Problem.make("many-to-one", lamina.load(tmp_path / "films.csv", kind="text"), options=SMALL)
    with pytest.raises(ArgumentError, match=r"`label_noise` is not for texts, got 0\.5: leave it out"):
        next(train_in_turn(texts.members({"label_noise": 0.5}), texts.task))


def pairs(folder):
    who, what = {"Ann": "Anna", "he": "er", "she": "sie"}, {"sleeps": "schläft", "reads": "liest", "sings": "singt"}
    lines = [f"{one} {other}\t{who[one]} {what[other]}" for one in who for other in what]
    (folder / "pairs.tsv").write_text("\n".join(lines * 3) + "\n", encoding="utf-8")
    return lamina.load(folder / "pairs.tsv", kind="pairs")


def running(folder):
    (folder / "tale.txt").write_text("the cat sat on the mat and the dog sat by the door. " * 20)
    return lamina.load(folder / "tale.txt")


@pytest.mark.parametrize(
    ("architecture", "data", "metric"),
    [
        ("many-to-one", lambda folder: lamina.load("agreement", count=120), "validation_accuracy"),
        ("many-to-many", lambda folder: lamina.load("next-input", count=120), "validation_token_accuracy"),
        ("many-to-many", running, "validation_token_accuracy"),
        ("seq2seq", pairs, "validation_token_accuracy"),
        ("one-to-many", lambda folder: lamina.load("digit-words"), "validation_token_accuracy"),
        ("many-to-one", lambda folder: lamina.load("adding", count=120), "validation_rmse"),
    ],
    ids=["tokens", "tags", "running text", "pairs", "descriptions", "series"],
)
def test_every_kind_of_sequence_is_searched_chosen_and_tested(architecture, data, metric, tmp_path, recwarn):
    loaded = data(tmp_path)
    options = {"hidden": 4} | ({} if loaded.spec.kind in ("series", "image") else {"embedding": 3})
    space = {"cell": ["rnn", "gru"], "learning_rate": [0.001, 0.01]}
    study = lamina.search(architecture, loaded, space, epochs=2, options=options, folder=tmp_path / "study")
    assert len(study.state.results) == 4 and study.metric == metric
    best = max if metric != "validation_rmse" else min
    assert study.best.outcome.value == best(result.outcome.value for result in study.leaders())
    run = lamina.Run.load(tmp_path / "study" / "best")
    row = min(run.rows, key=lambda row: row["validation_loss"])
    assert row[metric] == pytest.approx(study.best.outcome.value, rel=1e-4)  # a series is stacked: last bits differ
    assert study.test["examples"] > 0
    said = [str(warning.message) for warning in recwarn if warning.category is DataWarning]
    assert (NOTE in said) == (loaded.spec.kind != "series")
