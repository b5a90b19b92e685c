"""Networks and data are made again from plain values."""

import pytest

import lamina
from lamina._errors import RunError
from lamina.training.fit import fingerprint, rebuild, reload


def test_data_that_changed_are_noticed(tmp_path):
    table = tmp_path / "t.csv"
    rows = [f"{(i * 37) % 61 / 7},{i % 7},{'ab'[i % 2]}" for i in range(60)]
    table.write_text("x,y,label\n" + "\n".join(rows) + "\n")
    split = lamina.load(table).split()
    origin = {**split.origin, "reload": True, "fingerprint": fingerprint(split)}
    assert fingerprint(reload(origin)) == origin["fingerprint"]
    table.write_text("x,y,label\n" + "\n".join(rows[:-1]) + "\n0.5,3,a\n")
    with pytest.raises(RunError, match="have changed since the run began"):
        reload(origin)


def test_none_survives_the_config(tmp_path):
    from lamina.training.fit import describe

    net = lamina.build("seq2seq", embedding=None, target_embedding=None)
    home = lamina.training.folder.RunFolder.create(tmp_path / "run")
    home.write_config({"architecture": describe(net)})
    assert rebuild(home.config()["architecture"]).config == net.config
