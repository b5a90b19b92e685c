"""Named data sets on disk: where they are looked for, how they are verified, and how they are fetched.

A set is looked for in `$LAMINA_DATA/NAME` and in `NAME` of the user's cache, in its official files. Every file is
compared with its SHA-256 when it is read. Downloading is an explicit verb, `get`; nothing else touches the network.
This module imports no torch.
"""

import hashlib
import os
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lamina._errors import DataError, choice
from lamina.data._download import File, Progress, UnreachableError, fetch

ENVIRONMENT = "LAMINA_DATA"


@dataclass(frozen=True)
class NamedSet:
    """A published data set.

    Args:
        name: what the user calls it, and the name of its folder.
        title: what it is, for people.
        kind: the kind of its `Spec`.
        files: what is read.
        addresses: folders on the net, the best first, in which the downloads lie.
        archive: a tar file that is downloaded in place of `files`; it holds them in its folder `folder`.
        folder: the folder below NAME that holds `files`.
        home: another name that its folder may have.
    """

    name: str
    title: str
    kind: str
    files: tuple[File, ...]
    addresses: tuple[str, ...]
    archive: File | None = None
    folder: str = ""
    home: str = ""

    @property
    def downloads(self) -> tuple[File, ...]:
        """What is fetched from the net."""
        return self.files if self.archive is None else (self.archive,)

    @property
    def size(self) -> int:
        """The bytes to download."""
        return sum(file.size for file in self.downloads)


def _idx(*files: tuple[int, str, str]) -> tuple[File, ...]:
    parts = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
    return tuple(File(f"{part}-ubyte.gz", *about) for part, about in zip(parts, files, strict=True))


_MNIST = NamedSet(
    "mnist",
    "handwritten digits, 60,000 + 10,000, 28x28 gray, 10 classes",
    "image",
    _idx(
        (
            9912422,
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            "f68b3c2dcbeaaa9fbdd348bbdeb94873",
        ),
        (28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c", "d53e105ee54ea40749a09fcbcd1e9432"),
        (
            1648877,
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            "9fb629c4189551a2d022fa330f9573f3",
        ),
        (4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6", "ec29112dd5afa0611ce80d1b7f02629c"),
    ),
    ("https://ossci-datasets.s3.amazonaws.com/mnist", "https://storage.googleapis.com/cvdf-datasets/mnist"),
)
_FASHION = NamedSet(
    "fashion-mnist",
    "pictures of clothes, 60,000 + 10,000, 28x28 gray, 10 classes",
    "image",
    _idx(
        (
            26421880,
            "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
            "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        ),
        (29515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845", "25c81989df183df01b3e8a0aad5dffbe"),
        (
            4422102,
            "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
            "bef4ecab320f06d8554ea6380940ec79",
        ),
        (5148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5", "bb300cfdad3c16e7a12a480ee83cd310"),
    ),
    (
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion",
    ),
)
_CIFAR10 = NamedSet(
    "cifar10",
    "photos, 50,000 + 10,000, 32x32 RGB, 10 classes",
    "image",
    tuple(
        File(name + ".bin", 30_730_000, digest)
        for name, digest in (
            ("data_batch_1", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"),
            ("data_batch_2", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"),
            ("data_batch_3", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"),
            ("data_batch_4", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"),
            ("data_batch_5", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"),
            ("test_batch", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"),
        )
    ),
    (
        "https://www.cs.toronto.edu/~kriz",
        "https://storage.googleapis.com/s4tf-hosted-binaries/datasets/CIFAR10",
    ),
    archive=File(
        "cifar-10-binary.tar.gz",
        170_052_171,
        "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
        "c32a1d4ab5d03f1284b67883e8d87530",
    ),
    folder="cifar-10-batches-bin",
)


def _github(repository: str, commit: str, folder: str = "") -> tuple[str, ...]:
    """Give the addresses of a folder of a repository at one commit: GitHub, and a mirror of it."""
    tail = f"/{folder}" if folder else ""
    return (
        f"https://raw.githubusercontent.com/{repository}/{commit}{tail}",
        f"https://cdn.jsdelivr.net/gh/{repository}@{commit}{tail}",
    )


_MULTI30K = NamedSet(
    "multi30k",
    "photo descriptions, 29,000 + 1,014 + 1,000 pairs English-German",
    "pairs",
    (
        File("train.en.gz", 568929, "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f"),
        File("train.de.gz", 637044, "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6"),
        File("val.en.gz", 21650, "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28"),
        File("val.de.gz", 24681, "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a"),
        File("test_2016_flickr.en.gz", 21077, "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9"),
        File("test_2016_flickr.de.gz", 22890, "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8"),
        File("test_2017_flickr.en.gz", 19138, "76a444ee25172e72695cddb13ae4a3bda59430617be88e0bb46b60504f054074"),
        File("test_2017_flickr.de.gz", 21471, "a2c89666db00c495cd8513b9d708d5a3acc205d7de312ef2bf5fb7ebc1540aee"),
        File("test_2017_mscoco.en.gz", 8844, "aab300bfb4427697987e02cd0aacd44bfe8aa50456231b6474c08038bbed2b58"),
        File("test_2017_mscoco.de.gz", 10230, "799e4854c25d601cb6cb6be29eabe5667734c61ace2f495e03e429031a0bc338"),
        File("test_2018_flickr.en.gz", 23514, "ef4f4844037d4c5dea75c9a8ed5fd78905967a26f67c255e230cc9780032654d"),
        File("test_2018_flickr.de.gz", 26461, "ddd0130c7d97482dc5197a02141dae8dd79f20f03586c480d675c09a32daf608"),
    ),
    _github("multi30k/dataset", "a3d2e0d26b56f3846f66a952536ffed4e401d05a", "data/task1/raw"),
)
_TATOEBA = NamedSet(
    "tatoeba",
    "short sentences, 169,813 pairs English-German (CC BY 2.0)",
    "pairs",
    (File("deu-eng.zip", 4012023, "b7688f84f99fa33c17397c14d8bd9cef1fdeb2ee0bf50074767023aee8926e28"),),
    _github("rioyshky/translation", "de48b7027f7318d77010a6e08ed928c10748c23d"),
    home="tatoeba-deu-eng",
)
_SHAKESPEARE = NamedSet(
    "tinyshakespeare",
    "plays, 1,115,394 characters, 65 different",
    "text",
    (File("input.txt", 1115394, "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"),),
    _github("karpathy/char-rnn", "6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e", "data/tinyshakespeare"),
)
_SST2 = NamedSet(
    "sst2",
    "film reviews, 6,920 + 872 + 1,821 sentences, 2 classes",
    "text",
    (
        File("train_binary_sent.csv", 726331, "6003623bcb35aad3a446a265b8931b7ccab61fcc10f2e9c1fec916ff67c7be35"),
        File("dev_binary_sent.csv", 92802, "f34c4987fea208fefc2d62a1b42c83a766cbfc7ce58c2a878ef953cf91f01729"),
        File("test_binary_sent.csv", 190431, "519cea7ed4d22fe7ec4eccbb3d5ba6d88902a3b15ce129f476aa8364463a9fc7"),
    ),
    _github("openai/generating-reviews-discovering-sentiment", "0032e4b87903713ad4242599f5dda2eb7b8c40fd", "data"),
)
_RT_POLARITY = NamedSet(
    "rt-polarity",
    "film reviews, 5,331 + 5,331 sentences, 2 classes",
    "text",
    (
        File("rt-polarity.neg", 612506, "2d11cfbc790f1cd96d78339f41ce53ced1efa83cd22d37d6788fa3fe3d17e2fd"),
        File("rt-polarity.pos", 626395, "4134882974a28d0c7b5151256f0e33a6169984ee7372c279e673f1114f475d58"),
    ),
    _github(
        "dennybritz/cnn-text-classification-tf", "18762b459e21d9c70e5c242f8d43fc4e6db37a0d", "data/rt-polaritydata"
    ),
)
SETS = {
    named.name: named for named in (_MNIST, _FASHION, _CIFAR10, _MULTI30K, _TATOEBA, _SHAKESPEARE, _SST2, _RT_POLARITY)
}


@dataclass(frozen=True)
class Found:
    """A set that is on disk: the folder that holds its files, or its archive."""

    named: NamedSet
    path: Path

    def contents(self) -> Iterator[tuple[str, bytes]]:
        """Read the files one after another, each verified: its name and its bytes."""
        if self.path.is_dir():
            for file in self.named.files:
                yield file.name, _read(self.path / file.name, file, self.named.name)
        else:
            yield from _members(self.path, self.named)


def cache() -> Path:
    """Give the folder of the user's cache on this system."""
    import pooch  # type: ignore[import-untyped]

    return Path(pooch.os_cache("lamina"))


def places() -> list[Path]:
    """Give the folders in which data sets are looked for, the first one first.

    >>> places()[-1] == cache()
    True
    """
    own = os.environ.get(ENVIRONMENT)
    if not own:
        return [cache()]
    if not Path(own).expanduser().is_dir():
        raise DataError(f"{ENVIRONMENT} must be a folder, got `{own}`, which is none: make it or unset {ENVIRONMENT}.")
    return [Path(own).expanduser(), cache()]


def find(name: str) -> Found | None:
    """Look for all files of a set, or its archive, without reading them.

    >>> find("minst")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    lamina._errors.ArgumentError: `name` must be one of 'mnist', ..., got 'minst'.
    """
    choice("name", name, SETS)
    named = SETS[name]
    for place in places():
        homes = [place / home for home in (name, named.home) if home]
        for folder in dict.fromkeys((place / name / named.folder, *homes)):
            if all((folder / file.name).is_file() for file in named.files):
                return Found(named, folder)
        if named.archive is not None and (place / name / named.archive.name).is_file():
            return Found(named, place / name / named.archive.name)
    return None


def _require(name: str) -> Found:
    """Look for a set and say how to get it when it is not there."""
    found = find(name)
    if found is not None:
        return found
    named, looked = SETS[name], " and ".join(f"`{place / name}`" for place in places())
    parts = [
        f"`{place / name}` lacks {', '.join(lacking)}"
        for place in places()
        if len(lacking := [f.name for f in named.files if not (place / name / named.folder / f.name).is_file()])
        < len(named.files)
    ]
    missing = "; ".join(parts) if parts else f"looked in {looked}"
    raise DataError(
        f"the data set {name} is not here ({missing}): fetch it with  lamina data get {name}  or {_by_hand(named)}."
    )


def get(name: str, *, to: str | Path | None = None, progress: Progress | None = None) -> Found:
    """Download a set unless it is here already, verify it, and unpack an archive.

    Args:
        name: which set.
        to: the folder under which to put it, to which `LAMINA_DATA` may point; None for the user's cache.
        progress: told while bytes arrive.

    Returns:
        Where it is now.

    >>> get("minst")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    lamina._errors.ArgumentError: `name` must be one of 'mnist', ..., got 'minst'.
    """
    choice("name", name, SETS)
    named, here = SETS[name], find(name) if to is None else None
    if here is not None:
        for _ in here.contents():
            pass
        return here
    home = cache() if to is None else Path(to).expanduser()
    try:
        paths = [fetch(file, named.addresses, home / name, progress) for file in named.downloads]
    except UnreachableError as error:
        raise DataError(f"{name} could not be downloaded ({error}). Without a network, {_by_hand(named)}.") from error
    if named.archive is None:
        return Found(named, home / name)
    return _unpacked(paths[0], named)


def _by_hand(named: NamedSet) -> str:
    files = ", ".join(file.name for file in named.downloads)
    return (
        f"put {files} from {named.addresses[0]} into `{cache() / named.name}`, "
        f"or set {ENVIRONMENT} to a folder that holds {named.name}/ with them"
    )


def _check(data: bytes, file: File, shown: str, name: str) -> bytes:
    digest = hashlib.sha256(data).hexdigest()
    if digest != file.sha256:
        raise DataError(
            f"`{shown}` is not the official file: its SHA-256 is {digest[:16]}..., not {file.sha256[:16]}...: "
            f"delete it and run  lamina data get {name}."
        )
    return data


def _read(path: Path, file: File, name: str) -> bytes:
    try:
        size = path.stat().st_size
        if size != file.size:
            raise DataError(
                f"`{path}` has {size:,} bytes, not {file.size:,}: delete it and run  lamina data get {name}."
            )
        return _check(path.read_bytes(), file, str(path), name)
    except OSError as error:
        raise DataError(
            f"`{path}` cannot be read ({error.strerror}): change its permissions or copy it again."
        ) from error


def _members(archive: Path, named: NamedSet) -> Iterator[tuple[str, bytes]]:
    """Read the files of a set out of its archive; nothing is extracted, and nothing larger than expected is read."""
    missing = {f"{named.folder}/{file.name}": file for file in named.files}
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                file = missing.pop(member.name.removeprefix("./"), None)
                limit = file.size if file is not None else 2**20
                if member.size > limit or (file is not None and not member.isreg()):
                    raise DataError(
                        f"`{archive}` holds {member.name} with {member.size:,} bytes, which the official archive does "
                        f"not: delete it and run  lamina data get {named.name}."
                    )
                stream = tar.extractfile(member) if file is not None else None
                if file is not None and stream is not None:
                    yield file.name, _check(stream.read(), file, f"{archive}/{member.name}", named.name)
                if not missing:
                    return
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise DataError(
            f"`{archive}` cannot be read as a tar file ({error}): delete it and run  lamina data get {named.name}."
        ) from error
    raise DataError(f"`{archive}` lacks {', '.join(missing)}: delete it and run  lamina data get {named.name}.")


def _unpacked(archive: Path, named: NamedSet) -> Found:
    """Write the files of an archive beside it, each complete or absent, and remove the archive."""
    folder = archive.parent / named.folder
    try:
        folder.mkdir(exist_ok=True)
        for name, data in _members(archive, named):
            part = folder / f"{name}.part"
            part.write_bytes(data)
            os.replace(part, folder / name)
        archive.unlink()
    except OSError as error:
        raise DataError(
            f"`{folder}` cannot be written ({error.strerror}): make room or change its permissions."
        ) from error
    return Found(named, folder)
