"""Networks and data are made again from plain values."""

import pytest
import torch

import lamina
from lamina._errors import DataWarning, RunError
from lamina.data.identity import identity
from lamina.training.manifest import Manifest
from lamina.training.rebuild import _of_targets, rebuild, reload

pytestmark = pytest.mark.faults("changed data")
ROWS = [f"{(i * 37) % 61 / 7},{i % 7},{'ab'[i % 2]}" for i in range(60)]


def write_table(path, rows=ROWS, header="x,y,label"):
    path.write_text(header + "\n" + "\n".join(rows) + "\n")
    return path


def test_data_that_changed_are_noticed(tmp_path):
    table = write_table(tmp_path / "t.csv")
    split = lamina.load(table).split()
    origin = {**split.origin, "reload": True, "fingerprint": identity(split)}
    assert identity(reload(origin)) == origin["fingerprint"]
    old = {**origin, "fingerprint": _of_targets(split)}  # as Lamina 0.1 wrote it: targets alone
    reload(old)
    write_table(table, [*ROWS[:-1], "0.5,3,a"])
    for known in (origin, old):
        with pytest.raises(RunError, match="have changed since the run began"):
            reload(known)


def stopped(tmp_path, data):
    """Train for one of three epochs, as an interrupt would leave it."""
    net = lamina.build("fnn", inputs=2, outputs=2, hidden=4)
    run = lamina.fit(net, data, lamina.Recipe(epochs=3), folder=tmp_path / "run", observers=[lambda event: True])
    assert run.reason.name == "observer"
    return tmp_path / "run"


def test_inputs_and_names_that_changed_stop_a_resume_and_an_evaluation(tmp_path):
    table = write_table(tmp_path / "t.csv")
    folder = stopped(tmp_path, str(table))
    shifted = [f"{100 + float(x)},{rest}" for x, rest in (row.split(",", 1) for row in ROWS)]
    for changed, why in (
        ({"rows": shifted}, "the contents differ"),
        ({"header": "y,x,label"}, "the names or types of columns or classes differ"),
    ):
        write_table(table, **changed)
        match = rf"the data in .*t.csv have changed since the run began \({why}\): restore the old ones, or train again"
        with pytest.raises(RunError, match=match):
            lamina.resume(folder)
        run = lamina.Run.load(folder)
        with pytest.raises(RunError, match=match):
            run.evaluate()
        write_table(table)
        run.evaluate()
        write_table(table, **changed)
        if "rows" in changed:
            with pytest.warns(DataWarning, match=match):
                run.evaluate(str(table))
            with pytest.warns(DataWarning, match=match):
                run.predict(str(table))
            with pytest.warns(DataWarning, match=match):  # as the command gives it, which may spell it otherwise
                run.predict([f"{tmp_path}/../{tmp_path.name}/t.csv"])
            with pytest.warns(DataWarning, match=match):
                run.evaluate(f"{tmp_path}/../{tmp_path.name}/t.csv")
            (folder / "evaluation.json").unlink()
            Manifest(folder).forget("evaluation.json")
    write_table(table)
    assert lamina.resume(folder).reason.name == "epochs"


def test_data_in_memory_are_compared_too(tmp_path):
    inputs, targets = torch.arange(120.0).reshape(60, 2), torch.arange(60) % 2
    folder = stopped(tmp_path, (inputs, targets))
    with pytest.raises(
        RunError, match=r"`data` are not those .* \(the contents differ\): give the same, or train again"
    ):
        lamina.resume(folder, data=(inputs + 1, targets))
    with pytest.raises(RunError, match="they are divided into training, validation and test part otherwise"):
        lamina.resume(folder, data=lamina.load((inputs, targets)).split(seed=5))
    assert lamina.resume(folder, data=(inputs, targets)).reason.name == "epochs"


def test_none_survives_the_config(tmp_path):
    from lamina.training.fit import describe

    net = lamina.build("seq2seq", embedding=None, target_embedding=None)
    home = lamina.training.folder.RunFolder.create(tmp_path / "run")
    home.write_config({"architecture": describe(net)})
    assert rebuild(home.config()["architecture"]).config == net.config
