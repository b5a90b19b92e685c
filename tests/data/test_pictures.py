import pytest

from data.bad_pictures import BAD, picture, pixels, save
from lamina._errors import DataError
from lamina.data.pictures import read_image


@pytest.mark.parametrize("case", BAD)
def test_bad_pictures_one_by_one(tmp_path, case):
    suffix, content, what, more = BAD[case]
    (tmp_path / f"bad.{suffix}").write_bytes(content())
    with pytest.raises(DataError, match=rf"^`.*/bad\.{suffix}` is {what}{more}"):
        read_image(tmp_path / f"bad.{suffix}")


def test_a_broken_exif_block_does_not_matter(tmp_path):
    path = save(picture(), tmp_path / "a.png", exif=b"Exif\0\0MM\0*garbage that is no TIFF directory")
    assert read_image(path).equal(pixels(picture()))
