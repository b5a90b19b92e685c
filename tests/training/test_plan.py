"""Words become network, data and recipe."""

import pytest

from lamina.data.preprocess import Preprocess
from lamina.training.plan import plan
from lamina.training.recipe import Adam
from lamina.training.train import train


def test_preparing_joins_words_data_and_network(tmp_path):
    job = plan(
        "lenet5", "digits", options={"activation": "relu", "learning_rate": 0.5}, epochs=3, seed=4, out=tmp_path / "r"
    )
    assert job.model.config.activation == "relu" and job.recipe.optimizer == Adam(0.5)
    assert (job.recipe.epochs, job.recipe.seed, job.folder) == (3, 4, tmp_path / "r")
    assert job.notes[1] == "pictures of 1 x 8 x 8 are scaled to 1 x 28 x 28"
    assert "changed: activation=relu" in job.notes[2]
    assert plan("fnn", "iris", options={"optimizer": "minibatch", "momentum": 0.9}).recipe.optimizer.momentum == 0.9


@pytest.mark.parametrize(
    ("name", "data"), [("lenet5", "digits"), ("fnn", "digits"), ("fnn", "iris"), ("many-to-one", "wave")]
)
def test_data_are_prepared_once_and_the_network_runs_once_before_its_first_update(name, data, monkeypatch):
    fitted, looks, fit = [], [], Preprocess.fit.__func__
    monkeypatch.setattr(Preprocess, "fit", classmethod(lambda cls, *a, **k: fitted.append(a) or fit(cls, *a, **k)))
    job = plan(name, data)
    job.model.register_forward_pre_hook(lambda network, _: looks.append(network.training))
    next(train(job.model, job.task, job.recipe, every=1))
    assert len(fitted) == 1 and looks == [False, True]  # a look at one example, and the update
