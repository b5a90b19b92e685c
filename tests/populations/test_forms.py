"""The update of a population is compiled where there is a compiler."""

from lamina.kernels.native import compiler
from lamina.populations._forms import make_update
from populations.updates import CLIPS, PENALTIES, made


def test_the_form_is_chosen_by_the_compiler(monkeypatch):
    numbers, ours, _, _, state, _ = made("adam", PENALTIES[0], CLIPS[0])
    if compiler():
        assert make_update(ours, state, numbers).kind == "native"
    monkeypatch.setattr("lamina.kernels.native.works", lambda: False)
    assert make_update(ours, state, numbers).kind == "reference"
