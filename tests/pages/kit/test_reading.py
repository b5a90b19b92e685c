"""Whoever makes syntax trees waits for its turn."""

import threading

from lamina.functional.dense import neuron
from lamina.pages import kit
from lamina.pages.kit import _blocks
from lamina.pages.kit._reading import READING


def test_code_is_looked_up_by_one_thread_at_a_time():
    _blocks._listing.cache_clear()
    shown = []
    with READING:  # as while another page is compiled
        reader = threading.Thread(target=lambda: shown.append(kit.source(neuron)), daemon=True)
        reader.start()
        reader.join(0.2)
        assert not shown
    reader.join(60)
    assert "lamina.functional.dense.neuron" in shown[0].text
