"""Recorded results are those of experiments, and their claims hold."""

import pytest

from lamina._errors import ArgumentError
from lamina.experiments import registry
from lamina.pages.kit._recorded import names, recorded, recorded_result


def test_recorded_results_are_those_of_experiments_and_their_claims_hold():
    known = {function.__name__ for function in registry().values()}
    for name in names():
        assert name in known
        found = recorded_result(name)
        assert found.rows and all(claim.holds for claim in found.claims)
        assert name in recorded(name).text


def test_unknown_record_names_the_command():
    with pytest.raises(ArgumentError, match="record it with `lamina experiment nothing --json`"):
        recorded_result("nothing")
    with pytest.raises(ArgumentError, match="`columns` must be one of"):
        recorded("order_counts", ["speed"])
