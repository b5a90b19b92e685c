"""A run that diverges says where its numbers stopped being finite."""

import lamina
from lamina.training.fit import fit
from lamina.training.folder import RunFolder
from lamina.training.loop import drain
from lamina.training.recipe import MiniBatch, Recipe


def test_a_run_that_diverges_says_where_and_what_to_do(tmp_path):
    net = lamina.build("fnn", inputs=64, outputs=10, hidden=(16, 16))
    run = fit(net, lamina.load("digits"), Recipe(MiniBatch(1e12), epochs=3), folder=tmp_path / "run")
    assert run.reason.name == "diverged"
    assert "the loss has not been finite since step" in run.reason.sentence
    assert "layer 'layers." in run.reason.sentence and "Try a smaller learning_rate (now 1e+12)" in run.reason.sentence
    assert RunFolder(run.folder).json("status")["state"] == "diverged"
    first = int(run.reason.sentence.split("since step ")[1].split(":")[0])
    assert 1 < first <= 19


def test_a_divergence_names_the_layer():
    net, data = lamina.build("fnn", inputs=2, outputs=2, hidden=(4,)), lamina.load("moons", count=120)
    recipe = lamina.Recipe(lamina.MiniBatch(1e30), epochs=4, batch_size=16)
    rows = []
    reason = drain(lamina.train(net, data, recipe), lambda event: rows.append(event.row) if event.row else None)
    assert rows == [] and reason.name == "diverged"
    assert "not been finite since step 2: layer 'layers.1.affine' was the first" in reason.sentence
