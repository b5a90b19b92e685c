import pytest

from lamina.kernels.native import _compile_native, compiler, works


@pytest.mark.skipif(compiler() is None, reason="needs g++")
def test_a_compiler_that_refuses_is_quoted(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(RuntimeError, match="the C.. compiler .* refused a kernel: .*error"):
        _compile_native("this is no program", {})
    library = _compile_native('extern "C" int three() { return N; }', {"N": 3})
    assert library.three() == 3
    assert [path.suffix for path in (tmp_path / "lamina" / "kernels").iterdir()] == [".so"]
    assert _compile_native('extern "C" int three() { return N; }', {"N": 3}).three() == 3
    monkeypatch.setattr("lamina.kernels.native.compiler", lambda: None)
    with pytest.raises(RuntimeError, match="none was found"):
        _compile_native("again, no program", {})


def test_a_compiler_that_lacks_what_kernels_need_counts_as_none(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if compiler() is not None:
        assert works.__wrapped__()
    monkeypatch.setattr("lamina.kernels.native._PROBE", "an extension that this compiler does not know")
    assert not works.__wrapped__()
    monkeypatch.setattr("lamina.kernels.native.compiler", lambda: None)
    assert not works.__wrapped__()
