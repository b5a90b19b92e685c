"""The shelf of runs: old entries make room, and the server gives out nothing else."""

import asyncio
import os

from lamina.pages.kit import _keeping as keeping


def get(app, path):
    sent = []
    scope = {"type": "http", "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
             "method": "GET", "headers": [(b"host", b"127.0.0.1:2718")]}  # fmt: skip

    asked = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive():
        return asked.pop() if asked else await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], dict(sent[0]["headers"]), body.decode()


def test_old_entries_make_room(tmp_path):
    home = tmp_path / "visitor"
    first = keeping.entry(home, most=2)
    os.utime(first, (1, 1))
    second, third = keeping.entry(home, most=2), keeping.entry(home, most=2)
    assert not first.exists() and second.exists() and third.exists()


def test_whoever_has_most_gives_up_an_entry(tmp_path):
    (tmp_path / keeping.OWNED).touch()
    kept = keeping.entry(tmp_path / "modest")
    os.utime(kept, (1, 1))
    many = [keeping.entry(tmp_path / "greedy", most=8, every=4) for _ in range(6)]
    assert kept.exists(), "it is the oldest, but not the greedy one's"
    assert sum(path.exists() for path in many) == 3


def test_nothing_is_removed_that_is_not_ours(tmp_path):
    """Neither beside a folder that lies on no shelf, nor in it."""
    other, own = tmp_path / "other" / ("x" * 22), tmp_path / "home" / "pictures"
    for folder in (other, own):
        folder.mkdir(parents=True)
    made = [keeping.entry(tmp_path / "home", most=1, every=1) for _ in range(3)]
    assert other.is_dir() and own.is_dir() and [path.exists() for path in made] == [False, False, True]


def test_shelves_of_servers_that_are_gone_are_swept(tmp_path, monkeypatch):
    monkeypatch.setattr(keeping.tempfile, "gettempdir", lambda: str(tmp_path))
    alive, gone = keeping.Shelf(), keeping.Shelf()
    for shelf in (alive, gone):
        (shelf.mine.mkdir(), (shelf.mine / "rows.csv").write_text("1"))
    killed = gone.root
    gone._release()  # as the system does for a process that was killed
    (tmp_path / f"{keeping.PREFIX}file").write_text("not a folder")
    assert keeping.sweep() == [killed.name] and not killed.exists() and (alive.mine / "rows.csv").exists()
    home = alive.root
    alive.clear()
    assert not home.exists()


def test_the_server_gives_out_reports_by_their_names_only(tmp_path, monkeypatch):
    from lamina.pages.site.server import build

    monkeypatch.setattr(keeping.tempfile, "gettempdir", lambda: str(tmp_path))
    home = keeping.entry(keeping.SHELF.mine)
    (home / "run").mkdir()
    (home / "run" / "report.html").write_text("<p>the report</p>")
    (home / "run.zip").write_bytes(b"PK")
    secret = home / "secret.txt"
    secret.write_text("no")
    app = build()
    status, headers, body = get(app, f"/runs/{home.name}")
    assert (status, body) == (200, "<p>the report</p>") and b"default-src 'none'" in headers[b"content-security-policy"]
    status, headers, body = get(app, f"/runs/{home.name}/run.zip")
    assert (status, body) == (200, "PK") and b"attachment" in headers[b"content-disposition"]
    for path in (f"/runs/{home.name}/secret.txt", f"/runs/{home.name}/", "/runs/", "/runs/..", "/runs/" + "x" * 22,
                 f"/runs/../{home.name}", f"/runs/{home.name}/../run.zip", "/runs/%2e%2e/run.zip"):  # fmt: skip
        assert get(app, path)[0] == 404, path
