"""Examples mixed with their neighbors: values by hand, shares, laws of the draws, members."""

import pytest
import torch

from lamina.data.augment import Augment
from lamina.data.load import load
from lamina.data.mixing import joined, mixed, parted
from lamina.data.preprocess import Preprocess


def plain(kept):
    return kept.float()


def test_mixup_is_the_combination_that_its_share_says():
    inputs = torch.tensor([[1.0, 0.0], [0.0, 10.0], [5.0, 5.0]])
    found, share = mixed(inputs, Augment(mixup=0.7), plain, seed=3, step=11)
    expected = [share * a + (1 - share) * b for a, b in zip(inputs, (inputs[2], inputs[0], inputs[1]), strict=True)]
    torch.testing.assert_close(found, torch.stack(expected))
    assert 0 < share < 1


def test_cutmix_counts_the_pixels_that_it_takes():
    images = torch.arange(3).reshape(3, 1, 1, 1).expand(3, 2, 7, 9).to(torch.uint8)
    for step in range(30):
        found, share = mixed(images, Augment(cutmix=1.0), plain, seed=0, step=step)
        foreign = found != images
        assert foreign.equal(foreign[:1, :1].expand(3, 2, 7, 9))
        assert share.item() == pytest.approx(1 - foreign[0, 0].double().mean().item())
        taken = found[1, 0][foreign[1, 0]]
        assert (taken == 0).all()  # the picture before
        rows = foreign[0, 0].any(1).nonzero().flatten()
        assert foreign[0, 0][rows].equal(foreign[0, 0][rows][:1].expand(len(rows), 9))  # one rectangle


def test_with_both_each_batch_gets_one_of_them():
    images = torch.tensor([0, 255]).reshape(2, 1, 1, 1).expand(2, 1, 8, 8).to(torch.uint8)
    kinds = []
    for step in range(200):
        found, share = mixed(images, Augment(mixup=1.0, cutmix=1.0), plain, seed=1, step=step)
        blended = bool(((found > 0) & (found < 255)).any())
        kinds.append(blended)
        assert found[1].mean() / 255 == pytest.approx(share.item(), abs=1e-5)
    assert 70 < sum(kinds) < 130  # of 200 throws of a coin, more than 4 standard deviations


def test_shares_have_mean_one_half_over_the_updates():
    draws = torch.tensor([mixed(torch.zeros(2, 1), Augment(mixup=0.2), plain, 5, step)[1] for step in range(3000)])
    assert abs(draws.mean() - 0.5) < 4 * (1 / (4 * 1.4) / 3000) ** 0.5
    assert draws.var().item() == pytest.approx(1 / (4 * 1.4), rel=0.1)


def test_targets_of_both_come_back():
    for targets, shape in (
        (torch.tensor([2, 0, 1]), ()),
        (torch.arange(6.0).reshape(3, 2), (2,)),
        (torch.arange(24.0, dtype=torch.float64).reshape(3, 2, 2, 2), (2, 2, 2)),
    ):
        rows = joined(targets, torch.tensor(0.25))
        first, second, share = parted(rows, shape)
        assert first.to(targets.dtype).equal(targets) and second.to(targets.dtype).equal(targets.roll(1, 0))
        assert share.item() == 0.25 and rows.shape == (3, 2 * max(1, targets[0].numel()) + 1)


def test_targets_of_members():
    targets, share = torch.tensor([[2, 0], [1, 1], [0, 2]]), torch.tensor([0.25, 0.75])
    for given in (targets, targets[:, :1]):  # each member its own labels, or all the same
        first, second, found = parted(joined(given, share, axes=2), (), axes=2)
        assert first.long().equal(given.expand(3, 2)) and second.long().equal(given.roll(1, 0).expand(3, 2))
        assert found.equal(share)
    first, _, found = parted(joined(targets, torch.tensor(0.5), axes=2), (), axes=2)
    assert first.long().equal(targets) and found.tolist() == [0.5, 0.5]


def test_members_are_mixed_by_seeds_of_their_own():
    images, seeds, changes = torch.rand(2, 5, 1, 6, 6), torch.tensor([3, 8]), Augment(mixup=0.5, cutmix=0.5)
    inputs, shares = torch.vmap(lambda kept, seed: mixed(kept, changes, plain, seed, torch.tensor(4)))(images, seeds)
    for k, seed in enumerate(seeds.tolist()):
        alone, share = mixed(images[k], changes, plain, seed, 4)
        torch.testing.assert_close(inputs[k], alone)
        torch.testing.assert_close(shares[k], share)


@pytest.mark.parametrize("shape", [64, (1, 8, 8)])
def test_a_source_mixes_what_a_key_asks_for(shape):
    """Flat pictures too: a patch is cut before they lose their axes."""
    data, changes = load("digits"), Augment(mixup=0.3, cutmix=1.0)
    prepare = Preprocess.fit(data, shape)
    resident, streamed = prepare.source(data, augment=changes), prepare.source(data, budget=2**10, augment=changes)
    indices, kinds = torch.arange(40), set()
    raw, labels = resident.batch(indices)
    for step in range(12):
        inputs, targets = resident.batch(indices, (2, step))
        again, same = streamed.batch(indices, (2, step))
        assert inputs.equal(again) and targets.equal(same)
        first, second, share = parted(targets, ())
        assert first.long().equal(labels) and second.long().equal(labels.roll(1, 0))
        blend = share * raw + (1 - share) * raw.roll(1, 0)
        by_mixup = torch.allclose(inputs, blend, atol=1e-5)
        patch = (inputs == raw) | (inputs == raw.roll(1, 0))
        assert by_mixup or patch.all()
        kinds.add(by_mixup)
    assert kinds == {True, False}


def test_finished_pictures_stay_finished_under_mixup_alone():
    data = load("digits")
    prepare = Preprocess.fit(data, 64)
    for changes, kept in ((Augment(mixup=0.3), torch.float32), (Augment(cutmix=0.3), torch.uint8)):
        source = prepare.source(data, augment=changes)
        done, indices = source.finished(), torch.arange(30)
        assert done.inputs.dtype == kept
        for mine, theirs in zip(done.batch(indices, (0, 1)), source.batch(indices, (0, 1)), strict=True):
            torch.testing.assert_close(mine, theirs)
