"""Printing needs a browser and says so; drawings need none."""

import pytest

from lamina._errors import ArgumentError
from lamina.pages.book import printing


def test_without_a_browser_there_is_a_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(printing, "_ELSEWHERE", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CHROMIUM", raising=False)
    with pytest.raises(ArgumentError, match="`--pdf` needs a Chromium, Chrome or Edge.*found none: install one"):
        printing.find_browser()
    monkeypatch.setenv("CHROMIUM", "nothing-of-this-name")
    with pytest.raises(ArgumentError, match="the variable CHROMIUM names nothing-of-this-name, which is no program"):
        printing.find_browser()


def test_a_pdf_is_called_one(tmp_path):
    with pytest.raises(ArgumentError, match="`--pdf` must end in .pdf, got '.*book.txt'"):
        printing.print_book(tmp_path / "book.txt")


def test_panels(tmp_path):
    written = printing.panels(tmp_path / "slides", only=["ch5/dictionary"])
    assert written and all(label for _, label in written)
    for path, _ in written:
        assert path.read_text(encoding="utf-8").startswith("<svg") and "var(--" not in path.read_text(encoding="utf-8")
        assert path.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
    assert written[0][0].name == "ch5-dictionary-1.svg"
    with pytest.raises(ArgumentError, match="`--panels` must be a folder, but .* is a file"):
        printing.panels(written[0][0])
