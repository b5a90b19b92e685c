"""How long does a reader of the live pages wait: for a page, for a picture after a slider moved, in a full classroom?

Cold is a browser that has never seen the pages, warm is the next page in the same browser; both end when formulas and
the first drawing are there, and once more when the page is live, so that its sliders move. Slider: from the key press
to the changed drawing, inside the browser. Client-side answer: from a number changed by hand to the painted frame,
before Python has heard of it. Classroom: visitors that open different pages at the same time as WebSocket
clients, and each moves a slider. The server is `lamina notes`, after it has computed the first views.
"""

import json
import os
import statistics
import sys
import threading
import time
import urllib.request
import uuid
from pathlib import Path

from record import write

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "browser"))
from harness import browser, find_slider, ready
from selenium.webdriver.common.keys import Keys
from websockets.sync.client import connect

from lamina.pages.site.contents import pages
from visiting import memory, serving

VISITORS = 30
PAGE, SLIDER = "ch1/perceptron", "W_1"
READY = """
const find = (node) => { for (const el of node.querySelectorAll('*')) {
  if (el.classList.contains('katex') || (el.shadowRoot && find(el.shadowRoot))) return true; } return false; };
const seen = find(document) && !!document.querySelector('.lamina-svg svg');
const live = seen && !document.querySelector('.lamina-still') && !!document.querySelector('#root .lamina-svg svg');
return [seen, live, performance.now() / 1000];
"""
WATCH = """
const drawings = [...document.querySelectorAll('#root .lamina-svg')];
const figure = drawings.find(el => el.outerHTML.includes('A neuron with three inputs')).closest('.output-area');
window.laminaMoved = null;
new MutationObserver((_, me) => { me.disconnect(); window.laminaMoved = performance.now() - window.laminaPressed; })
  .observe(figure, { subtree: true, childList: true, attributes: true, characterData: true });
const press = () => { window.laminaPressed = performance.now(); };
document.addEventListener('keydown', press, { capture: true, once: true });
"""


HANDS = (("ch2/backpropagation", "W[0](1,1)"), ("ch3/convolution", "Y (1,1)"))
TOUCH = """
const [title, number, done] = arguments;
const boxes = [...document.querySelectorAll('#root .lamina-svg[data-hands]')];
const box = boxes.find((each) => title in JSON.parse(each.dataset.hands));
const text = () => [...box.querySelectorAll('text')].map((node) => node.textContent).join();
const before = text(), start = performance.now();
LaminaHands.change(box, title, number);
const changed = text() !== before;
requestAnimationFrame(() => { const channel = new MessageChannel();  // after the frame is painted
  channel.port1.onmessage = () => done([performance.now() - start, changed]); channel.port2.postMessage(0); });
"""


def page_ready(driver, address: str, path: str) -> tuple[float, float]:
    """Open a page; return the seconds until formulas and a drawing are there, and until the page is live."""
    driver.get(f"{address}/{path}")
    first = None
    while True:
        seen, live, seconds = driver.execute_script(READY)
        first = seconds if first is None and seen else first
        if live:
            return first, seconds
        time.sleep(0.02)


def opening(address: str, repeats: int) -> dict[str, list[float]]:
    cold, warm = [], []
    for _ in range(repeats):
        with browser() as driver:
            cold.append(page_ready(driver, address, PAGE))
            driver.get(address + "/")
            warm.append(page_ready(driver, address, PAGE))
    return {
        "page ready, cold": [first for first, _ in cold],
        "page live, cold": [live for _, live in cold],
        "page ready, warm": [first for first, _ in warm],
        "page live, warm": [live for _, live in warm],
    }


def moving(address: str, repeats: int) -> list[float]:
    """Press an arrow key on a slider and return the seconds until the drawing has changed."""
    times = []
    with browser() as driver:
        driver.get(f"{address}/{PAGE}")
        ready(driver, settle=2.0)
        handle = find_slider(driver, SLIDER)
        for number in range(repeats):
            driver.execute_script(WATCH)
            handle.send_keys(Keys.ARROW_LEFT if number % 2 else Keys.ARROW_RIGHT)
            end = time.monotonic() + 10
            while not (moved := driver.execute_script("return window.laminaMoved")):
                assert time.monotonic() < end, "the drawing did not change"
                time.sleep(0.01)
            times.append(moved / 1000)
            time.sleep(0.1)
    return times


def touching(address: str, repeats: int) -> list[float]:
    """Change a number of a drawing and return the seconds until the frame that shows what follows from it."""
    times = []
    with browser() as driver:
        for path, title in HANDS:
            driver.get(f"{address}/{path}")
            ready(driver, settle=2.0)
            for number in range(repeats):
                moved, shown = driver.execute_async_script(TOUCH, title, 0.3 + 0.1 * number)
                assert shown, f"nothing follows from {title} of {path}"
                times.append(moved / 1000)
                time.sleep(0.3)
    return times


class Visitor(threading.Thread):
    """A reader without a browser: opens a page, waits for all of it, moves a slider if there is one."""

    def __init__(self, address: str, path: str, barrier: threading.Barrier) -> None:
        super().__init__(daemon=True)
        self.address, self.path, self.barrier = address, path, barrier
        self.session = f"s_{uuid.uuid4().hex[:6]}"
        self.first = self.whole = self.slider = float("nan")

    def run(self) -> None:
        socket = f"{self.address.replace('http', 'ws')}/{self.path}/ws?session_id={self.session}"
        self.barrier.wait()
        start = time.perf_counter()
        html = urllib.request.urlopen(f"{self.address}/{self.path}/").read()
        if b"lamina-still" in html:
            self.first = time.perf_counter() - start
        with connect(socket, max_size=None, open_timeout=60) as self.ws:
            widget = self.listen(start)
            self.whole = time.perf_counter() - start
            self.barrier.wait()
            if widget is not None:
                self.slider = self.move(widget)
            self.barrier.wait()

    def listen(self, start: float) -> tuple[str, float] | None:
        widget = None
        while True:
            message = json.loads(self.ws.recv(timeout=120))
            text = json.dumps(message)
            if self.first != self.first and "lamina-section" in text:
                self.first = time.perf_counter() - start
            if widget is None and "marimo-slider" in text:
                widget = _slider(text)
            if message["op"] == "completed-run":
                return widget

    def move(self, widget: tuple[str, float]) -> float:
        body = json.dumps({"objectIds": [widget[0]], "values": [widget[1]]}).encode()
        headers = {"Content-Type": "application/json", "Marimo-Session-Id": self.session, "Marimo-Server-Token": ""}
        request = urllib.request.Request(
            f"{self.address}/{self.path}/api/kernel/set_ui_element_value", body, headers, method="POST"
        )
        start = time.perf_counter()
        urllib.request.urlopen(request, timeout=60).read()
        while True:
            message = json.loads(self.ws.recv(timeout=60))
            if message["op"] == "completed-run":
                return time.perf_counter() - start


def _slider(text: str) -> tuple[str, float] | None:
    """Find the name and the right end of the first slider in what the server sends."""
    import re

    found = re.search(
        r'object-id=[\\\']*"?([\w-]+).{0,400}?<marimo-slider.*?data-stop=[\\\']*"?([\d.]+)', text, re.DOTALL
    )
    return (found[1], float(found[2])) if found else None


def classroom(address: str) -> dict[str, list[float]]:
    paths = [page.path for page in pages()]
    barrier = threading.Barrier(VISITORS)
    visitors = [Visitor(address, paths[i % len(paths)], barrier) for i in range(VISITORS)]
    for visitor in visitors:
        visitor.start()
    end = time.monotonic() + 120
    for visitor in visitors:
        visitor.join(max(0.0, end - time.monotonic()))
        assert not visitor.is_alive(), f"{visitor.path} did not answer in 120 s"
    return {
        f"{VISITORS} visitors, first view": [v.first for v in visitors],
        f"{VISITORS} visitors, whole page": [v.whole for v in visitors],
        f"{VISITORS} visitors, slider": [v.slider for v in visitors if v.slider == v.slider],
    }


def settled(address: str) -> None:
    """Wait until the server has loaded torch and computed all first views."""
    for page in pages():
        while b"lamina-still" not in urllib.request.urlopen(f"{address}/{page.path}/").read():
            time.sleep(0.5)


def main(repeats: int = 5) -> None:
    rows = []
    with serving() as (address, process):
        settled(address)
        measured = opening(address, repeats)
        measured["slider to picture"] = moving(address, 4 * repeats)
        measured["client-side answer"] = touching(address, 2 * repeats)
        before = memory(process.pid) / 1e6
        measured |= classroom(address)
        during = memory(process.pid) / 1e6
    for name, times in measured.items():
        row = {"what": name, "seconds": statistics.median(times), "most": max(times), "n": len(times)}
        rows.append(row)
        print(f"{name:28} median {row['seconds']:.3f} s, most {row['most']:.3f} s, n = {row['n']}")
    rows.append({"what": "memory before and with the visitors, MB", "before": before, "with": during})
    print(f"memory {before:.0f} -> {during:.0f} MB")
    write("pages", rows, pages=len(pages()), cores=os.cpu_count())


if __name__ == "__main__":
    main()
