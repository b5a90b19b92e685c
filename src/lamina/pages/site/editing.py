"""Copy a page into the reader's folder and open it in marimo's editor."""

import subprocess
import sys
from pathlib import Path

from lamina.pages.site.contents import find


def copy_page(path: str, folder: Path) -> Path:
    """Copy a page into a folder, beside copies that are there already, and return the new file.

    Args:
        path: the link of the page, such as `ch3/lenet`.
        folder: where the copy goes.
    """
    page = find(path)
    name = f"{page.chapter}-{page.slug}"
    target = folder / f"{name}.py"
    number = 2
    while target.exists():
        target = folder / f"{name}-{number}.py"
        number += 1
    target.write_text(page.file.read_text(encoding="utf-8"), encoding="utf-8", newline="\n")
    return target


def edit_page(path: str, *, browser: bool = True) -> None:
    """Copy a page into the current folder and edit it until Ctrl-C; only this machine can reach the editor.

    Args:
        path: the link of the page.
        browser: whether to open one.
    """
    copy = copy_page(path, Path.cwd())
    print(f"Your copy: {copy.name}", flush=True)
    command = [sys.executable, "-m", "marimo", "edit", str(copy), "--host", "127.0.0.1"]
    try:
        subprocess.run([*command, *([] if browser else ["--headless"])], check=False)
    except KeyboardInterrupt:
        pass
