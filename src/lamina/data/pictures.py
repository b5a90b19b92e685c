"""One picture from a file to bytes of a given shape, whatever way it was stored.

- *Turned* as its EXIF orientation says.
- *Gray or RGB*: palettes and CMYK are converted, 16-bit numbers are scaled from 0..65535 to 0..255, transparent pixels
  are laid on white.
- *Resized*: "crop" scales until the shorter side fits and keeps the middle; "fit" scales until the longer side fits and
  fills up with black; "stretch" ignores the proportions.

Of animations and files with pages the first picture is used. What a file holds decides how it is read, whatever its
suffix says. HEIC needs the extra `heic`. What cannot be read, or has no fixed range of brightness (floating point
numbers), is refused with a sentence.
"""

import base64
import errno
import io
import os
import stat
import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from lamina._errors import DataError, choice
from lamina._types import Num, Tensor

if TYPE_CHECKING:
    from PIL import Image

SUFFIXES = frozenset(
    ".png .jpg .jpeg .jpe .jfif .bmp .gif .tif .tiff .webp .pgm .ppm .pbm .pnm .avif .jp2 .j2k .ico .heic .heif "
    ".hif".split()
)
UNREAD = frozenset(".svg .psd .dng .cr2 .cr3 .nef .arw .raw".split())
RESIZE = ("crop", "fit", "stretch")

THUMBNAIL = 64  # pixels of the longer side
_FORMATS = ("PNG", "JPEG", "BMP", "DIB", "GIF", "TIFF", "WEBP", "PPM", "AVIF", "JPEG2000", "ICO")
_HEIF = frozenset((b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"))
_GRAY = frozenset(("1", "L", "LA", "I", "I;16", "I;16B", "I;16L", "I;16N"))
_TURNS = {
    2: "FLIP_LEFT_RIGHT",
    3: "ROTATE_180",
    4: "FLIP_TOP_BOTTOM",
    5: "TRANSPOSE",
    6: "ROTATE_270",
    7: "TRANSVERSE",
    8: "ROTATE_90",
}


class UnreadableError(DataError):
    """A picture that cannot be used: how messages call it, what is wrong with it (after "is"), and the way out."""

    def __init__(self, name: str, what: str, way: str = "", detail: str = "") -> None:
        super().__init__(f"`{name}` is {what}{detail}{way and ': '}{way}.")
        self.name, self.what = name, what


@dataclass(frozen=True, slots=True)
class Picture:
    """One readable picture: where it lies, how messages call it, its size as seen, and what its header says."""

    path: Path
    name: str
    height: int
    width: int
    gray: bool
    orientation: int
    several: bool = False


def _inspect_picture(path: Path, name: str) -> Picture:
    """Read the header of a picture and refuse what cannot be used."""
    from PIL import Image

    with refused(name):
        kind = os.stat(path)
        if not stat.S_ISREG(kind.st_mode):  # opening a pipe would wait for ever
            raise UnreadableError(name, "not a regular file", "remove it")
        if kind.st_size == 0:
            raise UnreadableError(name, "empty", "remove it or copy it again", " (0 bytes)")
        with _opened(path, name) as image:
            width, height = image.size
            if width * height > (Image.MAX_IMAGE_PIXELS or width * height):
                raise Image.DecompressionBombError(f"{width}x{height}")
            if image.mode in ("F", "LAB"):
                what = "floating point numbers" if image.mode == "F" else "Lab colors"
                raise UnreadableError(
                    name, f"stored as {what}, which have no fixed range of brightness", "save it as 8-bit RGB"
                )
            # An MPO is what phones write: a JPEG that is followed by a preview or a second view.
            several = getattr(image, "is_animated", False) and image.format != "MPO"
            # Pillow turns a TIFF itself while reading, and swaps its size already here.
            turned = 1 if image.format == "TIFF" else _orientation(image)
            height, width = (width, height) if turned >= 5 else (height, width)
            return Picture(path, name, height, width, _is_gray(image), turned, several)


@contextmanager
def _opened(path: Path, name: str) -> Iterator["Image.Image"]:
    """Open a picture by what the file holds."""
    from PIL import Image

    with open(path, "rb") as file:
        head = file.read(64)
        file.seek(0)
        with Image.open(file, formats=_formats_of(head, path, name)) as image:
            yield image


def _formats_of(head: bytes, path: Path, name: str) -> tuple[str, ...]:
    """Say in which formats a file may be, by its first bytes."""
    # Both HEIC and AVIF are boxes of ISO media; the first one says which.
    heif = head[4:8] == b"ftyp" and head[8:12] in _HEIF and b"avif" not in head
    if heif and not _reads_heif():
        raise UnreadableError(name, "in the format HEIC, which needs  pip install 'lamina-nn[heic]'")
    if not heif and path.suffix.lower() in UNREAD:
        raise UnreadableError(
            name, f"in the format {path.suffix[1:].upper()}, which cannot be read", "convert it to PNG or JPEG"
        )
    return ("HEIF",) if heif else _formats()


@cache
def _formats() -> tuple[str, ...]:
    """Give the formats that this Pillow was built with."""
    from PIL import Image

    Image.init()
    return tuple(name for name in _FORMATS if name in Image.OPEN)


@cache
def _reads_heif() -> bool:
    """Let Pillow read HEIC, if the extra is there."""
    try:
        from pillow_heif import register_heif_opener
    except ImportError:
        return False
    register_heif_opener()
    return True


def read_picture(
    picture: Picture, inputs: tuple[int, int, int], resize: str = "crop"
) -> Num[Tensor, "channel height width"]:
    """Decode a picture into bytes, turned, converted and resized as the head of this module says.

    Args:
        picture: what `_inspect_picture` found.
        inputs: the (channels, height, width) of the result.
        resize: "crop", "fit" or "stretch".

    >>> from PIL import Image
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "wide.png")
    ...     Image.new("L", (3, 1), 7).save(path)
    ...     read_picture(_inspect_picture(path, "wide.png"), (1, 3, 3), "fit").tolist()
    [[[0, 0, 0], [7, 7, 7], [0, 0, 0]]]
    """
    from PIL import Image

    channels, height, width = inputs
    sideways = picture.orientation >= 5
    with refused(picture.name), _opened(picture.path, picture.name) as image:
        need = (width, height) if sideways else (height, width)
        scaled = _resized(_plain(_drafted(image, need, resize), channels, picture.name), need, resize)
        turn = _TURNS.get(picture.orientation)
        pixels = np.asarray(scaled if turn is None else scaled.transpose(getattr(Image.Transpose, turn)))
    rows = torch.from_numpy(pixels.reshape(*pixels.shape[:2], channels).copy()).permute(2, 0, 1)
    if rows.shape[1:] == (height, width):
        return rows
    out = torch.zeros(inputs, dtype=torch.uint8)
    top, left = (height - rows.shape[1]) // 2, (width - rows.shape[2]) // 2
    out[:, top : top + rows.shape[1], left : left + rows.shape[2]] = rows
    return out


def read_image(
    path: str | Path, inputs: tuple[int, int, int] | None = None, resize: str = "crop"
) -> Num[Tensor, "channel height width"]:
    """Read one picture as the dataset of a folder would, for example to predict its class.

    Args:
        path: the file.
        inputs: (channels, height, width) as in the `spec` of the training data; None keeps what the file has.
        resize: "crop", "fit" or "stretch".

    >>> from PIL import Image
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     Image.new("L", (4, 2), 7).save(f"{folder}/dark.png")
    ...     read_image(f"{folder}/dark.png", (1, 1, 2)).tolist()
    [[[7, 7]]]
    """
    choice("resize", resize, RESIZE)
    with _quiet():
        picture = _inspect_picture(Path(path), shown(path))
        return read_picture(picture, inputs or (1 if picture.gray else 3, picture.height, picture.width), resize)


def shown(path: str | Path) -> str:
    r"""Write a path so that it can always be printed: forward slashes, composed letters, no broken bytes.

    >>> shown("photos/u\u0308ber.png") == "photos/über.png"
    True
    """
    name = os.fsencode(Path(path).as_posix()).decode("utf-8", "backslashreplace")
    return unicodedata.normalize("NFC", name)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Pillow's remarks on metadata; to be used in the main thread, for the filter is the whole program's."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"PIL\.")
        yield


@contextmanager
def refused(name: str) -> Iterator[None]:
    """Turn whatever reading a file can raise into one sentence that names the file.

    >>> with refused("1.png"):
    ...     raise OSError("cut")
    Traceback (most recent call last):
    lamina.data.pictures.UnreadableError: `1.png` is cut off or damaged (cut): copy it again or remove it.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        yield
    except (DataError, MemoryError):
        raise
    except FileNotFoundError as error:
        if os.path.islink(error.filename or name):
            raise UnreadableError(name, "a link to nothing", "remove it") from error
        raise DataError(f"`{name}` does not exist.") from error
    except PermissionError as error:
        raise UnreadableError(name, "protected (permission denied)", "change its permissions") from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        size = f"larger than {Image.MAX_IMAGE_PIXELS:,} pixels, as a decompression bomb is"
        raise UnreadableError(name, size, "make it smaller") from error
    except UnidentifiedImageError as error:
        kinds = " (PNG, JPEG, BMP, GIF, TIFF, WebP, PNM, AVIF, JPEG 2000, ICO, HEIC)"
        raise UnreadableError(name, "of no known picture format", "remove it", kinds) from error
    except Exception as error:  # Pillow's readers raise many kinds
        if isinstance(error, OSError) and error.errno == errno.ELOOP:
            raise UnreadableError(name, "a link that leads back to itself", "remove it") from error
        raise UnreadableError(name, "cut off or damaged", "copy it again or remove it", f" ({error})") from error


def _orientation(image: "Image.Image") -> int:
    try:
        turned = image.getexif().get(0x0112, 1)
    except Exception:  # a broken EXIF block does not make the pixels unreadable
        return 1
    return turned if turned in _TURNS else 1


def _is_gray(image: "Image.Image") -> bool:
    palette = image.getpalette("RGB") if image.mode == "P" else None
    return image.mode in _GRAY or (palette is not None and palette[::3] == palette[1::3] == palette[2::3])


def _scale(size: tuple[int, int], need: tuple[int, int], resize: str) -> tuple[float, float]:
    """Give the factors of (height, width) that the policy scales a picture of `size` by."""
    factors = need[0] / size[0], need[1] / size[1]
    if resize == "stretch":
        return factors
    factor = max(factors) if resize == "crop" else min(factors)
    return factor, factor


def _drafted(image: "Image.Image", need: tuple[int, int], resize: str) -> "Image.Image":
    """Let the JPEG decoder skip detail that would be averaged away: it stays at least twice as large as needed."""
    width, height = image.size
    down, across = _scale((height, width), need, resize)
    image.draft(None, (max(1, int(2 * width * across)), max(1, int(2 * height * down))))
    return image


def _plain(image: "Image.Image", channels: int, name: str) -> "Image.Image":
    """Give 8-bit gray or RGB."""
    from PIL import Image

    if image.mode == "I" or image.mode.startswith("I;16"):
        values = np.asarray(image).astype(np.int64)
        if values.min() < 0 or values.max() > 65535:
            found = f" ({values.min()} to {values.max()})"
            raise UnreadableError(name, "stored as numbers outside 0 to 65535", "save it as 8-bit or 16-bit", found)
        image = Image.fromarray(((values * 255 + 32767) // 65535).astype(np.uint8))
    elif image.has_transparency_data:
        layer = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer).convert("RGB")
    return image.convert("L" if channels == 1 else "RGB")


def _resized(image: "Image.Image", need: tuple[int, int], resize: str) -> "Image.Image":
    """Scale, and for "crop" keep the middle; for "fit" the result may be smaller than `need` in one direction."""
    from PIL import Image

    width, height = image.size
    if (height, width) == need:
        return image
    down, across = _scale((height, width), need, resize)
    if resize == "fit":
        target = max(1, min(need[1], round(width * across))), max(1, min(need[0], round(height * down)))
        return image.resize(target, Image.Resampling.BILINEAR)
    middle_width, middle_height = need[1] / across, need[0] / down
    left, top = (width - middle_width) / 2, (height - middle_height) / 2
    box = max(0.0, left), max(0.0, top), min(width, left + middle_width), min(height, top + middle_height)
    return image.resize((need[1], need[0]), Image.Resampling.BILINEAR, box=box)


def thumbnail(image: Tensor) -> str:
    """Encode a picture as a small PNG in a data address, for a page that needs no other file.

    >>> thumbnail(torch.zeros(1, 2, 2, dtype=torch.uint8))[:22]
    'data:image/png;base64,'
    """
    from PIL import Image

    pixels = image if image.dtype == torch.uint8 else (image.clamp(0, 1) * 255).round().to(torch.uint8)
    array = pixels[0].numpy() if pixels.shape[0] == 1 else pixels[:3].permute(1, 2, 0).contiguous().numpy()
    picture = Image.fromarray(array)
    picture.thumbnail((THUMBNAIL, THUMBNAIL))
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
