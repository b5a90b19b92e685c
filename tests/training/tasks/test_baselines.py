"""What answers without a look at the input are worth: by hand, as scikit-learn has it, and in sentences."""

import math

import pytest
import torch
from scipy.stats import binomtest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import r2_score

import lamina
from lamina.data.arrays import from_arrays
from lamina.data.dataset import all_targets
from lamina.data.series import _as_series
from lamina.data.text.texts import IGNORE
from lamina.functional.metrics import sign_flip_p
from lamina.training.tasks._baselines import Baseline, answered, beaten, compared, number_metrics, unigram, verdict
from lamina.training.tasks.kinds import task_of


def found(data):
    """Judge the baselines of a dataset on its test part."""
    task = task_of(data)
    test = task.split.open_test()
    return task, test, task.baselines(task.usual(task.split.train), test)


def test_the_majority_class_of_training_is_that_of_scikit_learn():
    task, test, (one,) = found(lamina.load("wine"))
    train = all_targets(task.split.train)
    dummy = DummyClassifier(strategy="most_frequent").fit(torch.zeros(len(train), 1), train)
    expected = dummy.score(torch.zeros(len(test), 1), all_targets(test))
    assert one.metrics == {"accuracy": pytest.approx(expected, rel=1e-12)} and 0.3 < expected < 0.5
    assert one.name == "always 'class_1', the most frequent class in training"
    assert one.costs.mean().item() == one.cost == pytest.approx(1 - expected)


def test_the_mean_of_training_is_that_of_scikit_learn():
    task, test, (one,) = found(lamina.load("curve", count=90))
    train, wanted = (all_targets(part).double().numpy() for part in (task.split.train, test))
    given = DummyRegressor().fit(train * 0, train).predict(wanted * 0)
    assert one.metrics["mse"] == pytest.approx(((given - wanted.flatten()) ** 2).mean(), rel=1e-6)
    assert one.metrics["mae"] == pytest.approx(abs(given - wanted.flatten()).mean(), rel=1e-6)
    assert one.metrics["r2"] == pytest.approx(r2_score(wanted, given), rel=1e-4, abs=1e-9)
    assert one.metrics["rmse"] == math.sqrt(one.metrics["mse"])


def test_several_outputs_have_a_mean_each():
    targets = torch.tensor([[0.0, 10.0], [2.0, 30.0]]).repeat(9, 1)
    task = task_of(from_arrays(torch.randn(18, 3), targets))
    assert task.unit == "standard deviations" and task.scale == pytest.approx(1 / math.sqrt(2))
    (one,) = task.baselines({"mean": [1.0, 20.0]}, task.split.train)
    a, b = task.preprocess.target_std
    assert one.metrics["mse"] == pytest.approx((1 / a**2 + 100 / b**2) / 2, rel=1e-12)
    assert one.metrics["mae"] == pytest.approx((1 / a + 10 / b) / 2, rel=1e-12)
    assert (one.metrics["rmse of output 1"], one.metrics["rmse of output 2"]) == (1, 10)


def test_a_series_is_also_compared_with_its_last_value():
    values = torch.tensor([[1.0, 0.0], [2.0, 0.0], [4.0, 0.0], [8.0, 0.0], [16.0, 0.0]]).double()
    data = _as_series(values, window=2, horizon=2, wanted=[0], features=("sales", "rain"))
    task = task_of(data.split(ratios=(1, 0, 0)))
    mean, last = task.baselines({"mean": [5.0, 6.0]}, task.split.train)
    assert mean.name == "the mean of the training targets" and last.name == "the last value"
    # windows (1, 2) and (2, 4), then 4, 8 and 8, 16: errors 2, 6 and 4, 12
    assert last.costs.tolist() == [(4 + 36) / 2, (16 + 144) / 2] and last.metrics["mae"] == 6.0
    assert mean.costs.tolist() == [(1 + 4) / 2, (9 + 100) / 2]
    assert task.related(1000) == 10 and task.related(2) == 2 and task.unit == "sales"


def test_every_step_is_compared_with_its_own_value():
    data = _as_series(torch.tensor([1.0, 2.0, 4.0, 8.0])[:, None].double(), window=2, each_step=True)
    task = task_of(data.split(ratios=(1, 0, 0)))
    assert task.baselines({"mean": [0.0] * 2}, task.split.train)[1].costs.tolist() == [(1 + 4) / 2, (4 + 16) / 2]


def test_examples_that_are_no_windows_have_no_last_value():
    task, _, baselines = found(lamina.load("adding", count=60, length=6))
    assert [each.name for each in baselines] == ["the mean of the training targets"] and task.related(60) == 1


def test_labels_at_every_step_are_compared_with_the_most_frequent_one():
    task, test, (one,) = found(lamina.load("next-input", count=60))
    train, targets = all_targets(task.split.train), all_targets(test)
    most = int(torch.bincount(train[train != IGNORE]).argmax())
    share = (targets[targets != IGNORE] == most).double().mean().item()
    assert one.metrics["token_accuracy"] == pytest.approx(share) and "the most frequent label in training" in one.name


def test_words_are_compared_with_their_frequencies():
    one = unigram([0, 1, 3, 0], torch.tensor([2, 1]), "words")  # with one more each: 1/8, 2/8, 4/8, 1/8
    assert one.metrics["loss"] == pytest.approx((math.log(2) + math.log(4)) / 2, rel=1e-12)
    assert one.metrics["perplexity"] == pytest.approx(math.sqrt(8), rel=1e-12) and one.metrics["token_accuracy"] == 0.5
    for name in ("phrasebook", "digit-words"):
        task, _, (one,) = found(lamina.load(name))
        assert one.metrics["perplexity"] < task.output_size and one.costs is None


@pytest.mark.parametrize(("better", "worse"), [(3, 0), (5, 1), (9, 7), (0, 0), (8, 8)])
def test_for_right_and_wrong_answers_the_test_is_that_of_mcnemar(better, worse):
    differences = torch.tensor([1.0] * better + [-1.0] * worse + [0.0] * 20)
    expected = binomtest(better, better + worse).pvalue if better + worse else 1.0
    assert sign_flip_p(differences) == pytest.approx(expected, rel=1e-12)


def test_many_differences_count_as_normal():
    d = torch.tensor([3.0] * 12 + [-1.0] * 8)
    assert sign_flip_p(d) == pytest.approx(math.erfc(28 / math.sqrt(2 * (12 * 9 + 8))), rel=1e-12)
    assert sign_flip_p(torch.ones(16)) == 2 / 2**16


def against(network, baseline, block=1):
    costs = torch.tensor(network)
    one = Baseline("always 'a'", {}, sum(baseline) / len(baseline), torch.tensor(baseline))
    return compared([one], costs.mean().item(), costs, block)


def test_sentences():
    few = against([0.0] * 4, [1.0] * 4)
    assert few == [{"name": "always 'a'", "metrics": {}, "ahead": 1.0, "p": 0.125}] and beaten(few) is None
    said = "The network is ahead of the baseline, but 4 examples are too few to tell (p = 0.12)."
    assert verdict(few, 4) == said
    many = against([0.0] * 8, [1.0] * 8)
    assert verdict(many, 8) == "The network beats the baseline." and beaten(many) is True
    same = against([1.0] * 8, [1.0] * 8)
    assert verdict(same, 8) == "The network does not beat the baseline." and beaten(same) is False
    assert verdict([], 8) == "" and beaten([]) is None
    alone = verdict(against([0.0], [1.0]), 1)
    assert alone == "The network is ahead of the baseline, but 1 example is too few to tell (p = 1)."


def test_neighbors_that_depend_on_each_other_count_as_one():
    assert against([0.0] * 8, [1.0] * 8, block=4)[0]["p"] == 0.5


def test_the_strongest_baseline_comes_first_and_is_named():
    wanted = torch.tensor([[1.0], [3.0]])
    weak, strong = answered("far", wanted + 9, wanted), answered("near", wanted + 1, wanted)
    both = compared([weak, strong], 2.0, None)
    assert [each["name"] for each in both] == ["near", "far"] and both[0]["p"] is None
    assert verdict(both, 2) == "The network does not beat the strongest baseline (near)."
    assert verdict(compared([weak, strong], 0.5, None), 2) == "The network beats the strongest baseline (near)."


def test_outputs_with_units_of_their_own_are_judged_in_standard_deviations_and_each_in_its_units(tmp_path):
    x = torch.linspace(-1, 1, 60)
    rows = [{"x": float(v), "price": 1000 * float(v) + 7 * (i % 3), "days": float(v) ** 2} for i, v in enumerate(x)]
    net = lamina.build("fnn", inputs=1, outputs=2, hidden=4)
    run = lamina.fit(net, lamina.load(rows, target=["price", "days"]), epochs=2, folder=tmp_path / "run")
    found = run.evaluate()
    inputs, targets = run.split.open_test().take(torch.arange(10))
    errors = run.predict(inputs).values.double() - targets.double()
    own = errors.square().mean(0).sqrt()
    stds = torch.tensor(run.preprocess.target_std, dtype=torch.float64)
    assert [found.metrics["rmse price"], found.metrics["rmse days"]] == pytest.approx(own.tolist(), rel=1e-5)
    assert found.metrics["rmse"] == pytest.approx((errors / stds).square().mean().sqrt().item(), rel=1e-5)
    assert found.unit == "standard deviations" and "rmse price" in found.baselines[0]["metrics"]
    best = min(row["validation_rmse"] for row in run.rows)
    assert 0.1 < found.metrics["rmse"] / best < 10  # as the history is


def test_a_forecast_of_several_steps_has_one_error_for_each_column():
    given, wanted = torch.tensor([[1.0, 10.0, 3.0, 30.0]]), torch.zeros(1, 4)
    found, squares = number_metrics(given, wanted, apart=[("a", 1.0), ("b", 10.0)])
    assert found["rmse a"] == pytest.approx(5**0.5) and found["rmse b"] == pytest.approx(500**0.5)
    assert found["mse"] == 5 and squares.tolist() == [5.0]
