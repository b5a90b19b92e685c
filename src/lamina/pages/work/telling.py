"""From work that calls back to work that yields."""

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

Tell = Callable[[Any], None]


def told(work: Callable[[Tell], None]) -> Iterator[Any]:
    """Do work in a thread and give what it tells, in order, as a generator; what it raises is raised here.

    Args:
        work: called with the function that it tells through.

    >>> list(told(lambda tell: [tell(i) for i in range(3)]))
    [0, 1, 2]
    """
    line: queue.Queue[tuple[str, Any]] = queue.Queue()

    def run() -> None:
        try:
            work(lambda row: line.put(("row", row)))
        except BaseException as error:
            line.put(("error", error))
        else:
            line.put(("end", None))

    threading.Thread(target=run, daemon=True).start()
    while True:
        kind, value = line.get()
        if kind == "row":
            yield value
        elif kind == "error":
            raise value
        else:
            return
