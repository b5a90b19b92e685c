"""What a page may say to its session is what marimo can read."""

import pytest

from lamina.pages.site._messages import DRAWINGS, WIDGETS, understood


@pytest.mark.parametrize(
    ("body", "right"),
    [
        (b'{"objectIds": ["a", "b"], "values": [1, "x"]}', True),
        (b'{"objectIds": [], "values": []}', True),
        (b'{"objectIds": ["a"], "values": []}', False),
        (b'{"objectIds": "a", "values": [1]}', False),
        (b"", False),
        (b"\xff\xfe", False),
        (b"[" * 100_000, False),
        (b"null", False),
    ],
)
def test_places_of_widgets(body, right):
    assert understood(f"/ch1/perceptron/{WIDGETS}", body) is right


def test_drawings():
    assert not understood(f"/ch3/lenet/{DRAWINGS}", b'{"objectIds": ["a"], "values": [1]}')
    sent = b'{"modelId": "m", "message": {"method": "update", "state": {"ink": "1"}, "bufferPaths": []}, "buffers": []}'
    assert understood(f"/ch3/lenet/{DRAWINGS}", sent)
