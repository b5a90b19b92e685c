"""Do the sliders of honest visitors still answer while hostile ones do what they can?

Ten honest visitors open pages and move a slider twice a second; the time is that from the request to the changed page.
Then four hostile visitors come from other addresses and go on until the end: one uploads tables (too wide, too long, a
Parquet file that says too much, a zip of pictures of 80 million pixels each), one sends bodies of 1.5 GB and of 27 MB
and slow ones, one opens pages and moves all of their sliders without a pause, also to 10^9, and one starts training on
every page it can open and asks for what no page asks for. The server is `lamina notes`, told by X-Forwarded-For who
asks, as by a proxy on the same machine. The hostile visitors are processes of low priority, since they would have
machines of their own. `python benchmarks/hostile_visitors.py SECONDS` takes another time than 60.
"""

import contextlib
import http.client
import io
import logging
import multiprocessing
import os
import statistics
import sys
import threading
import time
import urllib.parse
import zipfile
from collections import Counter
from pathlib import Path

from record import write

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from visiting import Page, memory, serving, uploaded

HONEST, PAUSE = 10, 0.5
PAGES = ("ch1/perceptron", "ch1/regression", "ch1/kmeans", "ch2/backpropagation", "ch3/convolution", "ch3/pooling",
         "ch4/vanishing", "ch5/unrolling", "ch5/gates", "ch1/logic")  # fmt: skip
answers: Counter[str] = Counter()
"""What the server said to this process."""


def honest(address: str, number: int, until: threading.Event, times: dict[str, list[float]], now: list[str]) -> None:
    """Open a page, and move its first slider to and fro."""
    page = Page(address, PAGES[number % len(PAGES)], who=f"192.0.2.{number + 1}").open()
    slider = page.find("marimo-slider")[0]
    low, high = slider.settings["start"], slider.settings["stop"]
    turn = 0
    while not until.is_set():
        turn += 1
        step = slider.settings.get("step") or 1
        times[now[0]].append(page.move({slider.name: low if turn % 2 else min(low + step, high)}, timeout=120))
        time.sleep(PAUSE)
    page.close()


def tables(address: str, who: str, until: threading.Event) -> None:
    """Upload what is expensive to read."""
    import polars as pl
    from PIL import Image

    picture, archive, columns = io.BytesIO(), io.BytesIO(), io.BytesIO()
    Image.new("L", (9000, 9000)).save(picture, "PNG")
    with zipfile.ZipFile(archive, "w") as file:
        for index in range(100):
            file.writestr(f"{'ab'[index % 2]}/{index}.png", picture.getvalue())
    pl.select(pl.repeat(1, 50_000_000).alias("a")).write_parquet(columns)
    wide = ",".join(f"c{i}" for i in range(40_000)) + "\n" + ("1," * 39_999 + "1\n") * 100
    files = [
        ("wide.csv", wide.encode()),
        ("long.csv", b"a,b\n" + b"1,2\n" * 4_900_000),
        ("words.csv", b"a,b\n" + b"some words here,other words\n" * 400_000),
        ("bomb.parquet", columns.getvalue()),
        ("bomb.zip", archive.getvalue()),
    ]
    turn = 0
    while not until.is_set():
        with contextlib.suppress(Exception):
            page = Page(address, "tools/playground", who).open()
            source = page.find("marimo-dropdown", "data")[0]
            page.move({source.name: [source.settings["options"][0]]})
            field = page.find("marimo-file", "your file")[0]
            while not until.is_set():
                turn += 1
                answers[f"upload {page.post({field.name: uploaded(*files[turn % len(files)])}, timeout=120)}"] += 1
                page.wait(120)
            page.close()


def bodies(address: str, who: str, until: threading.Event) -> None:
    """Send bodies that are too large, large ones to many pages, and one that never ends."""
    place, part = urllib.parse.urlsplit(address).netloc, b"x" * 2**20
    pages = [Page(address, "ch1/perceptron", who).connect() for _ in range(8)]
    field = "Hbol-0"
    slow = http.client.HTTPConnection(place, timeout=120)
    slow.putrequest("POST", "/ch1/perceptron/api/kernel/set_ui_element_value")
    for name, value in {**pages[0].headers, "Content-Length": "20000000", "Marimo-Session-Id": "s_slow"}.items():
        slow.putheader(name, value)
    slow.endheaders()
    while not until.is_set():
        link = http.client.HTTPConnection(place, timeout=120)
        try:
            chunks = (part for _ in range(1500))
            link.request("POST", "/ch1/perceptron/api/kernel/set_ui_element_value", chunks, pages[0].headers,
                         encode_chunked=True)  # fmt: skip
            answers[f"1.5 GB {link.getresponse().status}"] += 1
        except OSError as error:
            answers[f"1.5 GB {type(error).__name__}"] += 1
        link.close()
        for page in pages:
            with contextlib.suppress(OSError):
                answers[f"27 MB {page.post({field: uploaded('x.bin', bytes(20_000_000))}, timeout=120)}"] += 1
        with contextlib.suppress(OSError):
            slow.send(b"x")


def sliders(address: str, who: str, until: threading.Event) -> None:
    """Open many pages and move all sliders of each without a pause, to places where no slider can be."""

    def one(number: int) -> None:
        path, turn = PAGES[number % len(PAGES)], 0
        while not until.is_set():
            try:
                page = Page(address, path, who).open()
                while not until.is_set():
                    turn += 1
                    moved = {w.name: (w.settings["stop"], 1e9, -1e9, "nan")[turn % 4] for w in
                             page.find("marimo-slider")}  # fmt: skip
                    answers[f"sliders {page.post(moved)}"] += 1
                    if turn % 20 == 0:
                        page.socket.send("x" * 60_000)
            except Exception as error:
                answers[f"sliders {type(error).__name__}"] += 1
                time.sleep(0.2)

    _together(one, 20)


def jobs(address: str, who: str, until: threading.Event) -> None:
    """Start training on many pages, and ask for what no page asks for."""

    def one(number: int) -> None:
        while not until.is_set():
            try:
                page = Page(address, "tools/playground", who).open()
                for place in ("run", "function_call", "instantiate", "shutdown", "restart_session"):
                    answers[f"{place} {page.post({}, place=f'api/kernel/{place}')}"] += 1
                page.move({page.find("marimo-dropdown", "data")[0].name: ["million"]})
                page.move({page.find("marimo-text", "Train")[-1].name: "play 1"})
                answers["jobs started or waiting"] += 1
                while not until.is_set():
                    page.socket.recv(timeout=120)
                page.close()
            except Exception as error:
                answers[f"jobs {type(error).__name__}"] += 1
                time.sleep(0.2)

    _together(one, 8)


def hostile(work: str, address: str, who: str, until, said) -> None:
    """Be hostile in a process of one's own; what the server cuts off is no news."""
    logging.getLogger("websockets").setLevel(logging.CRITICAL)
    if hasattr(os, "nice"):
        os.nice(15)
    threading.Thread(target=globals()[work], args=(address, who, until), daemon=True).start()
    until.wait()
    time.sleep(1.0)
    said.put(dict(answers))


def _together(work, count: int) -> None:
    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main(seconds: float = 60.0) -> None:
    times: dict[str, list[float]] = {"alone": [], "beside four hostile visitors": []}
    names = list(times)
    now, end = [names[0]], threading.Event()
    apart = multiprocessing.get_context("spawn")
    until, said = apart.Event(), apart.Queue()
    with serving() as (address, process):
        time.sleep(40)  # torch is loaded and the first views are made
        readers = [
            threading.Thread(target=honest, args=(address, i, end, times, now), daemon=True) for i in range(HONEST)
        ]
        for reader in readers:
            reader.start()
        time.sleep(20)
        times[names[0]].clear()  # while pages were opening
        time.sleep(20)
        before = memory(process.pid)
        now[0] = names[1]
        worst = [
            apart.Process(target=hostile, args=(work, address, f"198.51.100.{i + 1}", until, said), daemon=True)
            for i, work in enumerate(("tables", "bodies", "sliders", "jobs"))
        ]
        for one in worst:
            one.start()
        time.sleep(seconds)
        end.set()
        for reader in readers:
            reader.join(150)
        until.set()
        for _ in worst:
            answers.update(said.get(timeout=30))
        after, most = memory(process.pid), memory(process.pid, "VmHWM")
        printed = process.said()
    rows = []
    for name, found in times.items():
        found.sort()
        row = {"what": f"{HONEST} honest visitors, slider, {name}", "seconds": statistics.median(found),
               "p95": found[int(0.95 * len(found))], "p99": found[int(0.99 * len(found))], "most": found[-1],
               "over half a second": sum(one > 0.5 for one in found), "n": len(found)}  # fmt: skip
        rows.append(row)
        print(f"{row['what']:70} median {row['seconds']:.3f} s, 95 % {row['p95']:.3f} s, most {row['most']:.3f} s, "
              f"{row['over half a second']} of {row['n']} over half a second")  # fmt: skip
    rows.append({"what": "memory of the server before, after and at most, MB", "before": before / 1e6,
                 "after": after / 1e6, "most": most / 1e6})  # fmt: skip
    rows.append({"what": "answers to the hostile visitors", **dict(sorted(answers.items()))})
    print(f"memory {before / 1e6:.0f} -> {after / 1e6:.0f} MB, at most {most / 1e6:.0f}")
    print(dict(sorted(answers.items())))
    print("tracebacks of the server:", printed.count("Traceback"))
    rows.append({"what": "tracebacks of the server", "count": printed.count("Traceback")})
    write("hostile_visitors", rows, cores=os.cpu_count(), load=os.getloadavg()[0], seconds=seconds)


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
