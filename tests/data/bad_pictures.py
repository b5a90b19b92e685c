"""Pictures to write into files, good ones and bad ones, with what is said of each of the bad."""

import io
import struct
import zipfile
import zlib

import numpy as np
import torch
from PIL import Image


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


def frames(kind):
    return encoded(picture(), kind, save_all=True, append_images=[picture(seed=1), picture(seed=2)])


def text_bomb():
    """A PNG whose text chunk unpacks to 20 MB."""
    good = encoded(picture(), "PNG")
    return good[:33] + png_chunk(b"zTXt", b"a\0\0" + zlib.compress(b"\0" * 20_000_000)) + good[33:]


def zipped():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.png", b"\0" * 1_000_000)
    return out.getvalue()


BAD = {
    "empty": ("png", lambda: b"", r"is empty \(0 bytes\): remove it or copy it again"),
    "text": ("jpg", lambda: b"This is no picture.", r"is not a picture that can be read \(PNG, JPEG"),
    "html": ("png", lambda: b"<!DOCTYPE html><html>404</html>", r"is not a picture that can be read"),
    "zip": ("png", zipped, r"is not a picture that can be read"),
    "postscript": ("png", lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", r"is not a picture"),
    "cut jpeg": (
        "jpg",
        lambda: encoded(picture((64, 64)), "JPEG")[:900],
        r"is cut off or damaged \(image file is trunc",
    ),
    "cut png": ("png", lambda: encoded(picture((64, 64)), "PNG")[:3000], r"is cut off or damaged"),
    "cut head": ("png", lambda: encoded(picture(), "PNG")[:20], r"is (cut off or damaged|not a picture)"),
    "cut gif": ("gif", lambda: encoded(picture((64, 64)), "GIF")[:1500], r"is cut off or damaged"),
    "cut bmp": ("bmp", lambda: encoded(picture((64, 64)), "BMP")[:3000], r"is cut off or damaged"),
    "cut webp": ("webp", lambda: encoded(picture((64, 64)), "WEBP")[:200], r"is (cut off or damaged|not a picture)"),
    "cut tiff": ("tiff", lambda: encoded(picture((64, 64)), "TIFF")[:3000], r"is (cut off or damaged|not a picture)"),
    "animated gif": ("gif", lambda: frames("GIF"), r"is animated or has pages \(3 of them\): save one as PNG"),
    "animated png": ("png", lambda: frames("PNG"), r"is animated or has pages \(3 of them\)"),
    "animated webp": ("webp", lambda: frames("WEBP"), r"is animated or has pages \(3 of them\)"),
    "paged tiff": ("tif", lambda: frames("TIFF"), r"is animated or has pages \(3 of them\)"),
    "bomb": (
        "png",
        lambda: bomb(60_000, 60_000),
        r"has more than 89,478,485 pixels, as a decompression bomb has: make it",
    ),
    "small bomb": (
        "png",
        lambda: bomb(10_000, 10_000),
        r"has more than 89,478,485 pixels, as a decompression bomb has",
    ),
    "text bomb": ("png", text_bomb, r"is cut off or damaged \(Decompressed data too large"),
    "float": (
        "tiff",
        lambda: encoded(Image.new("F", (4, 4), 0.5), "TIFF"),
        r"holds floating point numbers, which have no",
    ),
    "lab": ("tiff", lambda: encoded(Image.new("LAB", (4, 4)), "TIFF"), r"holds Lab colors, which have no fixed range"),
    "32 bits": (
        "tiff",
        lambda: encoded(Image.new("I", (4, 4), 70000), "TIFF"),
        r"holds numbers from 70000 to 70000, outside",
    ),
    "negative": (
        "tiff",
        lambda: encoded(Image.new("I", (4, 4), -5), "TIFF"),
        r"holds numbers from -5 to -5, outside 0 to",
    ),
    "heic": ("heic", lambda: b"\0\0\0\x18ftypheic", r"is a HEIC file, which cannot be read: convert it to PNG or JPEG"),
    "raw": ("NEF", lambda: b"MM\0*", r"is a NEF file, which cannot be read"),
    "svg": ("svg", lambda: b"<svg/>", r"is a SVG file, which cannot be read"),
}
