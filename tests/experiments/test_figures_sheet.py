import pytest

from lamina.experiments import figures_data
from lamina.experiments.figures import FIGURES, chosen
from lamina.experiments.figures_sheet import _contact_sheet, write_figures


@pytest.fixture(autouse=True)
def _only_embedded_data(monkeypatch, tmp_path):
    """Draw Fig. 14 from the embedded digits, whatever lies on this machine."""
    monkeypatch.setenv("LAMINA_DATA", str(tmp_path / "nothing"))
    monkeypatch.setattr(figures_data, "find", lambda name: None)


def test_pages_show_figures_with_their_files(tmp_path):
    told = []
    files = write_figures(chosen("13,sigmoid"), tmp_path / "new", ["svg", "tex"], told.append)
    assert [f.name for f in files] == [
        "figure-13.svg", "figure-13.tex", "sigmoid.svg", "sigmoid.tex", "index.html",
    ]  # fmt: skip
    assert [figure.name for figure in told] == ["13", "sigmoid"]
    page = files[-1].read_text()
    assert 'href="figure-13.tex"' in page and "N2.53" in page and "Fig. 13" in page and page.count("<svg") == 2
    assert "prefers-color-scheme: dark" in page and "http://" not in page.replace("http://www.w3.org", "")
    assert "<script" not in page and str(tmp_path) not in page
    assert "1 figure, " in _contact_sheet([(FIGURES["13"], FIGURES["13"].make(), [])])
