"""Small files of every kind that `lamina train` reads."""

from pathlib import Path

import polars as pl
import torch
from PIL import Image

import lamina


def write(home: Path) -> None:
    """Write pictures, rows with labels, a table, texts with labels, things to describe, pairs and a running text."""
    inputs, labels = lamina.load("digits").take(torch.arange(300))
    for digit in range(10):
        folder = home / "pictures" / str(digit)
        folder.mkdir(parents=True)
        for place in (labels == digit).nonzero().flatten()[:6].tolist():
            Image.fromarray(inputs[place, 0].numpy()).save(folder / f"{place}.png")
    weather = []
    for i in range(72):
        warm, wet, low = i % 9 - 4, i % 5 - 2, i % 7 - 3
        labels = [
            name for name, there in (("rain", wet > 0 < warm), ("snow", wet > 0 >= warm), ("wind", low < 0)) if there
        ]
        weather.append(f"{warm},{wet},{low},{1 + i % 3},{i // 4},{';'.join(labels)}")
    (home / "weather.csv").write_text("\n".join(["warm,wet,low,days,year,weather", *weather]) + "\n")
    table = {"warm": [i % 9 - 4.0 for i in range(120)], "wet": [i % 5 - 2.0 for i in range(120)]}
    kinds = ["snow" if cold < 0 else "rain" for cold in table["warm"]]
    pl.DataFrame({**table, "kind": kinds}).write_parquet(home / "rows.parquet")
    words = [("good", "fine"), ("bad", "dull"), ("good", "great"), ("bad", "poor")]
    reviews = [f"{label},film number {i} was {word}" for i in range(15) for label, word in words]
    (home / "reviews.csv").write_text("\n".join(["label,review", *reviews]) + "\n")
    sizes, animals = ("small", "large", "old", "young", "tired", "hungry"), ("cat", "dog", "cow", "hen", "pig", "bee")
    sounds = [f"{animal},{size},a {size} {animal}" for animal in animals for size in sizes]
    (home / "sounds.csv").write_text("\n".join(["animal,size,says", *sounds]) + "\n")
    pairs = [f"{size} {animal}\t{animal.upper()} {size.upper()}" for animal in animals for size in sizes]
    (home / "pairs.tsv").write_text("\n".join(pairs) + "\n")
    (home / "tale.txt").write_text("the cat sat on the mat and the dog sat on the log\n" * 12)
