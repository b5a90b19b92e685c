import pytest
import torch

from lamina._errors import ArgumentError, DataError
from lamina.data.augment import Augment, augment
from lamina.functional import recoloring
from lamina.functional.random import uniform


def pictures(count=64, size=5, dtype=torch.uint8):
    """Every pixel has its own number, so that a picture tells how it was moved."""
    return torch.arange(1, size * size + 1).reshape(1, 1, size, size).repeat(count, 2, 1, 1).to(dtype)


def pad_and_cut(image, reach, down, across):
    """The plain way: pad by reflection, cut out."""
    padded = torch.nn.functional.pad(image[None].float(), (reach,) * 4, mode="reflect")[0]
    size = image.shape[-1]
    return padded[:, down : down + size, across : across + size].to(image.dtype)


def test_nothing_happens_by_default():
    images = pictures(3)
    assert augment(images, Augment(), 0, 0) is images


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32, torch.float64])
def test_flip_mirrors_about_half_of_the_pictures(dtype):
    images = pictures(1000, dtype=dtype)
    changed = augment(images, Augment(flip=True), seed=1, step=2)
    assert changed.dtype == dtype
    mirrored = (changed == images.flip(-1)).flatten(1).all(1)
    same = (changed == images).flatten(1).all(1)
    assert bool((mirrored ^ same).all()) and 0.45 < mirrored.float().mean() < 0.55


def test_crop_is_a_cut_of_the_reflected_picture():
    images = pictures(500)
    changed = augment(images, Augment(crop=2), seed=0, step=7)
    options = {(i, j): pad_and_cut(images[0], 2, i, j) for i in range(5) for j in range(5)}
    found = [next(place for place, option in options.items() if option.equal(image)) for image in changed]
    assert set(found) == set(options)
    counts = torch.tensor([found.count(place) for place in options])
    assert counts.min() >= 5 and counts.max() <= 45


def test_crop_by_hand():
    image = torch.tensor([[[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]], dtype=torch.uint8)
    found = {tuple(augment(image, Augment(crop=1), 0, step)[0, 0].flatten().tolist()) for step in range(200)}
    assert len(found) == 9 and (5, 4, 5, 2, 1, 2, 5, 4, 5) in found and (5, 6, 5, 8, 9, 8, 5, 6, 5) in found


def test_translate_leaves_zero_behind():
    image = torch.tensor([[[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]], dtype=torch.uint8)
    found = {tuple(augment(image, Augment(translate=1), 0, step)[0, 0].flatten().tolist()) for step in range(200)}
    assert len(found) == 9 and (0, 0, 0, 0, 1, 2, 0, 4, 5) in found and (5, 6, 0, 8, 9, 0, 0, 0, 0) in found


def test_cutout_sets_one_square_to_zero():
    images = pictures(400)
    changed = augment(images, Augment(cutout=2), seed=3, step=0)
    holes = changed[:, 0] == 0
    assert bool((changed == torch.where(holes[:, None], torch.zeros_like(images), images)).all())
    sizes = holes.flatten(1).sum(1)
    assert set(sizes.tolist()) == {1, 2, 4}  # whole, or cut by a border or a corner
    for hole in holes[sizes == 4][:20]:
        rows, columns = hole.nonzero().unbind(1)
        assert rows.max() - rows.min() == 1 and columns.max() - columns.min() == 1


def test_all_together_keeps_type_and_moves_before_the_hole():
    images = pictures(200)
    both = augment(images, Augment(flip=True, translate=1, cutout=2), seed=5, step=1)
    moved = augment(images, Augment(flip=True, translate=1), seed=5, step=1)
    hole = augment(torch.ones_like(images), Augment(cutout=2), seed=5, step=1) == 0
    assert both.equal(torch.where(hole, torch.zeros_like(moved), moved)) and both.dtype == torch.uint8


def test_a_pure_function_of_seed_step_and_place():
    images, changes = pictures(), Augment(flip=True, crop=2, cutout=2)
    first = augment(images, changes, 1, 2)
    assert first.equal(augment(images, changes, 1, 2))
    assert first[:10].equal(augment(images[:10], changes, 1, 2))
    assert not first.equal(augment(images, changes, 1, 3)) and not first.equal(augment(images, changes, 2, 2))
    assert first.equal(augment(images, changes, torch.tensor(1), torch.tensor(2)))
    assert first.float().equal(augment(images.float(), changes, 1, 2))
    before = torch.random.get_rng_state()
    augment(images, changes, 0, 0)
    assert before.equal(torch.random.get_rng_state())


def test_vmap_over_seeds_equals_one_by_one():
    images, changes = pictures(8), Augment(flip=True, translate=2, cutout=3)
    seeds = torch.arange(3)
    together = torch.vmap(lambda seed: augment(images, changes, seed, torch.tensor(4)))(seeds)
    assert together.equal(torch.stack([augment(images, changes, int(seed), 4) for seed in seeds]))
    members = torch.stack([images, images + 1, images + 2])
    together = torch.vmap(lambda batch, seed: augment(batch, changes, seed, 4))(members, seeds)
    assert together.equal(torch.stack([augment(b, changes, int(s), 4) for b, s in zip(members, seeds, strict=True)]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"crop": -1}, "`crop` must be at least 0, got -1"),
        ({"translate": -1}, "`translate` must be at least 0, got -1"),
        ({"cutout": -2}, "`cutout` must be at least 0, got -2"),
        ({"brightness": -0.1}, "`brightness` must be at least 0, got -0.1"),
        ({"mixup": -1.0}, "`mixup` must be at least 0, got -1.0"),
        ({"rotation": 181.0}, r"`rotation` must be .*180.*, got 181.0"),
        ({"hue": 0.6}, r"`hue` must be .*0.5.*, got 0.6"),
    ],
)
def test_negative_sizes(options, message):
    with pytest.raises(ArgumentError, match=message):
        Augment(**options)


def test_sizes_that_do_not_fit():
    with pytest.raises(DataError, match="`crop` and `translate` both move a picture, got 2 and 1: set one to 0"):
        Augment(crop=2, translate=1)
    for name in ("crop", "translate", "cutout"):
        with pytest.raises(
            DataError, match=rf"`{name}` must be less than the smaller side of the pictures \(5\), got 5"
        ):
            augment(pictures(2), Augment(**{name: 5}), 0, 0)


def colored(count=40, size=6):
    return torch.randint(256, (count, 3, size, size), generator=torch.Generator().manual_seed(4), dtype=torch.uint8)


def drawn(low, high, stream, count=40, seed=1, step=2):
    return low + (high - low) * uniform((count,), seed, stream, step)


def test_colors_change_in_their_order_by_numbers_of_their_own():
    """Brightness from [0.5, 1.5], contrast from [0, 3], saturation and hue, then a turn; bytes are rounded once."""
    images, changes = colored(), Augment(brightness=0.5, contrast=2.0, saturation=0.3, hue=0.1, rotation=30.0)
    values = images.float() / 255
    values = recoloring.adjust_brightness(values, drawn(0.5, 1.5, 0x41554706))
    values = recoloring.adjust_contrast(values, drawn(0.0, 3.0, 0x41554707))
    values = recoloring.adjust_saturation(values, drawn(0.7, 1.3, 0x41554708))
    values = recoloring.adjust_hue(values, drawn(-0.1, 0.1, 0x41554709))
    values = recoloring.rotate(values, drawn(-30.0, 30.0, 0x41554705))
    found = augment(images, changes, 1, 2)
    assert found.dtype == torch.uint8
    # A value that lies between two bytes may be rounded to either on another processor.
    assert (found.float() - (values * 255).round()).abs().max() <= 1
    assert (found.float() / 255 - values).abs().max() <= 0.51 / 255
    floats = augment(images.float() / 255, changes, 1, 2)
    torch.testing.assert_close(floats, values, rtol=1e-4, atol=1e-5)


def test_colors_come_before_moves():
    images = colored()
    both = augment(images, Augment(brightness=0.4, translate=2), 1, 2)
    assert both.equal(augment(augment(images, Augment(brightness=0.4), 1, 2), Augment(translate=2), 1, 2))


def test_new_changes_are_pure_and_one_function_of_members():
    images, changes = colored(8), Augment(rotation=25.0, contrast=0.5, hue=0.2, flip=True)
    first = augment(images, changes, 1, 2)
    assert first.equal(augment(images, changes, torch.tensor(1), torch.tensor(2)))
    assert not first.equal(augment(images, changes, 1, 3)) and not first.equal(augment(images, changes, 2, 2))
    seeds = torch.tensor([3, 4])
    together = torch.vmap(lambda seed: augment(images, changes, seed, torch.tensor(4)))(seeds)
    alone = torch.stack([augment(images, changes, int(seed), 4) for seed in seeds])
    assert (together.float() - alone.float()).abs().max() <= 1


def test_what_is_made_has_names():
    assert Augment(crop=2, hue=0.1).made == ("crop", "hue") and Augment().made == ()
    assert Augment(mixup=0.2).mixes and Augment(cutmix=0.2).mixes and not Augment(cutmix=0.2).alone
    assert Augment(mixup=0.2, flip=True).alone and not Augment(flip=True).mixes
