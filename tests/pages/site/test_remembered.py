"""What is remembered of marimo's work is what marimo finds."""

import importlib
import importlib.metadata
import math
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

from lamina.pages.site import contents
from lamina.pages.site._remembered import TEXTS, _alone, _behind, compile_ahead, remember


def test_remembered_answers_are_those_of_marimo(monkeypatch, tmp_path):
    from marimo._ast import compiler, parse
    from marimo._entrypoints import registry
    from marimo._runtime import runtime

    markdown = importlib.import_module("marimo._output.md")
    plain = markdown._render_markdown("*a* $x_1$")
    for module, name in ((registry, "get_entry_points"), (compiler, "_build_source_position_map"),
                         (compiler, "ends_with_semicolon"), (parse, "parse_notebook"), (compiler, "compile_cell"),
                         (runtime, "compile_cell"), (markdown, "_render_markdown")):  # fmt: skip
        monkeypatch.setattr(module, name, getattr(module, name))  # put back afterwards
    toml = importlib.import_module("marimo._utils.toml").toml_reader
    view = importlib.import_module("marimo._session.state.session_view")
    monkeypatch.setattr(toml, "read", toml.read)
    decoded = view.deserialize_kernel_message
    monkeypatch.setattr(view, "deserialize_kernel_message", decoded)
    settings = tmp_path / "settings.toml"
    settings.write_text("[a]\nb = [1]", encoding="utf-8")
    remember()
    toml.read(settings)["a"]["b"].append(2)
    settings.unlink()
    assert toml.read(settings) == {"a": {"b": [1]}}, "read once, and everybody has a copy"
    message = b'{"op":"cell-op","cell_id":"Hbol","status":"idle","timestamp":1.5}'
    assert view.deserialize_kernel_message(message) == decoded(message)
    assert view.deserialize_kernel_message(message).status == "idle"
    kept = registry.get_entry_points
    remember()
    assert registry.get_entry_points is kept, "once is enough"
    assert list(kept("marimo.cell.executor")) == list(importlib.metadata.entry_points(group="marimo.cell.executor"))
    assert compiler.ends_with_semicolon("a = 1;") and not compiler.ends_with_semicolon("a = 1")
    assert [markdown._render_markdown("*a* $x_1$") for _ in range(2)] == [plain, plain] and "<em>a</em>" in plain
    assert markdown._render_markdown.cache_info().hits >= 1 and markdown._render_markdown.cache_info().maxsize == TEXTS
    file = contents.find("ch1/perceptron").file
    places = compiler._build_source_position_map(str(file))
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len(places) > 10 and all(position.filename == str(file) for _, position in places)
    code, position = places[1]
    assert code.splitlines()[0].strip() in {line.strip() for line in lines[position.lineno - 1 : position.lineno + 2]}
    first = parse.parse_notebook(file.read_text(encoding="utf-8"))
    assert first is parse.parse_notebook(file.read_text(encoding="utf-8")) and len(first.cells) == len(places)


def test_ipython_shows_things_in_marimos_way_once_for_all_visitors():
    import IPython.display

    factory = importlib.import_module("marimo._output.formatters.formatters").THIRD_PARTY_FACTORIES["IPython"]
    vars(factory).pop("register", None)
    remember()
    before = IPython.display.display
    undo = factory.register()
    first = IPython.display.display
    factory.register()
    assert IPython.display.display is first is not before
    undo()
    vars(factory).pop("register")


def test_figures_are_loaded_before_a_visitor_is_said_to_have_them(monkeypatch):
    factory = importlib.import_module("marimo._output.formatters.formatters").THIRD_PARTY_FACTORIES["matplotlib"]
    vars(factory).pop("register", None)
    loaded = []
    monkeypatch.setattr(type(factory), "register", lambda self: loaded.append("marimo._output.mpl" in sys.modules))
    monkeypatch.delitem(sys.modules, "marimo._output.mpl", raising=False)
    factory.register()
    remember()
    factory.register()
    vars(factory).pop("register")
    assert loaded == [False, True]


def test_who_gets_half_a_module_leaves_the_rest_to_whoever_loads_it(monkeypatch, tmp_path):
    (tmp_path / "half_loaded.py").write_text("import half_hook\nhalf_hook.done()\nwhole = True\n")
    hook, seen = ModuleType("half_hook"), []
    hook.done = _behind("half_loaded", lambda: seen.append(sys.modules["half_loaded"].whole))
    monkeypatch.setitem(sys.modules, "half_hook", hook)
    monkeypatch.syspath_prepend(tmp_path)
    hook.done()
    monkeypatch.delitem(sys.modules, "half_loaded")
    assert seen == [True], "an AttributeError before"


def test_a_cell_is_compiled_once_and_every_session_gets_its_own(monkeypatch):
    from marimo._ast import compiler
    from marimo._ast.cell import CellImpl
    from marimo._runtime import runtime

    plain = compiler.compile_cell
    for module in (compiler, runtime):
        monkeypatch.setattr(module, "compile_cell", module.compile_cell)
    remember()
    file = contents.find("ch1/perceptron").file
    compile_ahead([file], pause=0)
    code = "import math\n_a = math.pi\nb = _a + c\nb"
    one, two = (runtime.compile_cell(code, cell_id="x", carried_imports=[]) for _ in range(2))
    wanted = plain(code, cell_id="x")
    assert isinstance(one, CellImpl) and one is not two and one.body is two.body
    for name in ("code", "defs", "refs", "temporaries", "deleted_refs", "variable_data", "cell_id", "key", "markdown"):
        assert getattr(one, name) == getattr(wanted, name), name
    assert one.defs == {"math", "b"} and one.refs == {"c"}
    one.configure({"hide_code": True})
    one._status.state = "running"
    one.defs.add("d")
    one.import_workspace.imported_defs.add("math")
    for other in (two, runtime.compile_cell(code, cell_id="x")):
        assert not other.config.hide_code and other.runtime_state is None and other.defs == {"math", "b"}
        assert not other.import_workspace.imported_defs
    spaces = {"c": 1}
    exec(two.body, spaces)
    assert eval(two.last_expr, spaces) == 1 + math.pi
    assert compiler.compile_cell(code, cell_id="x", test_rewrite=True).defs == {"math", "b"}


def test_one_thread_at_a_time_makes_syntax_trees():
    at_once, met = [], threading.Barrier(4)

    @_alone
    def parse(depth):
        at_once.append(1)
        assert len(at_once) == 1
        time.sleep(0.01)
        at_once.pop()
        return depth if depth == 0 else parse(depth - 1)  # a cell may be read within a file

    def work(number):
        met.wait(30)
        return parse(number)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [0] * 4
