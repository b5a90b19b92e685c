"""An update that ruins a network is seen even when it is the last one, with validation examples and without."""

import json
import math

import pytest
import torch

import lamina
from lamina._errors import RunError
from lamina.training.recipe import MiniBatch, Stopping
from lamina.training.run import Run

pytestmark = pytest.mark.faults("gradients that are no numbers")


def trained(tmp_path, ratios, rate, epochs=1, **options):
    data = lamina.load("moons", count=60).split(ratios=ratios)
    net = lamina.build("fnn", inputs=2, outputs=2, hidden=(4,))
    recipe = lamina.Recipe(MiniBatch(rate), epochs=epochs, batch_size=60, **options)
    return lamina.fit(net, data, recipe, folder=tmp_path / "run")


@pytest.mark.parametrize("ratios", [(4, 1, 1), (4, 0, 1)], ids=["validation", "none"])
def test_a_ruined_network_after_one_update_is_a_failed_run(tmp_path, ratios):
    run = trained(tmp_path, ratios, 1e38)
    assert run.reason.name == "diverged" and run.reason.failed
    assert "the loss has not been finite since step 2" in run.reason.sentence
    assert "Try a smaller learning_rate (now 1e+38)" in run.reason.sentence
    status = json.loads((tmp_path / "run/status.json").read_text())
    assert status["state"] == "diverged" and "weights" not in status
    assert not (tmp_path / "run/weights.safetensors").exists()


@pytest.mark.parametrize("ratios", [(4, 1, 1), (4, 0, 1)], ids=["validation", "none"])
def test_a_sound_network_is_left_alone(tmp_path, ratios):
    assert trained(tmp_path, ratios, 0.1).reason.name == "epochs"


def test_an_undefined_loss_alone_is_no_divergence(tmp_path):
    def odd(outputs, targets):
        losses = torch.nn.functional.cross_entropy(outputs, targets, reduction="none")
        return losses if outputs.requires_grad else losses * math.nan

    run = trained(tmp_path, (4, 1, 1), 0.1, loss=odd)
    assert run.reason.name == "epochs" and math.isnan(run.rows[0]["validation_loss"])


def test_patience_without_validation_examples_looks_at_the_training_loss(tmp_path):
    run = trained(tmp_path, (4, 0, 1), 1e-30, epochs=10, stopping=Stopping(patience=2))
    assert run.reason.name == "patience" and 3 <= len(run.rows) < 10
    assert run.reason.sentence.startswith("the training loss did not improve in 2 checks; the best was 1.2")


def test_a_failed_run_is_not_judged(tmp_path):
    trained(tmp_path, (4, 1, 1), 1e38)
    with pytest.raises(RunError, match="cannot be judged"):
        run = Run.load(tmp_path / "run")
        with torch.no_grad():
            next(run.model.parameters()).fill_(math.nan)
        run.evaluate()
