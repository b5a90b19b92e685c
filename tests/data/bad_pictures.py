"""Pictures to write into files, good ones and bad ones, with what is said of each of the bad."""

import io
import struct
import zipfile
import zlib

import numpy as np
import torch
from PIL import Image

from lamina.data.pictures import _reads_heif


def picture(size=(6, 4), seed=0, mode="RGB"):
    channels = {"L": (), "RGB": (3,), "RGBA": (4,), "CMYK": (4,), "LA": (2,)}[mode]
    values = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], *channels), dtype=np.uint8)
    return Image.fromarray(values, mode)


def pixels(image):
    array = np.asarray(image)
    return torch.tensor(array.reshape(*array.shape[:2], -1)).permute(2, 0, 1)


def save(image, path, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, **options)
    return path


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bomb(width, height):
    head = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + png_chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + png_chunk(b"IEND", b"")


def encoded(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def frames(kind, mode="RGB"):
    rest = [picture(seed=1, mode=mode), picture(seed=2, mode=mode)]
    return encoded(picture(mode=mode), kind, save_all=True, append_images=rest)


def heic(image, **options):
    """Encode as a telephone does."""
    assert _reads_heif()
    return encoded(image, "HEIF", **options)


def text_bomb():
    """A PNG whose text chunk unpacks to 20 MB."""
    good = encoded(picture(), "PNG")
    return good[:33] + png_chunk(b"zTXt", b"a\0\0" + zlib.compress(b"\0" * 20_000_000)) + good[33:]


def zipped():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.png", b"\0" * 1_000_000)
    return out.getvalue()


BOMB = "larger than 89,478,485 pixels, as a decompression bomb is"
BRIGHTNESS = "which have no fixed range of brightness"
UNKNOWN, CUT = "of no known picture format", "cut off or damaged"

BAD = {
    "empty": ("png", lambda: b"", "empty", r" \(0 bytes\): remove it or copy it again\."),
    "text": ("jpg", lambda: b"This is no picture.", UNKNOWN, r" \(PNG, JPEG, .*HEIC\): remove it\."),
    "html": ("png", lambda: b"<!DOCTYPE html><html>404</html>", UNKNOWN, ""),
    "zip": ("png", zipped, UNKNOWN, ""),
    "postscript": ("png", lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", UNKNOWN, ""),
    "cut jpeg": (
        "jpg",
        lambda: encoded(picture((64, 64)), "JPEG")[:900],
        CUT,
        r" \(image file is trunc.*\): copy",
    ),
    "cut png": ("png", lambda: encoded(picture((64, 64)), "PNG")[:3000], CUT, ""),
    "cut head": ("png", lambda: encoded(picture(), "PNG")[:20], f"({CUT}|{UNKNOWN})", ""),
    "cut gif": ("gif", lambda: encoded(picture((64, 64)), "GIF")[:1500], CUT, ""),
    "cut bmp": ("bmp", lambda: encoded(picture((64, 64)), "BMP")[:3000], CUT, ""),
    "cut webp": ("webp", lambda: encoded(picture((64, 64)), "WEBP")[:200], f"({CUT}|{UNKNOWN})", ""),
    "cut tiff": ("tiff", lambda: encoded(picture((64, 64)), "TIFF")[:3000], f"({CUT}|{UNKNOWN})", ""),
    "cut avif": ("avif", lambda: encoded(picture((64, 64)), "AVIF")[:900], f"({CUT}|{UNKNOWN})", ""),
    "cut heic": ("heic", lambda: heic(picture((64, 64)))[:900], f"({CUT}|{UNKNOWN})", ""),
    "bomb": ("png", lambda: bomb(60_000, 60_000), BOMB, ": make it smaller"),
    "small bomb": ("png", lambda: bomb(10_000, 10_000), BOMB, ""),
    "text bomb": ("png", text_bomb, CUT, r" \(Decompressed data too large"),
    "float": (
        "tiff",
        lambda: encoded(Image.new("F", (4, 4), 0.5), "TIFF"),
        f"stored as floating point numbers, {BRIGHTNESS}",
        ": save it as 8-bit RGB",
    ),
    "lab": ("tiff", lambda: encoded(Image.new("LAB", (4, 4)), "TIFF"), f"stored as Lab colors, {BRIGHTNESS}", ""),
    "32 bits": (
        "tiff",
        lambda: encoded(Image.new("I", (4, 4), 70000), "TIFF"),
        "stored as numbers outside 0 to 65535",
        r" \(70000 to 70000\): save it as 8-bit or 16-bit",
    ),
    "negative": (
        "tiff",
        lambda: encoded(Image.new("I", (4, 4), -5), "TIFF"),
        "stored as numbers outside 0 to 65535",
        r" \(-5 to -5\)",
    ),
    "raw": ("NEF", lambda: b"MM\0*", "in the format NEF, which cannot be read", ": convert it to PNG or JPEG"),
    "svg": ("svg", lambda: b"<svg/>", "in the format SVG, which cannot be read", ""),
}
"""Suffix, content, what is wrong, and what is said beside that of a single picture."""
