"""`lamina repair`: what it prints, and how it ends."""


def eight_rows(path):
    path.write_text("x,y\n" + "".join(f"{i},{2 * i + i % 3}\n" for i in range(8)))
    return path


def test_repair_says_what_it_did(typed, tmp_path):
    table = eight_rows(tmp_path / "eight.csv")
    typed("train", "fnn", "--data", table, "--epochs", "1", "--quiet", "--out", "run")
    code, out, _ = typed("repair", "run")
    assert code == 0 and out.startswith("run: all ") and out.endswith("files are as they were written\n")
    (tmp_path / "run/preprocess.json").write_text("{}")
    code, out, err = typed("predict", "run", table)
    assert code == 2 and "preprocess.json is damaged: it is not what the run wrote. It says how inputs are" in err
    code, out, _ = typed("repair", "run")
    assert code == 0 and "preprocess.json\trestored\texactly as it was, from a checkpoint" in out
    assert typed("predict", "run", table)[0] == 0
    (tmp_path / "run/status.json").unlink()
    (tmp_path / "run/config.toml").write_text("version = 2\n")
    for path in (tmp_path / "run/checkpoints").iterdir():
        path.unlink()
    code, out, _ = typed("repair", "run")
    assert code == 1 and "config.toml\tlost\tit said what was trained" in out
