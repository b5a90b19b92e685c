"""`make audit`: compare the installed packages with known vulnerabilities, also without a network.

    python tools/audit.py [FILE ...]

Each FILE is an advisory in the OSV format (https://ossf.github.io/osv-schema/) as JSON: one advisory, a list of them,
or what a query to osv.dev answers (`{"vulns": [...]}`); a folder or a .zip (as osv.dev's PyPI/all.zip) holds many.
Without a file, `pip-audit` is asked, if it is installed and the network is there. Exit codes: 0 nothing known, 1 a
package has a known vulnerability, 2 there was nothing to compare with: that is no good news.
"""

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path

from packaging.version import InvalidVersion, Version


def advisories(path: Path) -> Iterator[dict]:
    """Read the advisories of a file, a folder or an archive."""
    if path.is_dir():
        for each in sorted(path.rglob("*.json")):
            yield from _listed(json.loads(each.read_text(encoding="utf-8")))
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if name.endswith(".json"):
                    yield from _listed(json.loads(archive.read(name)))
    else:
        yield from _listed(json.loads(path.read_text(encoding="utf-8")))


def _listed(value: dict | list) -> list[dict]:
    if isinstance(value, dict):
        value = value.get("vulns", [value])
    return [one for one in value if not one.get("withdrawn")]


def plain(name: str) -> str:
    """Write the name of a package as PyPI does.

    >>> plain("Scikit_Learn")
    'scikit-learn'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def affected(advisory: dict, name: str, version: str) -> bool:
    """Say whether an advisory is about this version of a package.

    >>> ranges = [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "1.2"}]}]
    >>> one = {"affected": [{"package": {"ecosystem": "PyPI", "name": "Thing"}, "ranges": ranges}]}
    >>> [affected(one, "thing", version) for version in ("1.1", "1.2", "1.10")], affected(one, "other", "1.1")
    ([True, False, False], False)
    """
    for part in advisory.get("affected", ()):
        package = part.get("package", {})
        if package.get("ecosystem") != "PyPI" or plain(package.get("name", "")) != plain(name):
            continue
        if version in part.get("versions", ()):
            return True
        if any(_within(each.get("events", ()), version) for each in part.get("ranges", ()) if each["type"] != "GIT"):
            return True
    return False


def _place(event: dict) -> Version:
    at = next(iter(event.values()))
    return Version("0.dev0" if at == "0" else at)  # OSV's 0 comes before every version


def _within(events: list[dict], version: str) -> bool:
    """Walk along the versions at which a vulnerability came and went."""
    try:
        here = Version(version)
        inside = False
        for event in sorted(events, key=_place):
            (kind, at), *_ = event.items()
            if kind == "introduced" and (at == "0" or here >= Version(at)):
                inside = True
            elif (kind == "fixed" and here >= Version(at)) or (kind == "last_affected" and here > Version(at)):
                inside = False
    except InvalidVersion:
        return True  # better one too many: a person looks at it
    return inside


def main(files: list[str]) -> int:
    """Compare, print, and return the exit code."""
    installed = {plain(found.metadata["Name"]): found.version for found in distributions() if found.metadata["Name"]}
    if not files:
        if find_spec("pip_audit") is None:
            print("There is nothing to compare with: give an advisory file (make audit ADVISORIES=FILE, in the OSV "
                  "format), or install pip-audit and have a network.")  # fmt: skip
            return 2
        done = subprocess.run([sys.executable, "-m", "pip_audit", "--skip-editable"])
        if done.returncode not in (0, 1):
            print("pip-audit could not ask (no network?): nothing was compared. Give an advisory file instead.")
            return 2
        return done.returncode
    count, found = 0, []
    for file in files:
        if not Path(file).exists():
            print(f"{file} is not there: give an advisory in the OSV format, a folder or a .zip of them.")
            return 2
        try:
            for advisory in advisories(Path(file)):
                count += 1
                found += [
                    (name, version, advisory)
                    for name, version in installed.items()
                    if affected(advisory, name, version)
                ]
        except (AttributeError, KeyError, OSError, StopIteration, TypeError, ValueError, zipfile.BadZipFile) as error:
            print(f"{file} cannot be read as advisories in the OSV format ({error!r}): get it again.")
            return 2
    for name, version, advisory in sorted(found, key=lambda row: (row[0], row[2].get("id", ""))):
        print(f"{name} {version}: {advisory.get('id', '?')} {advisory.get('summary', '')}".rstrip())
    print(f"{len(installed)} installed packages, {count} advisories, {len(found)} known vulnerabilities.")
    if not count:
        print("The files hold no advisory: nothing was compared.")
        return 2
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
