"""Typing a command."""

import sys

import pytest

from lamina.cli import main


@pytest.fixture
def typed(monkeypatch, tmp_path, capsys):
    """Type a command in this process, in an empty folder; return exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["lamina", *map(str, words)])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as error:
            code = int(error.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return run
