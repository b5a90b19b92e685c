"""What is remembered of marimo's work is what marimo finds."""

import importlib.metadata

from lamina.pages.site import contents
from lamina.pages.site._remembered import remember


def test_remembered_answers_are_those_of_marimo(monkeypatch):
    from marimo._ast import compiler, parse
    from marimo._entrypoints import registry

    for module, name in ((registry, "get_entry_points"), (compiler, "_build_source_position_map"),
                         (compiler, "ends_with_semicolon"), (parse, "parse_notebook")):  # fmt: skip
        monkeypatch.setattr(module, name, getattr(module, name))  # put back afterwards
    remember()
    kept = registry.get_entry_points
    remember()
    assert registry.get_entry_points is kept, "once is enough"
    assert list(kept("marimo.cell.executor")) == list(importlib.metadata.entry_points(group="marimo.cell.executor"))
    assert compiler.ends_with_semicolon("a = 1;") and not compiler.ends_with_semicolon("a = 1")
    file = contents.find("ch1/perceptron").file
    places = compiler._build_source_position_map(str(file))
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len(places) > 10 and all(position.filename == str(file) for _, position in places)
    code, position = places[1]
    assert code.splitlines()[0].strip() in {line.strip() for line in lines[position.lineno - 1 : position.lineno + 2]}
    first = parse.parse_notebook(file.read_text(encoding="utf-8"))
    assert first is parse.parse_notebook(file.read_text(encoding="utf-8")) and len(first.cells) == len(places)
