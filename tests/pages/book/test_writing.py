"""Writing the book: addresses of files, folders that may be replaced, links that lead somewhere, and its size."""

import base64
import gzip
import json
import os
import re
import subprocess
import sys
import time
from multiprocessing import active_children
from pathlib import Path

import numpy as np
import pytest

from lamina._errors import ArgumentError, RunError
from lamina.pages.book import writing
from lamina.pages.book.writing import MARK, export, localized, weights
from lamina.pages.kit._shipped import shipped

PAGES = ("ch5/dictionary",)


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book") / "site"
    told = []
    return folder, export(folder, only=PAGES, told=told.append), told


def test_every_link_leads_to_a_file_of_the_book(book):
    folder, _, told = book
    assert sorted(told) == sorted(PAGES)
    count = 0
    for page in folder.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"""(href|src)=["'](/|https?:)""", text)
        for place in re.findall(r"""(?:href|src)=["']([^"'#?]+)[#?"']""", text):
            if not place.startswith(("data:", "#")):
                count += 1
                assert (page.parent / place).is_file(), f"{page.name} leads to {place}"
    assert count > 50


def test_states_are_those_of_the_recording(book):
    text = (book[0] / "ch5/dictionary.states.js").read_text(encoding="utf-8")
    states = json.loads(gzip.decompress(base64.b64decode(re.search('"(.*)"', text)[1])))
    index = re.search(
        r'id="lamina-moves">(.*?)</script>', (book[0] / "ch5/dictionary.html").read_text(encoding="utf-8")
    )
    moves = json.loads(index[1])
    assert moves and {*moves} == {*states["cells"]} - {""}
    for key, move in moves.items():
        for cell, rows in states["cells"][key].items():
            assert len(rows) == len(move["values"]) and cell in states["cells"][""]
            assert all("".join(states["pieces"][i] for i in row).startswith("<") for row in rows)


def test_no_word_about_the_machine(book):
    for path in book[1]:
        if path.suffix in (".html", ".js") and "katex" not in path.parts:
            text = path.read_text(encoding="utf-8")
            assert str(Path.home()) + "/" not in text and "site-packages" not in text, path


def test_a_book_is_written_again_and_other_folders_are_not_touched(tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("x")
    with pytest.raises(
        ArgumentError, match="`--export` must be a new or empty folder or an earlier book, but .*mine holds"
    ):
        export(mine)
    assert (mine / "thesis.txt").read_text() == "x"
    with pytest.raises(ArgumentError, match="`--export` must be a folder, but .*thesis.txt is a file"):
        export(mine / "thesis.txt")
    with pytest.raises(ArgumentError, match="there is no page 'ch9/x'"):
        export(tmp_path / "new", only=["ch9/x"])
    assert not (tmp_path / "new").exists()
    old = tmp_path / "old"
    writing._make(old)
    (old / "stale.html").write_text("x")
    writing._make(old)
    assert [path.name for path in old.iterdir()] == [MARK]


def test_a_book_has_a_largest_size(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "MOST", 1000)
    with pytest.raises(RunError, match=r"has \d\.\d MB, more than the 0 MB it may have"):
        export(tmp_path / "site", only=["ch5/dictionary"], moves=False)


def test_weights_are_the_bytes_of_the_network():
    network, record = shipped("lenet5-mnist")
    written = json.loads(re.fullmatch(r".*? = (\{.*\});\n", weights("lenet5-mnist"), re.DOTALL)[1])
    assert written["mean"] == record.preprocess.mean[0] and written["std"] == record.preprocess.std[0]
    for name, value in network.state_dict().items():
        raw = np.frombuffer(base64.b64decode(written["weights"][name]), "<f4")
        assert (raw == value.numpy().ravel()).all()


def test_addresses():
    assert localized('<a href="/">', "../") == '<a href="../index.html">'
    assert localized("<a href='/errata#E70'>", "") == "<a href='errata.html#E70'>"
    assert localized('<link href="/static/lamina/pages.css?v=1">', "../") == '<link href="../static/pages.css">'
    assert localized('<a href="/ch1/logic.py">', "../") == '<a href="../ch1/logic.py">'
    for same in ('<a href="https://a.org/">', '<a href="#here">', '<a href="//a.org/">'):
        assert localized(same, "../") == same


def test_an_interrupted_book_waits_for_nobody(tmp_path):
    before, told = active_children(), []

    def interrupt(path):
        told.append(path)
        raise KeyboardInterrupt

    wanted = ("ch5/dictionary", "ch5/gates", "ch1/logic", "ch2/approximation", "ch3/pooling", "ch3/lrn")
    with pytest.raises(KeyboardInterrupt):
        export(tmp_path / "site", only=wanted, moves=False, told=interrupt)
    assert len(told) == 1 and len([*(tmp_path / "site").rglob("*.html")]) < len(wanted)
    assert [process for process in active_children() if process not in before] == []
    assert not (tmp_path / "site/index.html").exists()
    again = export(tmp_path / "site", only=PAGES, moves=False)  # it may be written again
    assert tmp_path / "site/index.html" in again


def test_a_writer_that_is_killed_is_said(tmp_path):
    before = active_children()

    def kill(path):
        for process in active_children():
            if process not in before:
                process.kill()

    wanted = ("ch5/dictionary", "ch5/gates", "ch1/logic", "ch2/approximation", "ch3/pooling", "ch3/lrn")
    with pytest.raises(RunError, match="a process that wrote a page was ended by .*: write the pages again"):
        export(tmp_path / "site", only=wanted, moves=False, told=kill)
    assert [process for process in active_children() if process not in before] == []


BEGUN = """
import time
from multiprocessing import active_children
from pathlib import Path
from lamina.pages.book.writing import export

def told(path):
    print(*(process.pid for process in active_children()), flush=True)
    time.sleep(600)

if __name__ == "__main__":
    export(Path("site"), only=("ch5/dictionary", "ch1/logic"), moves=False, told=told)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_a_killed_book_leaves_no_process(tmp_path):
    (tmp_path / "begun.py").write_text(BEGUN)
    begun = subprocess.Popen(
        [sys.executable, "begun.py"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    with begun.stdout as said:
        workers = [int(number) for number in said.readline().split()]
    begun.kill()
    begun.wait()
    assert len(workers) == min(2, os.cpu_count())
    end = time.monotonic() + 60
    while alive := [pid for pid in workers if Path(f"/proc/{pid}/stat").exists()]:
        assert time.monotonic() < end, f"{alive} work on for nobody"
        time.sleep(0.1)
