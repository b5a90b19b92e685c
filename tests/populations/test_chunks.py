"""Members that are trained together stop, diverge and are dropped each by itself, in chunks of any size."""

import polars as pl
import pytest
import torch

import lamina
from lamina._errors import RunError
from lamina.architectures.build import build
from lamina.data import synthetic
from lamina.data.preprocess import Preprocess
from lamina.populations._chunks import _check_rules, _why_alone
from lamina.populations.population import train_population, train_together
from lamina.training.loop import drain
from lamina.training.recipe import Adam, Averaging, MiniBatch, Recipe, Stopping
from populations.separate import assert_equal_runs, assert_same_history, separately
from populations.small import members, recipe


def test_members_stop_by_their_own_rules(moons):
    waits = (None, 1, 2, None, 3)
    population = members(*[
        recipe(Adam(0.3), epochs=14, stopping=Stopping(patience=p, loss_below=0.2 if k == 3 else None))
        for k, p in enumerate(waits)
    ])  # fmt: skip
    results = train_population(population, moons)
    assert_equal_runs(results, population, moons)
    assert [len(result.rows) for result in results] != [14] * 5
    assert results[0].reason == "epochs"
    assert "patience" in {result.reason for result in results}


def test_a_member_that_diverges_is_frozen_and_the_others_do_not_notice(moons):
    wild = [recipe(MiniBatch(lr), epochs=6) for lr in (0.1, 1e30, 0.2)]
    population, calm = members(*wild), members(wild[0], recipe(MiniBatch(0.1), epochs=6), wild[2])
    together, without = train_population(population, moons), train_population(calm, moons)
    assert [result.state for result in together] == ["finished", "diverged", "finished"]
    assert_equal_runs([together[0], together[2]], [population[0], population[2]], moons)
    assert together[1].first_bad_step == separately(population[1], moons)[1]
    for k in (0, 2):  # in stacks of two and of three members, whose products a CPU may round differently
        assert_same_history(together[k].rows, without[k].rows, 1e-10)
        for name, tensor in without[k].weights.items():
            torch.testing.assert_close(together[k].weights[name], tensor, rtol=1e-8, atol=1e-8)


def test_chunks_and_own_networks_give_the_same(moons):
    population = members(*[recipe(Adam(lr)) for lr in (1e-3, 1e-2, 0.1, 0.3, 1.0)])
    whole = train_population(population, moons)
    for chunk in (1, 2, 3):
        for ours, theirs in zip(train_population(population, moons, chunk=chunk), whole, strict=True):
            assert_same_history(ours.rows, theirs.rows, 1e-10)


@pytest.mark.parametrize("decays", [(0.0,) * 5, (0.9, 0.5, 1.0, 0.8, 0.0), (0.9, 0.5, 0.0, 0.0, 0.9)])
def test_dropped_members_end_and_the_rest_goes_on(decays, moons):
    recipes = [recipe(Adam(10.0**-k), epochs=6, averaging=Averaging(decay)) for k, decay in enumerate(decays)]
    population = members(*recipes)
    seen = []

    def halve(event):
        seen.append([row is not None for row in event.row["members"]])
        return {2: [0, 4], 4: [1]}.get(event.epoch)

    results = drain(train_together(population, moons), halve)
    assert [len(result.rows) for result in results] == [2, 4, 6, 6, 2]
    assert [result.reason for result in results] == ["dropped", "dropped", "epochs", "epochs", "dropped"]
    assert seen[2] == [False, True, True, True, False]
    for result, member in zip(results, population, strict=True):
        at, _ = separately(member, moons)
        assert_same_history(result.rows, at.rows[: len(result.rows)], 1e-10)


def test_a_rule_that_does_not_fit_is_noticed(monkeypatch):
    from lamina.populations import stacked

    split = synthetic.moons(120, seed=0)
    source = Preprocess.fit(split, 2).source(split)
    nets = [build("fnn", inputs=2, outputs=2, hidden=(8,), seed=k) for k in range(2)]
    _check_rules(nets, source, Recipe())
    rule = stacked.TABLE[type(nets[0])]
    monkeypatch.setitem(stacked.TABLE, type(nets[0]), lambda net, inputs: 2 * rule(net, inputs))
    with pytest.raises(RunError, match="stacked form of FNN differs .* by 1.0e.00 of its output .*chunk=1"):
        _check_rules(nets, source, Recipe())


def test_a_table_that_is_read_block_by_block_is_not_stacked(tmp_path):
    frame = pl.DataFrame({"x": [float(n % 7) for n in range(300)], "y": [n % 7 > 3 for n in range(300)]})
    frame.write_parquet(tmp_path / "a.parquet")
    split = lamina.load(tmp_path / "a.parquet", target="y", stream=True).split()
    source = Preprocess.fit(split.train).source(split.train)
    assert _why_alone(Recipe(), source) == "the table is read block by block"
    resident = Preprocess.fit(split.validation).source(split.validation)
    assert _why_alone(Recipe(), resident) == ""
