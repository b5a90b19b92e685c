import pytest
import torch

from lamina._errors import ArgumentError, ShapeError
from lamina.classical.supervision import supervision_kind, target_size


@pytest.mark.notes("N1.21")
@pytest.mark.parametrize(
    ("targets", "kind"),
    [
        (torch.tensor([0, 9, 4]), "classification"),
        (torch.tensor([[0], [9], [4]]), "classification"),
        (torch.tensor([True, False]), "classification"),
        ([0, 1, 2], "classification"),
        ([torch.tensor(3), torch.tensor(4)], "classification"),
        (torch.tensor([0.5, -1.0]), "regression"),
        (torch.tensor([[0.5], [-1.0]]), "regression"),
        ([0.5, 1.5], "regression"),
        (torch.zeros(2, 256, 256), "structured"),
        (torch.zeros(2, 3), "structured"),
        (torch.zeros(2, 5, dtype=torch.int64), "structured"),
        (["Heute scheint die Sonne", "Die Katze"], "structured"),
        ([torch.zeros(3), torch.zeros(4)], "structured"),
        ([0, 0.5], "structured"),
    ],
)
def test_the_kind_follows_the_supervision(targets, kind):
    assert supervision_kind(targets) == kind


@pytest.mark.notes("N1.21")
def test_a_picture_is_65536_numbers():
    assert target_size(torch.zeros(1, 256, 256)) == 65_536
    assert target_size(torch.zeros(7)) == 1


def test_wrong_arguments():
    with pytest.raises(ArgumentError, match="`targets` must hold at least 1 example, got 0"):
        supervision_kind([])
    with pytest.raises(ArgumentError, match="`targets` must be labels from 0 on, got -1"):
        supervision_kind(torch.tensor([0, -1]))
    with pytest.raises(ArgumentError, match="`targets` must be labels from 0 on, got -1"):
        supervision_kind([0, -1])
    with pytest.raises(ShapeError, match="`targets` must have an axis that counts the examples, got a single number"):
        target_size(torch.tensor(1.0))
