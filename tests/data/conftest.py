"""A server on this machine that breaks as it is told, and a user whom permissions bind."""

import os
import shutil
import tempfile
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


class Server:
    """Serves `files`, and breaks in the ways that the tests ask for."""

    def __init__(self):
        self.files, self.asked = {}, []  # asked: (path, Range)
        self.ranges, self.lengths, self.cuts, self.stall = True, True, [], threading.Event()
        self.stall.set()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                server.answer(self)
                self.close_connection = True

            def log_message(self, *_):
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._http.server_port}"

    def answer(self, request):
        wanted = request.headers.get("Range")
        self.asked.append((request.path, wanted))
        data = self.files.get(request.path)
        if data is None:
            return request.send_error(404)
        begin = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.ranges else 0
        if begin >= len(data):
            return request.send_error(416)
        request.send_response(206 if begin else 200)
        if self.lengths:
            request.send_header("Content-Length", str(len(data) - begin))
        if begin:
            request.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
        request.send_header("Connection", "close")
        request.end_headers()
        self.stall.wait(timeout=10)
        request.wfile.write(data[begin:][: self.cuts.pop(0)] if self.cuts else data[begin:])

    def close(self):
        self.stall.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


@pytest.fixture
def server():
    server = Server()
    yield server
    server.close()


@pytest.fixture
def dead():
    """An address where nobody listens."""
    server = Server()
    server.close()
    return server.address


@pytest.fixture
def open_folder():
    """A folder that an ordinary user can reach."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def ordinary_user():
    """Give a context in which permissions bind, also when the tests run as root."""

    @contextmanager
    def user():
        if not hasattr(os, "geteuid"):
            pytest.skip("needs an ordinary user")
        if os.geteuid() != 0:
            yield
            return
        import pooch  # noqa: F401  (modules that an ordinary user may be unable to load)
        import requests.exceptions  # noqa: F401
        from PIL import Image

        Image.init()
        try:
            os.seteuid(65534)
        except OSError:
            pytest.skip("needs an ordinary user")
        try:
            yield
        finally:
            os.seteuid(0)

    return user


@pytest.fixture
def write(tmp_path):
    def file(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return file
