"""What a page says to its session: the places of widgets, and drawings.

marimo answers what it cannot read with a status of 500 or 400 and a traceback of some pages in the log of the server;
here it is refused before, and nobody's turn is used for it.
"""

import importlib
from functools import cache
from typing import Any

WIDGETS, DRAWINGS = "api/kernel/set_ui_element_value", "api/kernel/set_model_value"
"""The only addresses of marimo that a page of ours posts to."""


@cache
def _kinds() -> dict[str, Any]:
    """Give what marimo reads at each of its addresses."""
    marimo: Any = importlib.import_module("marimo._server.api.endpoints.execution")
    return {WIDGETS: marimo.UpdateUIElementValuesRequest, DRAWINGS: marimo.ModelRequest}


def understood(path: str, body: bytes) -> bool:
    """Say whether marimo can read a message.

    Args:
        path: where it was sent.
        body: the message.

    >>> understood("/ch1/perceptron/" + WIDGETS, b'{"objectIds": ["a"], "values": [1]}')
    True
    >>> understood("/ch1/perceptron/" + WIDGETS, b'{"objectIds": ["a"], "values": []}')
    False
    """
    import msgspec

    kind = next(kind for place, kind in _kinds().items() if path.endswith("/" + place))
    try:
        msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, ValueError, RecursionError, AssertionError):  # marimo asserts a value for each widget
        return False
    return True
