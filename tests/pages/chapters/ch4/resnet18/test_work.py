"""The work of the page ch4/resnet18: numbers by hand, and what the notes say of them."""

import pytest

from lamina.pages.chapters.ch4.resnet18._work import CHOICES, stages, stored


@pytest.mark.notes("N4.30", "N4.33")
def test_stored_table_is_what_the_summary_says():
    found, fresh = stored(), next(stages(**CHOICES))
    assert found == fresh
    sizes = {row["part"]: row["parameters"] for row in found["rows"]}
    assert [sizes[f"layer{k}"] for k in range(1, 5)] == [147_968, 525_568, 2_099_712, 8_393_728]
    shapes = {row["block"]: row["output"] for row in found["rows"]}
    assert [shapes[name] for name in "ABCDE"] == [[64, 56, 56], [64, 56, 56], [128, 28, 28], [256, 14, 14], [512, 7, 7]]
