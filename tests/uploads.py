"""Files as a visitor of a page uploads them."""

import io
import zipfile
from dataclasses import dataclass


@dataclass
class File:
    """An upload, as a page receives it."""

    name: str
    contents: bytes


def packed(members):
    """Pack contents by their names into an archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, contents in members.items():
            archive.writestr(name, contents)
    return out.getvalue()


def png(value=0, size=(8, 8), mode="L"):
    """Make a picture of one color."""
    from PIL import Image

    out = io.BytesIO()
    Image.new(mode, size, value).save(out, "PNG")
    return out.getvalue()


def table(rows=60):
    """Write a table of two numbers and a class that the first one decides."""
    lines = [f"{i / rows:.3f},{(7 * i) % rows / rows:.3f},{'high' if i * 2 >= rows else 'low'}" for i in range(rows)]
    return "first,second,kind\n" + "\n".join(lines) + "\n"
