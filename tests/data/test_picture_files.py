import pytest
import torch

from data.bad_pictures import picture, pixels, save
from lamina._errors import DataError, DataWarning
from lamina.data.picture_files import read_pictures


def test_files_and_folders_in_their_order(tmp_path):
    for number, name in enumerate(["b/2.png", "b/10.png", "a.png"]):
        save(picture(seed=number), tmp_path / name)
    names, found = read_pictures([tmp_path / "b", tmp_path / "a.png"], (3, 4, 6), "crop")
    assert names == ["10.png", "2.png", "a.png"]
    assert found.equal(torch.stack([pixels(picture(seed=number)) for number in (1, 0, 2)]))


def test_those_that_cannot_be_read_leave_no_gap(tmp_path):
    for number in range(40):
        save(picture(seed=number), tmp_path / f"{number:02}.png")
    for number in (0, 17, 39):
        (tmp_path / f"{number:02}.png").write_bytes((tmp_path / f"{number:02}.png").read_bytes()[:60])
    with pytest.warns(DataWarning, match=r"3 of 40 pictures .* are left out: 3 cut off or damaged \(00\."):
        names, found = read_pictures([tmp_path], (3, 4, 6), "crop")
    good = [number for number in range(40) if number not in (0, 17, 39)]
    assert names == [f"{number:02}.png" for number in good]
    assert found.equal(torch.stack([pixels(picture(seed=number)) for number in good]))


def test_a_folder_without_pictures(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(DataError, match=r"` holds no pictures \(\.avif, \.bmp, "):
        read_pictures([tmp_path], (3, 4, 6), "crop")
