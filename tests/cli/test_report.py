"""`lamina report` as it is typed; `tests/report/test_report_command.py` looks at what it writes."""

import subprocess
import sys


def test_its_help_does_not_load_torch():
    code = "import sys, lamina.cli._report; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_report_of_a_study_is_a_page(typed, tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "study.toml").touch()
    code, _, err = typed("report", "s", "--format", "md")
    assert (code, err) == (2, "lamina: the report of a study is a web page: use --format html.\n")
