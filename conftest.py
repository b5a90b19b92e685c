"""What every test and doctest shares: a processor that can, one thread a worker, and a process left as it was found."""

import gc
import os
import signal
import sys
import time

import hypothesis  # noqa: F401  (it asks the garbage collector, which keeps silent about what is frozen below)
import jaxtyping
import pytest
import torch

import shapes  # noqa: F401  (before whatever it checks is imported)
from lamina._processor import LIMIT, bfloat16_limit
from safety import Shared, changes, listed, seeded_generators, state

torch.set_num_threads(1)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # run in the background, where commands would be deaf, too
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault("LAMINA_DEVICE", "cpu")  # "auto" in tests; those marked `cuda` name their device
if limit := bfloat16_limit():  # before the first product; workers and commands inherit it
    os.environ[LIMIT] = limit
shared = Shared()


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.fixture(autouse=True)
def nothing_left_changed(request):
    """Fail a test that leaves the process, or what it shares with other tests, other than it found it."""
    before = state()
    with seeded_generators():
        yield
    after = state()
    until = time.monotonic() + 2
    while after["threads"] != before["threads"] and time.monotonic() < until:  # a thread that is just ending
        time.sleep(0.01)
        after["threads"] = state()["threads"]
    found = changes(before, after) + shared.changes(request.fixturenames)
    assert not found, "the test left the process changed: " + "; ".join(found)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef):
    value = yield
    shared.add(fixturedef, value)
    return value


def pytest_fixture_post_finalizer(fixturedef):
    shared.given.pop(fixturedef, None)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Keep the garbage collector from walking, again and again, over what lives until the last test."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(items):
    needs = {
        "cuda": (torch.cuda.is_available(), "needs a GPU"),
        "posix": (os.name == "posix", "needs Linux or macOS"),
        "linux": (sys.platform == "linux", "needs Linux"),
    }
    missing = {name: pytest.mark.skip(reason=reason) for name, (there, reason) in needs.items() if not there}
    for item in items:
        for name in missing.keys() & item.keywords:
            item.add_marker(missing[name])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Fail a test that is skipped for a reason that is not on the list."""
    report = yield
    return listed(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Fail a file that is skipped for a reason that is not on the list."""
    report = yield
    return listed(report)


@pytest.fixture
def as_user(monkeypatch):
    """Switch the shape checker off, as for a user: wrong shapes meet the library's sentences, and loops are fast."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
