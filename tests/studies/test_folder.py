"""The folder of a study: its name, its parts, and what is no study."""

import pytest

from lamina._errors import ArgumentError, RunError
from lamina.studies.folder import Part
from lamina.studies.samplers import OneAtATime
from lamina.studies.study import Study
from lamina.training.manifest import Manifest
from studies.small import SPACE, bowl


def test_parts_are_named_and_need_known_trials(tmp_path):
    with pytest.raises(ArgumentError, match="`part` must be i/n, such as 2/4, got '2'"):
        Part.read("2")
    with pytest.raises(ArgumentError, match="`part` must be from 1/4 to 4/4, got 5/4"):
        Part.read("5/4")
    with pytest.raises(ArgumentError, match="`part` must be i/n"):
        Part.read("0/0")
    study = Study.create(tmp_path / "s", SPACE, OneAtATime())
    with pytest.raises(
        ArgumentError, match="`part` needs a search whose trials are known in advance, but 'one-at-a-time'"
    ):
        study.run(bowl, part=Part(1, 2))


def test_parts_of_different_studies_do_not_mix(tmp_path):
    Study.create(tmp_path / "s", SPACE, join=True)
    with pytest.raises(
        RunError, match="holds another study: all parts of a study must be started with the same command"
    ):
        Study.create(tmp_path / "s", {"x": [1]}, join=True)
    (tmp_path / "empty").mkdir()  # another part has made the folder and is about to write
    assert Study.create(tmp_path / "empty", SPACE, join=True).total == 20


def test_another_study_of_the_same_name_gets_the_next_number(tmp_path):
    assert [Study.create(tmp_path / "s", SPACE).folder.name for _ in range(3)] == ["s", "s-2", "s-3"]


def test_folders_that_are_no_studies_are_named(tmp_path):
    with pytest.raises(RunError, match="is not a folder: give the folder of a study, such as studies/fnn-digits"):
        Study.open(tmp_path / "none")
    with pytest.raises(RunError, match="is not the folder of a study: it has no study.toml"):
        Study.open(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot make the study folder .*Choose another with --folder"):
        Study.create(tmp_path / "file/s", SPACE)
    home = Study.create(tmp_path / "s", SPACE).home.path / "study.toml"
    home.write_text("version = 99")
    with pytest.raises(
        RunError, match=r"study.toml is damaged: it is not what the study wrote. It says what is search"
    ):
        Study.open(tmp_path / "s")
    Manifest(tmp_path / "s").take("study.toml")
    with pytest.raises(
        RunError, match=r"written by a newer Lamina \(version 99, the latest known is 2\): update Lamina"
    ):
        Study.open(tmp_path / "s")
    home.write_text("version = ")
    Manifest(tmp_path / "s").take("study.toml")
    with pytest.raises(RunError, match="study.toml cannot be read"):
        Study.open(tmp_path / "s")


def test_nothing_is_written_for_a_space_that_cannot_be_tried(tmp_path):
    with pytest.raises(ArgumentError, match="a grid cannot enumerate the range"):
        Study.create(tmp_path / "s", {"x": "0..1.0"})
    assert not (tmp_path / "s").exists()
