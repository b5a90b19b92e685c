"""The shape checker breaks `torch.compile`: these tests run with JAXTYPING_DISABLE=1, as `make test` does."""

import os

collect_ignore_glob = [] if os.environ.get("JAXTYPING_DISABLE") else ["*"]


def pytest_report_header():
    return "" if os.environ.get("JAXTYPING_DISABLE") else "tests/compiled is left out: set JAXTYPING_DISABLE=1"
