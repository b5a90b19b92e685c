"""Named sets on disk and over HTTP, against a server on this machine: nothing here touches the network."""

import errno
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from lamina._errors import ArgumentError, DataError
from lamina._system import lock
from lamina.architectures.build import build
from lamina.architectures.table import TABLE
from lamina.data import _download, store
from lamina.data._download import File
from lamina.data.load import load
from lamina.data.store import NamedSet, _require, find, get, places
from lamina.training.plan import plan
from lamina.training.weights import load_weights

IMAGES, LABELS = bytes(range(256)) * 800, b"labels" * 50


def published(name, data, **about):
    return File(name, len(data), hashlib.sha256(data).hexdigest(), **about)


@pytest.fixture
def small(server, monkeypatch, tmp_path):
    """A published set of two small files on the server, and a cache of its own."""
    server.files = {"/a/images.gz": IMAGES, "/a/labels.gz": LABELS}
    named = NamedSet(
        "small", "small pictures", "image", (published("images.gz", IMAGES), published("labels.gz", LABELS)),
        (server.address + "/a",),
    )  # fmt: skip
    monkeypatch.setattr(store, "SETS", {"small": named})
    monkeypatch.setattr(store, "cache", lambda: tmp_path / "cache")
    monkeypatch.delenv("LAMINA_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "*")
    return tmp_path / "cache" / "small"


def at(monkeypatch, *addresses):
    monkeypatch.setitem(store.SETS, "small", replace(store.SETS["small"], addresses=addresses))


# Downloading


def test_get_downloads_verifies_and_does_it_once(server, small):
    told = []
    found = get("small", progress=lambda *event: told.append(event))
    assert found.path == small
    assert dict(found.contents()) == {"images.gz": IMAGES, "labels.gz": LABELS}
    assert sorted(path.name for path in small.iterdir()) == ["images.gz", "labels.gz"]
    assert told[-1] == ("labels.gz", 300, 300) and ("images.gz", len(IMAGES), len(IMAGES)) in told
    assert [path for path, _ in server.asked] == ["/a/images.gz", "/a/labels.gz"]
    assert get("small") == found == find("small") and len(server.asked) == 2


def test_only_the_missing_file_is_asked_for(server, small):
    small.mkdir(parents=True)
    (small / "images.gz").write_bytes(IMAGES)
    get("small")
    assert server.asked == [("/a/labels.gz", None)]


def test_a_wrong_file_in_the_cache_is_replaced(server, small):
    small.mkdir(parents=True)
    (small / "images.gz").write_bytes(b"old")
    get("small")
    assert (small / "images.gz").read_bytes() == IMAGES


def test_get_into_a_folder_of_ones_own(small, tmp_path, monkeypatch):
    found = get("small", to=tmp_path / "my data")
    assert found.path == tmp_path / "my data" / "small" and not small.exists()
    monkeypatch.setenv("LAMINA_DATA", str(tmp_path / "my data"))
    assert find("small") == found


def test_a_corrupt_file_is_removed_and_named(server, small):
    server.files["/a/images.gz"] = b"x" + IMAGES[1:]
    message = (
        r"small could not be downloaded \(http://.*/a/images\.gz: what arrived was removed, because its SHA-256 is not "
    )
    with pytest.raises(DataError, match=message + r"[0-9a-f]{16}\.\.\.\)\. Without a network, put"):
        get("small")
    assert list(small.iterdir()) == []


def test_a_corrupt_mirror_is_passed_over(server, small, monkeypatch):
    server.files |= {"/b/images.gz": IMAGES, "/b/labels.gz": LABELS, "/a/images.gz": b"x" + IMAGES[1:]}
    at(monkeypatch, server.address + "/a", server.address + "/b/")
    assert dict(get("small").contents())["images.gz"] == IMAGES
    assert [path for path, _ in server.asked] == ["/a/images.gz", "/b/images.gz", "/a/labels.gz"]


def test_a_dead_mirror_is_passed_over(server, small, monkeypatch, dead):
    at(monkeypatch, dead, server.address + "/nowhere", server.address + "/a")
    get("small")
    assert (small / "labels.gz").read_bytes() == LABELS


def test_a_broken_connection_is_continued_at_once(server, small):
    server.cuts = [70_000, 30_000]
    get("small")
    assert server.asked[:3] == [
        ("/a/images.gz", None),
        ("/a/images.gz", "bytes=70000-"),
        ("/a/images.gz", "bytes=100000-"),
    ]
    assert (small / "images.gz").read_bytes() == IMAGES


def test_a_download_that_stopped_is_continued_later(server, small):
    server.cuts = [70_000, 0, 0, 0]
    with pytest.raises(DataError, match=r"images\.gz: the connection broke after 70,000 of 204,800 bytes\)"):
        get("small")
    assert [path.name for path in small.iterdir()] == ["images.gz.part"]
    assert (small / "images.gz.part").read_bytes() == IMAGES[:70_000]
    server.asked.clear()
    get("small")
    assert server.asked == [("/a/images.gz", "bytes=70000-"), ("/a/labels.gz", None)]
    assert (small / "images.gz").read_bytes() == IMAGES and not (small / "images.gz.part").exists()


@pytest.mark.parametrize(
    ("part", "ranges", "asked"),
    [
        (IMAGES[:5000], True, ["bytes=5000-"]),
        (IMAGES[:5000], False, ["bytes=5000-"]),  # the server sends everything again
        (b"x" * 5000, True, ["bytes=5000-", None]),  # the part was wrong: from the beginning
        (IMAGES + b"more", True, ["bytes=204804-", None]),  # refused with 416
        (IMAGES, True, []),
        (b"x" * len(IMAGES), True, [None]),
    ],
    ids=["good", "server without ranges", "wrong", "too long", "complete", "complete and wrong"],
)
def test_what_was_kept_is_used_or_dropped(server, small, part, ranges, asked):
    small.mkdir(parents=True)
    (small / "images.gz.part").write_bytes(part)
    server.ranges = ranges
    get("small")
    assert [wanted for path, wanted in server.asked if path == "/a/images.gz"] == asked
    assert (small / "images.gz").read_bytes() == IMAGES


@pytest.mark.parametrize(
    ("answer", "lengths", "message"),
    [
        (None, True, "the server says 404 Not Found"),
        (b"<html>please log in</html>", True, "the server has 26 bytes, not 204,800"),
        (IMAGES + b"more", True, "the server has 204,804 bytes, not 204,800"),
        (IMAGES + b"more", False, "the server sends more than 204,800 bytes"),
        (IMAGES[:-1], False, "the connection broke after 204,799 of 204,800 bytes"),
    ],
)
def test_what_a_server_may_do(server, small, answer, lengths, message):
    server.files["/a/images.gz"], server.lengths = answer, lengths
    with pytest.raises(DataError, match=rf"small could not be downloaded \(http://127.*/a/images\.gz: {message}\)"):
        get("small")
    assert not (small / "images.gz").exists()


def test_without_a_network_the_sentence_says_what_to_put_where(small, monkeypatch, dead):
    at(monkeypatch, dead, dead + "/mirror")
    message = (
        rf"small could not be downloaded \({dead}/images\.gz: .*Connection refused; {dead}/mirror/images\.gz: .*"
        rf"refused\)\. Without a network, put images\.gz, labels\.gz from {dead} into `{small}`, "
        r"or set LAMINA_DATA to a folder that holds small/ with them\."
    )
    with pytest.raises(DataError, match=message):
        get("small")


def test_two_downloads_at_once(server, small):
    small.mkdir(parents=True)
    with open(small / "images.gz.part", "ab") as part:
        lock(part.fileno())
        with pytest.raises(DataError, match=r"another process is downloading `.*images\.gz\.part`: wait for it"):
            get("small")
    assert server.asked == []


def test_a_read_only_cache(small, open_folder, ordinary_user, monkeypatch):
    monkeypatch.setattr(store, "cache", lambda: open_folder)
    open_folder.chmod(0o555)
    message = (
        r"`.*/small` cannot be written \(.*[Pp]ermission denied.*\): make room or change its permissions, or choose"
    )
    with ordinary_user(), pytest.raises(DataError, match=message):
        get("small")
    assert list(open_folder.iterdir()) == []


def test_a_cache_that_is_a_file(small):
    small.parent.write_text("a file")
    with pytest.raises(DataError, match=r"`.*/cache/small` cannot be written \((Not a directory|File exists)\)"):
        get("small")


def test_a_full_disk(small, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(_download.os, "fsync", full)
    with pytest.raises(DataError, match=r"`.*/small` cannot be written \(No space left on device\): make room"):
        get("small")


def test_the_logger_of_pooch_is_left_as_it_was(small):
    import pooch

    level = pooch.get_logger().level
    get("small")
    assert pooch.get_logger().level == level


# Looking and reading


def test_places(monkeypatch, tmp_path):
    monkeypatch.delenv("LAMINA_DATA", raising=False)
    assert len(places()) == 1
    monkeypatch.setenv("LAMINA_DATA", str(tmp_path))
    assert places()[0] == tmp_path and len(places()) == 2
    monkeypatch.setenv("LAMINA_DATA", str(tmp_path / "none"))
    with pytest.raises(
        DataError, match=r"LAMINA_DATA must be a folder, got `.*none`, which is not one: create it or unset"
    ):
        find("mnist")


def test_own_data_come_before_the_cache(small, tmp_path, monkeypatch):
    get("small")
    shutil.copytree(small, tmp_path / "own" / "small")
    monkeypatch.setenv("LAMINA_DATA", str(tmp_path / "own"))
    assert find("small").path == tmp_path / "own" / "small"
    (tmp_path / "own" / "small" / "labels.gz").unlink()
    assert find("small").path == small


@pytest.mark.parametrize("function", [find, _require, get])
def test_unknown_names(function):
    with pytest.raises(
        ArgumentError,
        match="`name` must be one of 'mnist', 'fashion-mnist', 'cifar10', .*'rt-polarity', .*got 'imagenet'",
    ):
        function("imagenet")


def test_what_is_not_here_says_how_to_get_it(small, tmp_path, monkeypatch, server):
    message = (
        rf"the data set small is not here \(looked in `{small}`\): download it with  lamina data get small  or "
        rf"put images\.gz, labels\.gz from {server.address}/a into `{small}`, "
        r"or set LAMINA_DATA to a folder that holds small/ with them\."
    )
    with pytest.raises(DataError, match=message):
        _require("small")
    (tmp_path / "own" / "small").mkdir(parents=True)
    (tmp_path / "own" / "small" / "images.gz").write_bytes(IMAGES)
    monkeypatch.setenv("LAMINA_DATA", str(tmp_path / "own"))
    with pytest.raises(
        DataError, match=r"the data set small is not here \(`.*/own/small` lacks labels\.gz\): download it with"
    ):
        _require("small")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (IMAGES[:-1], r"`.*/images\.gz` has 204,799 bytes, not 204,800: delete it and run  lamina data get small"),
        (b"", r"`.*/images\.gz` has 0 bytes, not 204,800"),
        (
            IMAGES[:-1] + b"x",
            r"`.*/images\.gz` is not the official file: its SHA-256 is [0-9a-f]{16}\.\.\., not [0-9a-f]{16}",
        ),
    ],
)
def test_files_that_are_not_the_official_ones(small, content, message):
    small.mkdir(parents=True)
    (small / "images.gz").write_bytes(content)
    (small / "labels.gz").write_bytes(LABELS)
    with pytest.raises(DataError, match=message):
        dict(_require("small").contents())
    with pytest.raises(DataError, match=message):
        get("small")
    assert (small / "images.gz").read_bytes() == content  # it may be the user's own file: never deleted


def test_a_file_that_may_not_be_read(small, open_folder, ordinary_user, monkeypatch):
    monkeypatch.setattr(store, "cache", lambda: open_folder)
    get("small")
    (open_folder / "small" / "images.gz").chmod(0o000)
    with (
        ordinary_user(),
        pytest.raises(DataError, match=r"images\.gz` cannot be read \(Permission denied\): change its"),
    ):
        dict(_require("small").contents())


# Archives


def packed(members, kind="w:gz"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=kind) as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            if data is None:
                info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
            else:
                info.size = len(data)
            tar.addfile(info, None if data is None else io.BytesIO(data))
    return out.getvalue()


GOOD = {"inside/readme.html": b"hello", "./inside/labels.gz": LABELS, "inside/images.gz": IMAGES}


@pytest.fixture
def packed_set(server, small, monkeypatch):
    archive = packed(GOOD)
    server.files = {"/a/small.tar.gz": archive}
    named = replace(store.SETS["small"], archive=published("small.tar.gz", archive), folder="inside")
    monkeypatch.setitem(store.SETS, "small", named)
    return small


def test_an_archive_is_downloaded_unpacked_and_removed(packed_set):
    found = get("small")
    assert found.path == packed_set / "inside"
    names = sorted(str(path.relative_to(packed_set)) for path in packed_set.rglob("*"))
    assert names == ["inside", "inside/images.gz", "inside/labels.gz"]
    assert dict(found.contents()) == {"images.gz": IMAGES, "labels.gz": LABELS}


def test_an_archive_is_read_as_it_is_and_so_are_loose_files(packed_set, server):
    packed_set.mkdir(parents=True)
    (packed_set / "small.tar.gz").write_bytes(packed(GOOD))
    found = get("small")
    assert found.path == packed_set / "small.tar.gz" and server.asked == []
    assert dict(found.contents()) == {"images.gz": IMAGES, "labels.gz": LABELS}
    (packed_set / "images.gz").write_bytes(IMAGES)
    (packed_set / "labels.gz").write_bytes(LABELS)
    assert find("small").path == packed_set


def test_a_full_disk_while_unpacking(packed_set, monkeypatch):
    monkeypatch.setattr(Path, "write_bytes", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left")))
    with pytest.raises(DataError, match=r"`.*/inside` cannot be written \(No space left\): make room"):
        get("small")
    assert not list((packed_set / "inside").iterdir()) and (packed_set / "small.tar.gz").is_file()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no archive", r"cannot be read as a tar file \(.*\): delete it and run  lamina data get small"),
        (b"", r"cannot be read as a tar file"),
        (packed(GOOD)[:400], r"cannot be read as a tar file"),
        (packed({"inside/labels.gz": LABELS}), r"small\.tar\.gz` lacks inside/images\.gz: delete it and run"),
        (
            packed(GOOD | {"inside/images.gz": IMAGES[::-1]}),
            r"small\.tar\.gz/inside/images\.gz` is not the official file",
        ),
        (
            packed({"inside/images.gz": b"\0" * 30_000_000}),
            r"holds inside/images\.gz with 30,000,000 bytes, which the off",
        ),
        (
            packed({"zeros": b"\0" * 30_000_000, **GOOD}),
            r"holds zeros with 30,000,000 bytes, which the official archive",
        ),
        (
            packed(GOOD | {"inside/images.gz": None}),
            r"holds inside/images\.gz with 0 bytes, which the official archive",
        ),
        (packed({"../inside/images.gz": IMAGES, "inside/labels.gz": LABELS}), r"lacks inside/images\.gz"),
    ],
    ids=["text", "empty", "cut", "incomplete", "changed", "bomb", "bomb beside", "link", "escape"],
)
def test_bad_archives(packed_set, content, message):
    packed_set.mkdir(parents=True)
    (packed_set / "small.tar.gz").write_bytes(content)
    with pytest.raises(DataError, match=message):
        dict(_require("small").contents())


# The published sets


def test_the_published_sets_are_complete():
    pictures = ["mnist", "fashion-mnist", "cifar10"]
    sets = [named for named in store.SETS.values() if named.kind != "weights"]
    known = [*pictures, "multi30k", "tatoeba", "tinyshakespeare", "sst2", "rt-polarity"]
    assert [named.name for named in sets] == known
    for named in sets:
        assert len(named.addresses) >= 2 and named.size > (1e7 if named.name in pictures else 1e6)
        for file in (*named.files, *named.downloads):
            assert len(file.sha256) == 64 and file.size > 0
        if named.name in pictures:  # their publishers give MD5 sums
            assert all(len(file.md5) == 32 for file in named.downloads)


def test_a_set_may_lie_in_a_folder_of_another_name(tmp_path, monkeypatch):
    monkeypatch.setenv("LAMINA_DATA", str(tmp_path))
    for folder in ("tatoeba-deu-eng", "tatoeba"):  # the usual name goes first
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "deu-eng.zip").touch()
        assert find("tatoeba").path == tmp_path / folder


def test_this_machine_has_the_official_files():
    if not os.environ.get("LAMINA_DATA"):
        pytest.skip("needs LAMINA_DATA")
    for name, named in store.SETS.items():
        found = _require(name)
        for file, (_, data) in zip(named.files, found.contents(), strict=True):
            assert not file.md5 or hashlib.md5(data).hexdigest() == file.md5


def test_the_store_needs_no_torch():
    code = (
        "import sys, lamina.data.store as s; s.find('mnist'); assert not {'torch', 'numpy', 'PIL'} & set(sys.modules)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "LAMINA_DATA"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


# Weights


def test_the_names_of_weights_and_of_their_files_agree():
    weights = {name: named for name, named in store.SETS.items() if named.kind == "weights"}
    assert list(weights) == ["resnet18-imagenet", "resnet34-imagenet", "resnet50-imagenet", "alexnet-imagenet"]
    for named in weights.values():
        (file,) = named.files
        assert file.sha256.startswith(file.name.rpartition("-")[2].removesuffix(".pth")) and len(file.sha256) == 64
        assert named.architecture in TABLE and named.addresses == ("https://download.pytorch.org/models",)


@pytest.fixture
def resnet(server, monkeypatch, tmp_path):
    """A small ResNet in the place of the official file, on the server."""
    out = io.BytesIO()
    network = build("resnet18", width=0.1, seed=5)
    torch.save(network.state_dict(), out)
    server.files = {"/models/small.pth": out.getvalue()}
    named = replace(
        store.SETS["resnet18-imagenet"], files=(published("small.pth", out.getvalue()),),
        addresses=(server.address + "/models",),
    )  # fmt: skip
    monkeypatch.setitem(store.SETS, "resnet18-imagenet", named)
    monkeypatch.setattr(store, "cache", lambda: tmp_path / "cache")
    monkeypatch.delenv("LAMINA_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.chdir(tmp_path)
    return network


def test_weights_are_downloaded_once_and_taken_by_their_name(resnet, server):
    with pytest.raises(
        DataError, match=r"the file of weights resnet18-imagenet is not here .* lamina data get resnet18-"
    ):
        load_weights(build("resnet18", width=0.1), "resnet18-imagenet")
    get("resnet18-imagenet")
    net = build("resnet18", width=0.1, seed=6)
    assert str(load_weights(net, "resnet18-imagenet")) == "122 of 122 tensors come from resnet18-imagenet"
    assert torch.equal(net.conv1.weight, resnet.conv1.weight) and len(server.asked) == 1
    job = plan("resnet18", "digits", weights="resnet18-imagenet", options={"width": 0.1})
    assert job.model.config.inputs == (3, 224, 224) and torch.equal(job.model.conv1.weight, resnet.conv1.weight)
    file = store.cache() / "resnet18-imagenet" / "small.pth"
    file.write_bytes(b"x" + file.read_bytes()[1:])
    with pytest.raises(DataError, match=r"small.pth` is not the official file"):
        load_weights(net, "resnet18-imagenet")


def test_weights_without_a_network_say_where_to_put_the_file(resnet, monkeypatch, dead):
    monkeypatch.setitem(store.SETS, "resnet18-imagenet", replace(store.SETS["resnet18-imagenet"], addresses=(dead,)))
    with pytest.raises(
        DataError, match=r"resnet18-imagenet could not be downloaded .* Without a network, put small.pth"
    ):
        get("resnet18-imagenet")


def test_weights_are_not_data():
    with pytest.raises(
        DataError, match="'resnet18-imagenet' names weights, not data: a network starts from them with "
    ):
        load("resnet18-imagenet")
