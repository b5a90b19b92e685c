import pytest

from lamina.data._download import File, Resuming, UnreachableError, fetch


def test_a_server_that_does_not_answer(server, tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    server.files["/a"] = b"data"
    server.stall.clear()
    downloader = Resuming(tmp_path / "a.part", 4, lambda have: None, timeout=0.1)
    with pytest.raises(UnreachableError, match="the connection broke after 0 of 4 bytes"):
        downloader(server.address + "/a", tmp_path / "a", None)


def test_an_address_that_is_none(tmp_path):
    with pytest.raises(UnreachableError, match="nonsense/a: unknown url type"):
        fetch(File("a", 1, "0" * 64), ["nonsense"], tmp_path)
