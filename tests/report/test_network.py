"""The drawing of a run's network in its report."""

from lamina.report import _network
from lamina.report.render import render
from report.samples import CONFIG
from report.test_page import section, sections, words


def test_a_dense_network_is_drawn_with_its_weights_and_names(make):
    drawn = section(render(make("fnn-iris")), "The network")
    text = words(drawn)
    assert "Layers of 4, 5 and 3 nodes" in text, text
    assert sum("W[" in (node.text or "") for node in drawn.iter() if node.tag.endswith("title")) == 4 * 5 + 5 * 3


def test_a_network_that_a_file_cannot_hold_is_not_drawn(make):
    config = {**CONFIG, "architecture": {**CONFIG["architecture"], "network": "Mine"}}
    assert "The network" not in sections(render(make(config=config)))


def test_a_large_network_is_drawn_without_its_weights(make, monkeypatch):
    monkeypatch.setattr(_network, "LARGE", 10)
    drawn = section(render(make("fnn-iris")), "The network")
    assert not any("W[" in (node.text or "") for node in drawn.iter() if node.tag.endswith("title"))
    assert "4, 5 and 3 nodes" in words(drawn), words(drawn)
