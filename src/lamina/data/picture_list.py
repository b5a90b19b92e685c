"""Lists of a million files in little memory: their names in one piece, and numbers in place of objects."""

import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

import numpy as np

from lamina.data.pictures import Picture

T = TypeVar("T")


class Names(Sequence[str]):
    """Names in one piece of memory: their bytes and eight more for each.

    >>> names = Names(f"{i}.png" for i in range(3))
    >>> len(names), names[1], list(names)
    (3, '1.png', ['0.png', '1.png', '2.png'])
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._bytes, self._ends = bytearray(), array("q", [0])
        self.extend(names)

    def extend(self, names: Iterable[str]) -> None:
        """Add names at the end."""
        for name in names:
            self._bytes += os.fsencode(name)
            self._ends.append(len(self._bytes))

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: Any) -> Any:
        """Give the name at a place, or those of a slice."""
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        place %= len(self)
        return os.fsdecode(bytes(self._bytes[self._ends[place] : self._ends[place + 1]]))


class Made(Sequence[T], Generic[T]):
    """What a function makes of each name, made anew whenever it is asked for.

    >>> list(Made(Names(["a", "b"]), str.upper))
    ['A', 'B']
    """

    def __init__(self, names: Sequence[str], make: Callable[[str], T]) -> None:
        self._names, self._make = names, make

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: Any) -> Any:
        """Make what is at a place."""
        if isinstance(place, slice):
            return [self._make(name) for name in self._names[place]]
        return self._make(self._names[place])


class Pictures(Sequence[Picture]):
    """The readable pictures among some files, as numbers; a `Picture` is made when it is asked for.

    Args:
        paths: the files.
        names: how messages call them.

    >>> pictures = Pictures([Path("a.png"), Path("b.png")], ["a.png", "b.png"])
    >>> pictures.put(1, Picture(Path("b.png"), "b.png", 3, 4, True, 1))
    >>> len(pictures), pictures[0].name, pictures.places.tolist(), pictures.sizes(), pictures.gray
    (1, 'b.png', [1], Counter({(3, 4): 1}), True)
    """

    def __init__(self, paths: Sequence[Path], names: Sequence[str]) -> None:
        self._paths, self._names = paths, names
        self._sizes = np.zeros((len(paths), 2), np.int32)  # 0 x 0 for what cannot be read
        self._marks = np.zeros(len(paths), np.uint8)  # orientation, whether it is gray, whether there are several
        self._places: np.ndarray | None = None

    def put(self, place: int, picture: Picture) -> None:
        """Keep what is known about the picture in a file."""
        self._sizes[place] = picture.height, picture.width
        self._marks[place] = picture.orientation + 16 * picture.gray + 32 * picture.several
        self._places = None

    def drop(self, place: int) -> None:
        """Forget the picture in a file."""
        self._sizes[place] = 0
        self._places = None

    @property
    def places(self) -> np.ndarray:
        """The places of the files that hold these pictures."""
        if self._places is None:
            self._places = np.flatnonzero(self._sizes[:, 0])
        return self._places

    def sizes(self) -> Counter[tuple[int, int]]:
        """Count the pictures of each (height, width), in the order in which sizes come first."""
        found, first, counts = np.unique(self._sizes[self.places], axis=0, return_index=True, return_counts=True)
        order = first.argsort()
        return Counter({(int(found[i, 0]), int(found[i, 1])): int(counts[i]) for i in order})

    @property
    def middle(self) -> int:
        """The median of the shorter sides, the larger of two in the middle."""
        shorter = np.sort(self._sizes[self.places].min(1))
        return int(shorter[len(shorter) // 2])

    @property
    def gray(self) -> bool:
        """Whether all are gray."""
        return bool((self._marks[self.places] & 16).all())

    @property
    def several(self) -> Sequence[int]:
        """The places, among these pictures, of those that are animated or have pages."""
        found: list[int] = np.flatnonzero(self._marks[self.places] & 32).tolist()
        return found

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, index: int) -> Picture: ...
    @overload
    def __getitem__(self, index: slice) -> list[Picture]: ...
    def __getitem__(self, index: Any) -> Any:
        """Make the picture at an index."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = int(self.places[index])
        (height, width), mark = self._sizes[place].tolist(), int(self._marks[place])
        return Picture(
            self._paths[place], self._names[place], height, width, bool(mark & 16), mark % 16, bool(mark & 32)
        )

    def __iter__(self) -> Iterator[Picture]:
        return (self[i] for i in range(len(self)))
