"""Visitors of the pages without a browser: they open pages, move widgets and upload files, honestly or not."""

import base64
import contextlib
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse
import uuid
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path

from websockets.sync.client import connect

_WIDGET = re.compile(r"object-id='([^']+)'[^>]*><(marimo-[a-z]+)([^>]*)>")
_ADDRESS = re.compile(r"The executable notes: (http://[^/]+)/\S*\n")
_ARGUMENT = re.compile(r"data-([a-z-]+)='([^']*)'")


@dataclass
class Widget:
    """A widget of a page: its name for the server, its kind, and its settings."""

    name: str
    kind: str
    settings: dict

    @classmethod
    def all(cls, text):
        return [
            cls(name, kind, {key: _value(value) for key, value in _ARGUMENT.findall(rest)})
            for name, kind, rest in _WIDGET.findall(text)
        ]


def _value(text):
    with contextlib.suppress(ValueError):
        return json.loads(unescape(text))
    return unescape(text)


def _strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part)


@dataclass
class Page:
    """One open page.

    Args:
        server: its address, such as http://127.0.0.1:2718.
        path: the page, such as ch1/perceptron.
        who: the network address that a proxy on this machine would name.
        cookie: what the visitor shows.
    """

    server: str
    path: str
    who: str = ""
    cookie: str = ""
    session: str = field(default_factory=lambda: f"s_{uuid.uuid4().hex[:10]}")
    widgets: dict = field(default_factory=dict)
    seen: str = ""

    @property
    def headers(self):
        names = {"X-Forwarded-For": self.who, "Cookie": self.cookie}
        return {name: value for name, value in names.items() if value}

    def open(self, timeout=120.0):
        """Connect, and wait until the whole page has run."""
        self.connect(timeout)
        self.wait(timeout)
        return self

    def connect(self, timeout=120.0):
        place = f"{self.server.replace('http', 'ws')}/{self.path}/ws?session_id={self.session}"
        self.socket = connect(
            place, max_size=None, open_timeout=timeout, additional_headers=self.headers
        ).__enter__()  # until `close`
        return self

    def wait(self, timeout=120.0):
        """Listen until the page has computed; return what it has shown since."""
        end, self.seen = time.monotonic() + timeout, ""
        while True:
            message = json.loads(self.socket.recv(timeout=max(0.0, end - time.monotonic())))
            for text in _strings(message.get("data")):
                self.seen += text
                self.widgets |= {widget.name: widget for widget in Widget.all(text)}
            if message["op"] == "completed-run":
                return self.seen

    def find(self, kind, label=""):
        return [w for w in self.widgets.values() if w.kind == kind and label in str(w.settings.get("label", ""))]

    def post(self, values, place="api/kernel/set_ui_element_value", session=None, timeout=60.0):
        """Tell the server the values of widgets; return the status of its answer."""
        body = values
        if not isinstance(body, bytes):
            body = json.dumps({"objectIds": list(values), "values": list(values.values())}).encode()
        link = http.client.HTTPConnection(urllib.parse.urlsplit(self.server).netloc, timeout=timeout)
        session = self.session if session is None else session
        headers = {**self.headers, "Content-Type": "application/json", "Marimo-Session-Id": session}
        try:
            link.request("POST", f"/{self.path}/{place}", body, headers)
            answer = link.getresponse()
            answer.read()
            return answer.status
        finally:
            link.close()

    def move(self, values, timeout=60.0):
        """Move widgets and wait until the page has computed; return the seconds that took."""
        start = time.perf_counter()
        status = self.post(values, timeout=timeout)
        assert status == 200, status
        self.wait(timeout)
        return time.perf_counter() - start

    def close(self):
        self.socket.close()


def uploaded(name, contents):
    """Give the value of an upload field, as a browser sends it."""
    return [[name, base64.b64encode(contents).decode()]]


@contextlib.contextmanager
def serving(*options, **environment):
    """Run `lamina notes` on a port that it chooses; give its address, when it answers, and its process."""
    command = [sys.executable, "-m", "lamina", "notes", "--no-browser", "--port", "0", *options]
    with tempfile.NamedTemporaryFile("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **environment})
        process.said = Path(out.name).read_text
        try:
            end = time.monotonic() + 120
            while not (found := _ADDRESS.search(process.said())):
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"the server did not start: {process.said()}")
                time.sleep(0.05)
            link = http.client.HTTPConnection(found[1].removeprefix("http://"), timeout=120)
            link.request("GET", "/")
            link.getresponse().read()
            link.close()
            yield found[1], process
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def memory(pid, what="VmRSS"):
    """Give the memory of a process in bytes: VmRSS now, VmHWM at most so far."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return 1024 * int(next(line for line in file if line.startswith(what)).split()[1])
