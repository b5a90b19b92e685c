"""A machine with Lamina and what it depends on, and nothing else: put this folder on PYTHONPATH.

`HIDDEN` names the modules of the extras and of the tests, as they are imported; without it nothing is hidden.
"""

import os
import sys
from importlib.machinery import PathFinder

HIDDEN = os.environ.get("HIDDEN", "")


class _Without(PathFinder):
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname.partition(".")[0] in HIDDEN.split(","):
            return None
        return super().find_spec(fullname, path, target)


if HIDDEN:
    sys.meta_path[sys.meta_path.index(PathFinder)] = _Without
