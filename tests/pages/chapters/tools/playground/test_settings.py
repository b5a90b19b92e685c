"""Every option of every network has a widget."""

import pytest

from lamina._errors import ArgumentError
from lamina.architectures.table import TABLE
from lamina.pages.chapters.tools.playground import _settings as settings


@pytest.mark.parametrize("name", [name for name in TABLE if name != "logic-gate"])
def test_every_option_of_every_network_can_be_left_alone_or_chosen(name):
    options = settings.network_options(name)
    assert options and not {"inputs", "outputs"} & {option.name for option in options}
    assert settings.given(options, dict.fromkeys([option.name for option in options], settings.USUAL)) == {}
    words = {option.name: option.choices for option in options}
    assert ("activation" not in words) or "relu" in words["activation"]
    assert ("cell" not in words) or words["cell"] == ("rnn", "gru", "lstm")


def test_typed_options_are_key_and_value():
    assert settings.more("momentum=0.9 hidden=8,4") == {"momentum": 0.9, "hidden": (8, 4)}
    with pytest.raises(ArgumentError, match="an option is written as key=value, got 'momentum': for example"):
        settings.more("momentum")
