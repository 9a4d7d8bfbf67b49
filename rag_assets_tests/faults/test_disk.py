"""A disk that is full, too small for one file, or read only: said in one sentence, nothing lost."""

import os
from dataclasses import dataclass

import pytest

from rag_assets import config as configuration
from rag_assets.operations.problems import disk
from rag_assets.serving import cli, disk_errors
from rag_assets.serving.replies import FAILED, OK, CommandError
from rag_assets.store.atomic import write_atomically
from rag_assets_testing.faults import comparing, project
from rag_assets_testing.faults.comparing import Rows
from rag_assets_testing.faults.disks import small_disk
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.faults.project import Project


@dataclass(frozen=True)
class Built:
    """A project and what an undisturbed build of it holds."""

    project: Project
    fresh: Rows


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Built:
    made = project.make(tmp_path_factory.mktemp("disk"), documents=4, rows=12)
    with hashing():
        refresh(made.config_with(made.home / "fresh"))
    return Built(made, comparing.contents(made.home / "fresh"))


@pytest.fixture
def commands(built, monkeypatch):
    """The command line on the project, embedding by hashing."""
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(built.project.file))
    with hashing():
        yield cli.main


def test_a_full_disk_is_said_and_the_next_refresh_ends_as_if_it_had_not_been(
    built, commands, capsys
):
    state = built.project.home / "state"
    with small_disk(state, size="1100k") as small:
        if small is None:
            pytest.skip("this user may not mount a file system")
        assert commands(["refresh"]) == FAILED
        said = capsys.readouterr()
        assert f"the disk of the state folder {state}" in said.out + said.err
        assert "what was committed is kept" in said.out + said.err
        committed = comparing.embedded(state)

        small.resize("64m")
        ledger = built.project.home / "ledger"
        with hashing(ledger):
            assert commands(["refresh"]) == OK
        assert not committed.intersection(comparing.written_down(ledger))
        held = comparing.contents(state)
        held.pop("questions")
        assert held == built.fresh

        small.forbid_writing()
        capsys.readouterr()
        assert commands(["refresh"]) == FAILED
        complaint = capsys.readouterr().err
        assert complaint.startswith(f"rag-assets: the state folder {state} cannot be written")
        assert "state_dir" in complaint
        assert commands(["search", "steel 3", "--retriever", "bm25"]) == OK
        assert commands(["status"]) == OK
        questions = built.project.home / "questions.jsonl"
        questions.write_text('{"id": "q", "question": "steel 3", "gold": ["row:tests:3"]}\n')
        assert commands(["evaluate", "--questions", str(questions)]) == FAILED
        assert f"the state folder {state} cannot be written" in capsys.readouterr().err


def test_a_step_that_finds_the_disk_full_keeps_what_it_committed(built, tmp_path, runs):
    """A limit on the size of files stands in for a full disk: it needs no rights."""
    made = Project(tmp_path)
    for name in ("rag_assets.yaml", "laboratory.sqlite"):
        (tmp_path / name).write_bytes((built.project.home / name).read_bytes())
    for name in ("documents", "lists"):
        (tmp_path / name).symlink_to(built.project.home / name)
    process = runs.start(tmp_path, most_bytes=5_000)
    process.join()
    assert process.exitcode == 1
    said = (tmp_path / "run.log").read_text()
    assert "File too large" in said
    with hashing():
        refresh(made.config)
    assert comparing.contents(tmp_path / "state") == built.fresh


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(28, "No space left on device", "x"), "make room"),
        (OSError(27, "File too large", "x"), "make room"),
        (OSError(30, "Read-only file system", "x"), "state_dir"),
        (PermissionError(13, "Permission denied", "x"), "state_dir"),
        (RuntimeError("lance error: IO: No space left on device (os error 28)"), "make room"),
        (RuntimeError("basic_ios::clear: iostream error"), "make room"),
        (RuntimeError("(sqlite3.OperationalError) attempt to write a readonly database"), "right"),
    ],
)
def test_an_error_of_the_disk_comes_with_its_remedy(tmp_path, error, words):
    def fail() -> None:
        with disk_errors.writing(tmp_path):
            try:
                raise error
            except type(error) as cause:
                raise ValueError("a step failed") from cause

    with pytest.raises(CommandError, match=words):
        fail()


def test_other_errors_are_not_blamed_on_the_disk(tmp_path):
    with pytest.raises(ValueError, match="odd"), disk_errors.writing(tmp_path):
        raise ValueError("odd")


def test_a_file_elsewhere_is_not_blamed_on_the_state_folder(tmp_path):
    state, source = tmp_path / "state", tmp_path / "source" / "a.pdf"
    with pytest.raises(PermissionError), disk_errors.writing(state):
        raise PermissionError(13, "Permission denied", str(source))
    with pytest.raises(CommandError, match=str(source.parent)), disk_errors.writing(state):
        raise OSError(28, "No space left on device", str(source))
    with pytest.raises(CommandError, match="state_dir"), disk_errors.writing(state):
        raise PermissionError(13, "Permission denied", str(state / "lance"))
    said = f"OSError: [Errno 30] Read-only file system: '{source}'"
    assert disk.remedy_for(said, folder=state) is None
    said = f"OSError: [Errno 30] Read-only file system: '{state / 'lance'}'"
    assert "state_dir" in (disk.remedy_for(said, folder=state) or "")


def test_a_record_that_cannot_be_written_leaves_the_old_one_and_nothing_beside_it(
    tmp_path, monkeypatch
):
    path = tmp_path / "record.json"
    write_atomically(path, "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["record.json"]
