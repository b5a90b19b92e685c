"""Every experiment belongs to rows of the catalogue, and its docstring says to which."""

import inspect

from lamina._catalogue import items
from lamina.experiments import registry


def test_experiments_cite_the_rows_they_are_registered_for():
    found = registry()
    assert len(found) >= 35 and set(found) <= set(items())
    for key, function in found.items():
        assert key in inspect.getdoc(function), (key, function.__name__)
