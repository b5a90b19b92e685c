"""Folders of pictures: what must simply work, and what gets one clear sentence."""

import os
import shutil
import sys
import threading
import unicodedata

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps

from data.bad_pictures import BAD, encoded, frames, heic, picture, pixels, save, zipped
from lamina._errors import ArgumentError, DataError, DataWarning
from lamina.data import images, pictures
from lamina.data._progress import watched
from lamina.data.images import ImageFolder
from lamina.data.picture_files import files_below, sorted_out
from lamina.data.picture_list import Pictures
from lamina.data.pictures import Picture, _inspect_picture, read_image, read_picture
from lamina.data.preprocess import Preprocess


def opened(path, change=lambda image: image):
    """Pillow's own reading, changed."""
    with Image.open(path) as image:
        return pixels(change(image))


@pytest.fixture
def photos(tmp_path):
    """Two classes of three gray pictures, 6 wide and 4 high."""
    for number in range(3):
        save(picture(seed=number, mode="L"), tmp_path / "photos" / "cats" / f"{number}.png")
        save(picture(seed=9 + number, mode="L"), tmp_path / "photos" / "dogs" / f"{number}.png")
    return tmp_path / "photos"


# What must simply work


def test_one_folder_a_class(photos):
    data = ImageFolder(photos)
    assert (data.spec.kind, data.spec.task, data.spec.inputs, data.spec.outputs) == (
        "image",
        "classification",
        (1, 4, 6),
        2,
    )
    assert data.spec.classes == ("cats", "dogs") and data.spec.source == str(photos)
    assert data.spec.notes == ("6 pictures of 6x4 (width x height).",)
    assert len(data) == 6 and data.targets.tolist() == [0, 0, 0, 1, 1, 1]
    inputs, targets = data.take(torch.tensor([4, 0]))
    assert inputs.dtype == torch.uint8 and targets.tolist() == [1, 0]
    assert inputs[0].equal(pixels(picture(seed=10, mode="L"))) and inputs[1].equal(pixels(picture(seed=0, mode="L")))


def test_the_parts_of_a_split_are_disjoint(photos):
    split = ImageFolder(photos).split(ratios=(1, 1, 1))
    assert [len(part) for part in (split.train, split.validation, split.test)] == [2, 2, 2]
    assert "stratified" in split.note


def test_classes_that_are_numbers_are_in_the_order_of_the_numbers(tmp_path):
    for name in ("10", "9", "1"):
        save(picture(), tmp_path / name / "a.png")
    assert ImageFolder(tmp_path).spec.classes == ("1", "9", "10")


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_spaces_and_umlauts(tmp_path, form):
    root = tmp_path / unicodedata.normalize(form, "Fotos für Übung")
    save(picture(seed=1), root / unicodedata.normalize(form, "müde Katzen") / unicodedata.normalize(form, "süß 1.png"))
    save(picture(seed=2), root / "häßliche 'Hunde'" / "#2 (copy) ☺.jpg.png")
    data = ImageFolder(root)
    assert data.spec.classes == ("häßliche 'Hunde'", "müde Katzen")
    assert data.inputs[1].equal(pixels(picture(seed=1)))


def test_pictures_may_lie_deeper_and_links_are_followed(photos, tmp_path):
    save(picture(seed=20, mode="L"), photos / "cats" / "more" / "deep" / "4.png")
    save(picture(seed=21, mode="L"), tmp_path / "elsewhere" / "5.png")
    (photos / "dogs" / "linked").symlink_to(tmp_path / "elsewhere")
    (photos / "dogs" / "same.png").symlink_to(photos / "dogs" / "0.png")
    data = ImageFolder(photos)
    assert data.targets.bincount().tolist() == [4, 5]
    assert data.inputs[3].equal(pixels(picture(seed=20, mode="L")))


def test_hidden_files_are_ignored_and_other_files_noted(photos):
    (photos / ".git").mkdir()
    for name in (".DS_Store", "cats/._0.png", "dogs/Thumbs.db"):
        (photos / name).write_bytes(b"x")
    for name in ("readme.txt", "cats/notes.md", "dogs/a.xml", "dogs/b.xml"):
        (photos / name).write_text("x")
    (photos / "__MACOSX").mkdir()
    for name in ("readme.txt", "cats/notes.md", "dogs/a.xml"):
        (photos / name).rename(photos / name.replace("/", ".").join((".", ".away")))
    assert ImageFolder(photos).spec.notes[1:] == ("Left out: 1 file that is not a picture (dogs/b.xml).",)
    for name in ("readme.txt", "cats/notes.md", "dogs/a.xml"):
        (photos / name).write_text("x")
    data = ImageFolder(photos)
    assert len(data) == 6
    assert data.spec.notes[1:] == (
        "Left out: 4 files that are not pictures (readme.txt, cats/notes.md, dogs/a.xml, ...).",
    )


def test_pictures_beside_the_class_folders_are_warned_of(photos):
    save(picture(), photos / "overview.png")
    with pytest.warns(DataWarning, match=r"Left out: 1 picture beside the class folders \(overview\.png\)"):
        assert len(ImageFolder(photos)) == 6


KINDS = {
    "png": "PNG", "bmp": "BMP", "gif": "GIF", "tif": "TIFF", "tiff": "TIFF", "webp": "WEBP", "ppm": "PPM", "PNG": "PNG",
    "Jpg": "JPEG", "jpeg": "JPEG", "jp2": "JPEG2000", "j2k": "JPEG2000", "ico": "ICO", "avif": "AVIF",
}  # fmt: skip


@pytest.mark.parametrize("suffix", KINDS)
def test_formats(tmp_path, suffix):
    image = picture((16, 16))
    kind = KINDS[suffix]
    options = {
        "WEBP": {"lossless": True},
        "ICO": {"sizes": [(16, 16)]},
        "AVIF": {"quality": 100, "subsampling": "4:4:4"},
    }
    path = save(image, tmp_path / f"a.{suffix}", format=kind, **options.get(kind, {}))
    got = read_image(path)
    if kind in ("JPEG", "GIF", "AVIF"):  # lossy: the same as Pillow's own reading
        assert got.equal(opened(path, lambda image: image.convert("RGB")))
    else:
        assert got.equal(pixels(image))
    if kind == "AVIF":
        assert (got.int() - pixels(image).int()).abs().max() <= 6


def test_progressive_and_gray_jpegs(tmp_path):
    smooth = Image.fromarray(np.tile(np.arange(0, 256, 4, dtype=np.uint8), (64, 1)))
    for name, image in (("gray", smooth), ("color", Image.merge("RGB", [smooth, smooth.rotate(90), smooth]))):
        path = save(image, tmp_path / f"{name}.jpg", progressive=True, quality=95, subsampling=0)
        got = read_image(path)
        assert got.shape[0] == len(image.getbands())
        assert (got.int() - pixels(image).int()).abs().max() <= 4  # what this quality may change


def test_heic_is_read_whatever_its_suffix(tmp_path):
    smooth = Image.fromarray(np.tile(np.arange(0, 256, 4, dtype=np.uint8), (64, 1)))
    image = Image.merge("RGB", [smooth, smooth.rotate(90), smooth.rotate(180)])
    for name in ("a.heic", "b.HEIF", "c.jpg"):
        (tmp_path / name).write_bytes(heic(image, quality=95, chroma=444))
        got = read_image(tmp_path / name)
        assert got.shape == (3, 64, 64) and (got.int() - pixels(image).int()).abs().max() <= 6


@pytest.mark.parametrize("suffix", ["avif", "heic"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_of_other_boxes(tmp_path, orientation, suffix):
    """The left half is dark; where it is seen follows from Pillow's own turning of the sound picture."""
    values = np.full((32, 64), 250, np.uint8)
    values[:, :32], values[:8] = 5, 128
    image, exif = Image.fromarray(values).convert("RGB"), Image.Exif()
    exif[0x0112] = orientation
    image.info["exif"] = exif.tobytes()  # of which the encoder of HEIC makes a turn in the file itself
    upright, path = save(image, tmp_path / "upright.png", exif=exif), tmp_path / f"a.{suffix}"
    path.write_bytes(encoded(image, "AVIF", exif=exif) if suffix == "avif" else heic(image))
    expected = opened(upright, ImageOps.exif_transpose)
    assert (read_image(path)[:, ::4, ::4].int() - expected[:, ::4, ::4].int()).abs().max() <= 20


def test_heic_without_the_extra_is_left_out_and_says_what_to_install(photos, monkeypatch):
    (photos / "cats" / "phone.heic").write_bytes(heic(picture((64, 64))))
    (photos / "dogs" / "phone.jpg").write_bytes(heic(picture((64, 64))))
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    pictures._reads_heif.cache_clear()
    way = r"in the format HEIC, which needs  pip install 'lamina-nn\[heic\]'"
    try:
        with pytest.warns(DataWarning, match=rf"2 of 8 pictures .* 2 {way} \(cats/phone\.heic, dogs/phone\.jpg\)\.$"):
            assert len(ImageFolder(photos)) == 6
        with pytest.raises(DataError, match=rf"phone\.heic` is {way}\.$"):
            read_image(photos / "cats" / "phone.heic")
    finally:
        pictures._reads_heif.cache_clear()


def test_content_decides_not_the_suffix(tmp_path):
    image = picture()
    image.save(tmp_path / "a.jpg", format="PNG")
    assert read_image(tmp_path / "a.jpg").equal(pixels(image))


def test_sixteen_bits_are_scaled(tmp_path):
    values = np.array([[0, 128, 129, 257], [32767, 32896, 65407, 65535]], np.uint16)
    expected = (values.astype(float) * 255 / 65535).round()
    for name in ("a.png", "a.tiff"):
        Image.fromarray(values).save(tmp_path / name)
        assert read_image(tmp_path / name)[0].tolist() == expected.tolist()
    raw = b"P5 4 2 65535\n" + values.astype(">u2").tobytes()
    (tmp_path / "a.pgm").write_bytes(raw)
    assert read_image(tmp_path / "a.pgm")[0].tolist() == expected.tolist()
    assert read_image(tmp_path / "a.png", (3, 2, 4)).equal(read_image(tmp_path / "a.png").expand(3, 2, 4))


def test_palette_one_bit_and_cmyk(tmp_path):
    colors = Image.fromarray(np.array([[0, 1], [2, 1]], np.uint8), "P")
    colors.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])
    got = read_image(save(colors, tmp_path / "p.png"))
    assert got.permute(1, 2, 0).tolist() == [[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [0, 255, 0]]]
    grays = Image.fromarray(np.array([[0, 1]], np.uint8), "P")
    grays.putpalette([7, 7, 7, 200, 200, 200])
    assert read_image(save(grays, tmp_path / "g.png")).tolist() == [[[7, 200]]]
    assert read_image(save(Image.new("1", (2, 1), 1), tmp_path / "1.png")).tolist() == [[[255, 255]]]
    ink = Image.new("CMYK", (8, 8), (0, 255, 255, 0))
    assert read_image(save(ink, tmp_path / "c.tiff"))[:, 0, 0].tolist() == [255, 0, 0]
    close = read_image(save(ink, tmp_path / "c.jpg", quality=100))[:, 4, 4].float()
    assert (close - torch.tensor([255.0, 0, 0])).abs().max() <= 3


def test_transparent_pixels_are_laid_on_white(tmp_path):
    image = Image.new("RGBA", (3, 1))
    image.putdata([(10, 20, 30, 255), (10, 20, 30, 0), (0, 0, 0, 128)])
    got = read_image(save(image, tmp_path / "a.png"))
    assert got[:, 0, 0].tolist() == [10, 20, 30] and got[:, 0, 1].tolist() == [255, 255, 255]
    assert got[:, 0, 2].tolist() == [127, 127, 127]
    gray = Image.new("LA", (2, 1))
    gray.putdata([(40, 255), (40, 0)])
    assert read_image(save(gray, tmp_path / "b.png")).tolist() == [[[40, 255]]]
    keyed = Image.fromarray(np.array([[0, 1]], np.uint8), "P")
    keyed.putpalette([255, 0, 0, 0, 255, 0])
    got = read_image(save(keyed, tmp_path / "c.png", transparency=bytes([255, 0])))
    assert got[:, 0].T.tolist() == [[255, 0, 0], [255, 255, 255]]


@pytest.mark.parametrize("suffix", ["png", "jpg", "webp", "tiff"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation(tmp_path, orientation, suffix):
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"lossless": True} if suffix == "webp" else {}
    path = save(picture((16, 8)), tmp_path / f"a.{suffix}", exif=exif, **options)
    expected = opened(path, ImageOps.exif_transpose)
    seen = _inspect_picture(path, "a")
    assert (seen.height, seen.width) == expected.shape[1:] == ((16, 8) if orientation >= 5 else (8, 16))
    assert read_image(path).equal(expected)
    assert read_image(path, (3, 5, 5)).shape == (3, 5, 5)


def test_a_turned_picture_is_cut_in_its_middle(tmp_path):
    values = np.zeros((4, 12), np.uint8)
    values[:, 4:8] = 200
    exif = Image.Exif()
    exif[0x0112] = 6
    path = save(Image.fromarray(values), tmp_path / "a.png", exif=exif)
    assert read_image(path, (1, 4, 4)).eq(200).all()
    fit = read_image(path, (1, 12, 12), "fit")
    assert fit[0, :, :4].eq(0).all() and fit[0, :, 8:].eq(0).all() and fit[0, 4:8, 4:8].eq(200).all()


def test_a_phone_picture_with_two_images_is_read(tmp_path):
    image = picture((16, 8))
    image.save(tmp_path / "a.jpg", format="MPO", save_all=True, append_images=[picture((16, 8), 1)])
    with Image.open(tmp_path / "a.jpg") as both:
        assert both.n_frames == 2
    assert read_image(tmp_path / "a.jpg").shape == (3, 8, 16)


# Sizes


def test_crop_keeps_the_middle(tmp_path):
    values = np.zeros((2, 6), np.uint8)
    values[:, 2:4] = 100
    path = save(Image.fromarray(values), tmp_path / "a.png")
    assert read_image(path, (1, 2, 2), "crop").tolist() == [[[100, 100], [100, 100]]]
    # Scaling by 1/2 weighs pixels by a triangle of half width 2: 1/4, 3/4, 3/4, 1/4, and 3/4, 3/4, 1/4 at the border.
    assert read_image(path, (1, 1, 3), "crop").tolist() == [[[14, 75, 14]]]


def test_fit_fills_up_with_black(tmp_path):
    path = save(Image.new("L", (6, 2), 80), tmp_path / "a.png")
    assert read_image(path, (1, 3, 3), "fit").tolist() == [[[0, 0, 0], [80, 80, 80], [0, 0, 0]]]
    assert read_image(path, (1, 4, 3), "fit")[0, :, 0].tolist() == [0, 80, 0, 0]
    thin = save(Image.new("L", (1, 500), 80), tmp_path / "b.png")
    assert read_image(thin, (1, 4, 4), "fit").eq(80).sum() == 4


def test_stretch_uses_everything(tmp_path):
    values = np.array([[0, 0, 100, 100]], np.uint8)
    path = save(Image.fromarray(values), tmp_path / "a.png")
    assert read_image(path, (1, 2, 2), "stretch").tolist() == [[[14, 86], [14, 86]]]


def test_a_large_jpeg_is_read_at_a_coarser_scale(tmp_path):
    ramp = np.tile(np.linspace(0, 255, 1024).astype(np.uint8), (768, 1))
    path = save(Image.fromarray(ramp), tmp_path / "a.jpg", quality=95)
    whole = opened(path, lambda image: image.resize((32, 24), Image.Resampling.BILINEAR))
    got = read_image(path, (1, 24, 32)).float()
    assert (got - whole.float()).abs().max() <= 2


def test_mixed_sizes_become_the_median_square_and_say_so(tmp_path):
    for number, size in enumerate([(40, 30), (64, 48), (80, 100)]):
        save(picture(size), tmp_path / "a" / f"{number}.png")
        save(picture(size, seed=5), tmp_path / "b" / f"{number}.png")
    data = ImageFolder(tmp_path)
    assert data.spec.inputs == (3, 48, 48)
    assert data.spec.notes == (
        "6 pictures of 3 sizes, 40x30 to 80x100; each is scaled and cropped to its middle: 48x48 (width x height).",
    )
    assert data.inputs[0].equal(read_image(tmp_path / "a" / "0.png", (3, 48, 48)))


@pytest.mark.parametrize(
    ("sizes", "options", "inputs", "how"),
    [
        (
            [(300, 400)] * 2,
            {},
            (1, 224, 224),
            "2 pictures of 300x400; each is scaled and cropped to its middle: 224x224",
        ),
        ([(256, 200)] * 2, {}, (1, 200, 256), "2 pictures of 256x200 (width x height)."),
        ([(900, 600), (700, 800)], {}, (1, 224, 224), "2 pictures of 2 sizes, 900x600 to 700x800; each is"),
        ([(9, 6), (7, 8)], {"size": 5}, (1, 5, 5), "each is scaled and cropped to its middle: 5x5"),
        ([(9, 6), (7, 8)], {"size": (5, 3), "resize": "fit"}, (1, 5, 3), "padded with black: 3x5"),
        ([(9, 6), (9, 6)], {"size": 5, "resize": "stretch", "channels": 3}, (3, 5, 5), "each is stretched: 5x5"),
    ],
)
def test_size_policy(tmp_path, sizes, options, inputs, how):
    for name, size in zip("ab", sizes, strict=True):
        save(picture(size, mode="L"), tmp_path / name / "0.png")
    data = ImageFolder(tmp_path, **options)
    assert data.spec.inputs == inputs and how in data.spec.notes[0]
    assert data.inputs.shape == (2, *inputs)


def test_one_color_picture_makes_all_rgb(photos):
    save(picture(), photos / "cats" / "color.png")
    data = ImageFolder(photos)
    assert data.spec.inputs == (3, 4, 6)
    assert data.inputs[0].equal(pixels(picture(seed=0, mode="L")).expand(3, 4, 6))
    assert ImageFolder(photos, channels=1).spec.inputs == (1, 4, 6)


# Labels in a table


@pytest.fixture
def flat(tmp_path):
    """Four gray pictures in one folder, not yet labeled."""
    for number in range(4):
        save(picture(seed=number, mode="L"), tmp_path / "flat" / f"{number}.png")
    return tmp_path / "flat"


ROWS = "file,label\n0.png,ja\n1.png,nein\n2.png,ja\n3.png,nein\n"


@pytest.mark.parametrize(
    "content",
    [
        ROWS.encode(),
        b"\xef\xbb\xbf" + ROWS.encode(),
        ROWS.replace("\n", "\r\n").encode(),
        ROWS.replace(",", ";").encode(),
        ROWS.replace(",", "\t").encode(),
        b"Label, File ,more\nja,0.png,\nnein,1.png,\n\n ja ,2.png,\nnein,3.png,x\n",
        b'"file","label"\n"0.png",ja\n1.png,nein\n2.png,ja\n3.png,nein',
    ],
    ids=["plain", "BOM", "CRLF", "semicolons", "tabs", "columns", "quotes"],
)
def test_a_table_of_labels(flat, content):
    (flat / "labels.csv").write_bytes(content)
    data = ImageFolder(flat)
    assert data.spec.classes == ("ja", "nein") and data.targets.tolist() == [0, 1, 0, 1]
    assert data.inputs[3].equal(pixels(picture(seed=3, mode="L")))


def test_a_table_elsewhere_with_numbers_from_1_and_folders(flat, tmp_path):
    save(picture(seed=7, mode="L"), flat / "süß" / "9.png")
    table = tmp_path / "any name.csv"
    name = unicodedata.normalize("NFD", "süß")
    table.write_text(f"file,label\n0.png,1\n1.png,2\n2.png,10\n3.png,1\n{name}\\9.png,10\n", encoding="utf-8")
    data = ImageFolder(flat, labels=table)
    assert data.spec.classes == ("1", "2", "10") and data.targets.tolist() == [0, 1, 2, 0, 2]


def test_unlisted_pictures_are_warned_of(flat):
    save(picture(seed=5, mode="L"), flat / "new.png")
    (flat / "labels.csv").write_text(ROWS)
    with pytest.warns(DataWarning, match=r"Left out: 1 picture that labels\.csv does not list \(new\.png\)"):
        assert len(ImageFolder(flat)) == 4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name,label\n0.png,a\n", r"must have the columns file,label in its first line, got 'name,label'"),
        ("", r"must have the columns file,label in its first line, got ''"),
        ("0.png,a\n1.png,b\n", r"must have the columns file,label in its first line, got '0\.png,a'"),
        ("file,label\n", r"labels\.csv` lists no pictures: it needs a line file,label for each"),
        ("file,label\n0.png,a\n1.png,b,c\n", r"line 3 of `.*labels\.csv` has 3 columns, not 2: quote commas in names"),
        ("file,label\n0.png,a\n1.png,\n", r"line 3 of `.*labels\.csv` has no label: fill it in or remove the line"),
        ("file,label\n,a\n", r"line 2 of `.*labels\.csv` has no file: fill it in"),
        ("file,label\n0.png,a\n7.png,b\n", r"line 3 of `.*` names `7\.png`, which does not exist in `.*flat`"),
        (
            "file,label\n../x.png,a\n",
            r"line 2 of `.*` names `\.\./x\.png`, which is not inside `.*flat`: give paths rel",
        ),
        ("file,label\n/tmp/x.png,a\n", r"line 2 of `.*` names `/tmp/x\.png`, which is not inside"),
        ("file,label\n0.png,a\n1.png,a\n0.png,b\n", r"line 4 of `.*` names `0\.png` again, after line 2: each picture"),
        ("file,label\n0.png,a\n1.png,a\n", r"has one class only, 'a': a classifier needs at least 2"),
        ("file,label\n0.png,a\n1.png,b\n2.png,c\n", r"no label of `.*` occurs twice: a class needs several pictures"),
        (b"file,label\n0.png,gr\xfcn\n", r"labels\.csv` is not UTF-8 \(byte 19\): save it as UTF-8"),
        (
            'file,label\n0.png,"a\n1.png,b\n',
            r"line 3 of `.*labels\.csv` cannot be read \(unexpected end of data\): check",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::lamina._errors.DataWarning")
def test_bad_tables(flat, content, message):
    (flat / "labels.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=message):
        ImageFolder(flat)


def test_a_table_that_is_not_there(flat):
    with pytest.raises(DataError, match=r"`.*/none\.csv` does not exist"):
        ImageFolder(flat, labels=flat / "none.csv")


# Bad pictures: each lies at cats/bad one.SUFFIX among good ones


@pytest.mark.parametrize("budget", [2**30, 0], ids=["resident", "streamed"])
@pytest.mark.parametrize("case", BAD)
def test_bad_pictures_are_left_out(photos, case, budget):
    suffix, content, what, _ = BAD[case]
    (photos / "cats" / f"bad öne.{suffix}").write_bytes(content())
    remark = rf"^1 of 7 pictures cannot be read and is left out: 1 {what} \(cats/bad öne\.{suffix}\)\.$"
    with pytest.warns(DataWarning, match=remark) as said:
        data = ImageFolder(photos, budget=budget)
    assert len(said) == 1 and data.spec.notes[1] == str(said[0].message)
    assert len(data) == 6 and data.targets.tolist() == [0, 0, 0, 1, 1, 1] and data.spec.inputs == (1, 4, 6)
    assert [data.name(index) for index in (2, 3)] == ["cats/2.png", "dogs/0.png"]
    assert data.take(torch.tensor([3]))[0][0].equal(pixels(picture(seed=9, mode="L")))


def spoil(photos):
    """Add five bad pictures of three kinds."""
    for number in range(3):
        (photos / "cats" / f"{number}.jpg").write_bytes(b"")
    (photos / "dogs" / "3.jpg").write_bytes(b"<html>")
    (photos / "dogs" / "4.png").write_bytes(encoded(picture((64, 64)), "PNG")[:3000])
    (photos / "dogs" / "5.jpg").write_bytes(b"")


SPOILED = (
    r"4 empty \(cats/0\.jpg, cats/1\.jpg, cats/2\.jpg, \.\.\.\); 1 of no known picture format \(dogs/3\.jpg\); "
    r"1 cut off or damaged \(dogs/4\.png\)"
)


def test_bad_pictures_are_listed_together(photos):
    spoil(photos)
    with pytest.warns(DataWarning, match=rf"^6 of 12 pictures cannot be read and are left out: {SPOILED}\.$") as said:
        assert len(ImageFolder(photos)) == 6
    assert len(said) == 1


@pytest.mark.parametrize("budget", [2**30, 0], ids=["resident", "streamed"])
def test_bad_pictures_can_be_refused(photos, budget):
    spoil(photos)
    message = rf"^6 of 12 pictures cannot be read: {SPOILED}\. Repair or remove them, or leave them out with damaged=s"
    with pytest.raises(DataError, match=message):
        ImageFolder(photos, budget=budget, damaged="error")
    with pytest.raises(ArgumentError, match="`damaged` must be one of 'skip', 'error', 'late', got 'stop'"):
        ImageFolder(photos, damaged="stop")


def test_very_many_pictures_need_not_be_decoded_before_their_turn(photos, monkeypatch):
    spoil(photos)
    decoded = []

    monkeypatch.setattr("lamina.data.picture_files.read_picture", lambda *a: decoded.append(a) or read_picture(*a))
    with pytest.warns(
        DataWarning, match=r"^5 of 12 pictures cannot be read and are left out: 4 empty \(cats/0.*dogs/3"
    ):
        data = ImageFolder(photos, budget=0, damaged="late")
    assert not decoded and len(data) == 7 and data.spec.notes[-1].startswith("Only their headers were looked at")
    cut = next(i for i in range(7) if data.name(i) == "dogs/4.png")
    sound = [i for i in range(7) if i != cut]
    assert data.take(torch.tensor(sound))[0].shape[0] == 6
    with pytest.raises(DataError, match=r"`dogs/4\.png` is cut off or damaged"):
        data.take(torch.tensor([cut]))
    with pytest.warns(DataWarning, match=r"^6 of 12"):  # those that are kept in memory are decoded anyway
        assert len(ImageFolder(photos, damaged="late")) == 6


def test_a_class_without_readable_pictures_is_refused(photos):
    for path in (photos / "dogs").iterdir():
        path.write_bytes(b"")
    message = r"^no picture of the class 'dogs' can be read: 3 empty \(dogs/0\.png, dogs/1\.png, dogs/2\.png\)\. Repair"
    with pytest.raises(DataError, match=message):
        ImageFolder(photos)


@pytest.mark.filterwarnings("ignore::lamina._errors.DataWarning")
def test_bad_pictures_have_no_say_in_the_common_shape(photos):
    """A cut color picture of another size has a sound header, but what is left is gray and of one size."""
    (photos / "cats" / "1a.png").write_bytes(encoded(picture((64, 64)), "PNG")[:3000])
    data = ImageFolder(photos)
    assert data.spec.inputs == (1, 4, 6) and data.inputs.shape == (6, 1, 4, 6)
    assert data.inputs[2].equal(pixels(picture(seed=2, mode="L")))


@pytest.mark.filterwarnings("ignore::lamina._errors.DataWarning")
def test_what_is_left_decides_whether_it_fits_into_memory(photos):
    (photos / "cats" / "1a.png").write_bytes(encoded(picture(seed=3, mode="L"), "PNG")[:60])
    data = ImageFolder(photos, budget=6 * 24)
    assert data.inputs is not None and len(data.inputs) == 6


def test_of_animations_the_first_picture_is_used(photos):
    for suffix in ("gif", "png", "webp", "tif"):
        (photos / "cats" / f"several.{suffix}").write_bytes(frames(suffix.replace("tif", "tiff").upper(), "L"))
    data = ImageFolder(photos)
    assert data.spec.notes[-1] == (
        "Animated or with pages, of which the first is used: 4 (cats/several.gif, cats/several.png, cats/several.tif, "
        "...)."
    )
    for place in (3, 4, 5):
        assert data.inputs[place, :1].equal(pixels(picture(mode="L")))


# Bad folders


def one_class(root):
    shutil.rmtree(root / "dogs")


def empty_class(root):
    (root / "birds").mkdir()


def class_of_texts(root):
    (root / "birds").mkdir()
    (root / "birds" / "song.mp3").write_bytes(b"x")


def loop(root):
    (root / "cats" / "again").symlink_to(root / "cats")


def loop_above(root):
    (root / "cats" / "up").symlink_to(root)


def loop_of_links(root):
    (root / "cats" / "a.png").symlink_to(root / "cats" / "b.png")
    (root / "cats" / "b.png").symlink_to(root / "cats" / "a.png")


def link_to_nothing(root):
    (root / "cats" / "gone.png").symlink_to(root / "nowhere.png")


def pipe(root):
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs Linux or macOS")
    os.mkfifo(root / "cats" / "pipe.png")


def not_names(root):
    if sys.platform != "linux":  # others take names of Unicode only
        pytest.skip("needs Linux")
    with open(os.fsencode(root / "cats") + b"/b\xff.png", "wb"):
        pass


def no_classes(root):
    shutil.rmtree(root / "dogs")
    for path in (root / "cats").iterdir():
        path.rename(root / path.name)
    (root / "cats").rmdir()


def parts(root):
    (root / "cats").rename(root / "train")
    (root / "dogs").rename(root / "Test")


FOLDERS = [
    (one_class, r"`.*photos` has one class only, 'cats': a classifier needs at least 2"),
    (empty_class, r"the class folder `birds` holds no picture: add some or remove it"),
    (class_of_texts, r"the class folder `birds` holds no picture"),
    (loop, r"`cats/again` is a link to a folder that contains it: remove the link"),
    (loop_above, r"`cats/up` is a link to a folder that contains it"),
    (
        no_classes,
        r"`.*photos` holds 3 pictures but neither class folders nor labels\.csv: put each picture into a folder",
    ),
    (
        parts,
        r"`.*photos` holds `Test` and `train`, which are parts of a split and not classes: give the folder of the tr",
    ),
]


@pytest.mark.parametrize(("change", "message"), FOLDERS, ids=[change.__name__ for change, _ in FOLDERS])
def test_bad_folders(photos, change, message):
    change(photos)
    with pytest.raises(DataError, match=message):
        ImageFolder(photos)


FILES = [
    (loop_of_links, r"2 a link that leads back to itself \(cats/a\.png, cats/b\.png\)"),
    (link_to_nothing, r"1 a link to nothing \(cats/gone\.png\)"),
    (pipe, r"1 not a regular file \(cats/pipe\.png\)"),
    (not_names, r"1 empty \(cats/b\\xff\.png\)"),
]


@pytest.mark.parametrize(("change", "message"), FILES, ids=[change.__name__ for change, _ in FILES])
def test_odd_files_are_left_out(photos, change, message):
    change(photos)
    with pytest.warns(DataWarning, match=f"left out: {message}"):
        assert len(ImageFolder(photos)) == 6


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none", r"`.*none` does not exist: give a folder that holds one folder of pictures per class"),
        ("empty", r"`.*empty` holds no pictures: it needs one folder of PNG, JPEG, \.\.\. files per class"),
        ("texts", r"`.*texts` holds no pictures"),
        ("photos.zip", r"`.*photos\.zip` is a file, not a folder: unpack it first"),
        ("photo.png", r"`.*photo\.png` is a file, not a folder: give the folder that holds the pictures"),
        ("round", r"`.*round` is a link that leads back to itself"),
        ("lost", r"`.*lost` is a link to nothing"),
    ],
)
def test_what_is_no_folder_of_pictures(tmp_path, name, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("a")
    (tmp_path / "photos.zip").write_bytes(zipped())
    save(picture(), tmp_path / "photo.png")
    (tmp_path / "round").symlink_to(tmp_path / "round")
    (tmp_path / "lost").symlink_to(tmp_path / "nowhere")
    with pytest.raises(DataError, match=message):
        ImageFolder(tmp_path / name)


@pytest.mark.parametrize("what", ["cats/0.png", "cats", ""])
def test_permission_denied(open_folder, ordinary_user, what):
    for name in ("cats/0.png", "cats/1.png", "dogs/0.png"):
        save(picture(), open_folder / "photos" / name)
    for path in (open_folder / "photos").rglob("*"):
        path.chmod(0o755)
    (open_folder / "photos" / what).chmod(0o000)
    folder = pytest.raises(DataError, match=rf"`{what or '.*/photos'}` is protected \(permission denied\): change its")
    file = pytest.warns(DataWarning, match=r"left out: 1 protected \(permission denied\) \(cats/0\.png\)")
    try:
        with ordinary_user(), file if what == "cats/0.png" else folder:
            ImageFolder(open_folder / "photos")
    finally:
        (open_folder / "photos" / what).chmod(0o755)  # an ordinary user could not remove it otherwise


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resize": "squeeze"}, "`resize` must be one of 'crop', 'fit', 'stretch', got 'squeeze'"),
        ({"channels": 2}, "`channels` must be one of None, 1, 3, got 2"),
        ({"size": 0}, "`size` must be at least 1, got 0"),
        ({"size": (4, 0)}, "`size` must be at least 1, got 0"),
    ],
)
def test_bad_options(photos, options, message):
    with pytest.raises(ArgumentError, match=message):
        ImageFolder(photos, **options)


def test_size_needs_two_numbers(photos):
    from lamina.data.images import _common_size

    pictures = Pictures([photos], ["a"])
    pictures.put(0, Picture(photos, "a", 1, 1, True, 1))
    with pytest.raises(ArgumentError, match=r"`size` must be one number or \(height, width\), got \(1, 2, 3\)"):
        getattr(_common_size, "__wrapped__", _common_size)(pictures, (1, 2, 3), "crop")


# Larger than the budget


def test_streamed_equals_resident(photos):
    resident, streamed = ImageFolder(photos), ImageFolder(photos, budget=6 * 24 - 1)
    assert resident.inputs is not None and streamed.inputs is None
    assert streamed.spec.notes[-1] == "They would take 0.0 MiB in memory, more than 0.0 MiB: they are read as needed."
    indices = torch.tensor([5, 0, 3, 3])
    for got, expected in zip(streamed.take(indices), resident.take(indices), strict=True):
        assert got.equal(expected)
    order = [torch.tensor([1, 4]), torch.tensor([5]), torch.tensor([0, 2, 3])]
    for indices, (inputs, targets) in zip(order, streamed.prefetch(order), strict=True):
        assert inputs.equal(resident.inputs[indices]) and targets.equal(resident.targets[indices])
    assert resident.fingerprints().unique().numel() == 6 and streamed.fingerprints() is None


def test_a_picture_that_goes_bad_while_streaming_is_named(photos):
    data = ImageFolder(photos, budget=0)
    path = photos / "dogs" / "1.png"
    path.write_bytes(path.read_bytes()[:60])
    with data.prefetch([torch.tensor([0, 1]), torch.tensor([4])], ahead=2) as stream:
        next(stream)
        with pytest.raises(DataError, match=r"`dogs/1\.png` is (cut off or damaged|not a picture)"):
            next(stream)
    path.unlink()
    with pytest.raises(DataError, match=r"`dogs/1\.png` does not exist"):
        data.take(torch.tensor([4]))


def test_memory_of_a_stream_is_bounded_by_its_batches(photos):
    data = ImageFolder(photos, budget=0)
    order = [torch.tensor([i % 6, (i + 1) % 6]) for i in range(20)]
    stream = data.prefetch(order, workers=2, ahead=3)
    assert sum(1 for _ in stream) == 20
    assert stream.peak == 3 * 2 * 24


def test_progress_is_told(photos):
    told = []
    with watched(lambda *event: told.append(event)):
        ImageFolder(photos)
        ImageFolder(photos, budget=0)
    looked = [("looking at pictures", 6, 6)]
    assert told == [*looked, ("reading pictures", 6, 6), *looked, ("checking pictures", 6, 6)]
    ImageFolder(photos)
    assert len(told) == 4


def test_reading_from_many_threads_gives_the_same(photos):
    data = ImageFolder(photos)
    got = [None] * 8

    def work(place):
        got[place] = torch.stack([read_picture(seen, data.spec.inputs) for seen in data.pictures])

    threads = [threading.Thread(target=work, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(inputs.equal(data.inputs) for inputs in got)


def test_a_rank_decodes_its_own_pictures_and_no_others(photos, monkeypatch):
    """Half of the indices of every batch need half of the pictures."""
    data, read = ImageFolder(photos, budget=0), []
    source = Preprocess.fit(data).source(data, budget=0)
    decode = images.read_picture
    monkeypatch.setattr(images, "read_picture", lambda one, *how: (read.append(one.name), decode(one, *how))[1])
    order = [torch.tensor([5, 0, 3, 2]), torch.tensor([1, 4])]
    slices = [batch[: len(batch) // 2] for batch in order]
    source.prefetch(slices)
    for mine in slices:
        pixels, _ = source.batch(mine)
        assert len(pixels) == len(mine)
    assert sorted(read) == sorted(data.name(i) for i in (5, 0, 1))


def test_a_folder_is_listed_without_asking_for_each_file(photos, monkeypatch):
    asked = []
    stat = os.stat
    monkeypatch.setattr(os, "stat", lambda path, *how, **more: (asked.append(str(path)), stat(path, *how, **more))[1])
    names, others = sorted_out(files_below("cats", photos, ()))
    assert len(names) == 3 and not others
    assert not [path for path in asked if path.endswith(".png")]
