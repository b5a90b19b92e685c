"""`make audit` finds what an advisory file says about installed packages, and says when it has nothing to compare."""

import importlib.util
import json
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location("audit", Path(__file__).parent.parent / "tools" / "audit.py")
audit = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(audit)


def advisory(name, *events, **more):
    ranges = [{"type": "ECOSYSTEM", "events": [dict([event]) for event in events]}]
    return {"id": "TEST-1", "summary": "a hole", **more,
            "affected": [{"package": {"ecosystem": "PyPI", "name": name}, "ranges": ranges}]}  # fmt: skip


def test_an_installed_package_with_a_known_hole_is_named(tmp_path, capsys):
    file = tmp_path / "one.json"
    file.write_text(json.dumps(advisory("NumPy", ("introduced", "0"), ("last_affected", version("numpy")))))
    assert audit.main([str(file)]) == 1
    said = capsys.readouterr().out
    assert said.startswith(f"numpy {version('numpy')}: TEST-1 a hole\n") and "1 advisories, 1 known" in said


def test_other_packages_fixed_and_withdrawn_advisories_are_nothing(tmp_path, capsys):
    listed = [
        advisory("numpy", ("introduced", "0"), ("fixed", "0.1")),
        advisory("not-installed-at-all", ("introduced", "0")),
        advisory("numpy", ("introduced", "0"), withdrawn="2026-01-01T00:00:00Z"),
    ]
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for number, one in enumerate(listed):
            archive.writestr(f"{number}.json", json.dumps(one))
    assert audit.main([str(tmp_path / "all.zip")]) == 0
    assert "2 advisories, 0 known vulnerabilities" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("events", "inside", "outside"),
    [
        ([("introduced", "1.0"), ("fixed", "1.2"), ("introduced", "2.0"), ("fixed", "2.1")], "2.0.5", "1.10"),
        ([("introduced", "1.0"), ("last_affected", "1.2")], "1.2", "1.2.1"),
        ([("introduced", "0"), ("fixed", "0.1a1")], "0.0.1", "0.1a1"),
    ],
)
def test_ranges_of_versions(events, inside, outside):
    one = advisory("thing", *events)
    assert audit.affected(one, "Thing", inside) and not audit.affected(one, "Thing", outside)


def test_nothing_to_compare_with_is_said_plainly(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(audit, "find_spec", lambda name: None)
    assert audit.main([]) == 2
    assert "There is nothing to compare with: give an advisory file" in capsys.readouterr().out
    assert audit.main([str(tmp_path / "missing.json")]) == 2
    assert "missing.json is not there: give an advisory in the OSV format" in capsys.readouterr().out
    (tmp_path / "empty.json").write_text("[]")
    assert audit.main([str(tmp_path / "empty.json")]) == 2
    assert "The files hold no advisory: nothing was compared." in capsys.readouterr().out


@pytest.mark.parametrize(
    "content",
    [b"{", b"\xff\xfe", b"[1]", b"7", b'{"vulns": 3}', b'{"affected": [{"package": {"ecosystem": "PyPI", "name": 3}}]}',
     b'{"affected": [{"package": {"ecosystem": "PyPI", "name": "numpy"}, "ranges": [{}]}]}'],
)  # fmt: skip
@pytest.mark.parametrize("name", ["one.json", "many.zip"])
def test_a_damaged_file_is_no_good_news(tmp_path, capsys, content, name):
    file = tmp_path / name
    file.write_bytes(content)
    assert audit.main([str(file)]) == 2
    assert f"{name} cannot be read as advisories in the OSV format (" in capsys.readouterr().out
