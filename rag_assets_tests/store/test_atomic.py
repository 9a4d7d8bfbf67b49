"""Files that are written whole or not at all."""

import os

import pytest

from rag_assets.store.atomic import take_away, write_atomically


@pytest.mark.parametrize("error", [OSError("no space left"), KeyboardInterrupt()])
def test_writing_that_ends_early_leaves_the_old_file_alone(error, tmp_path, monkeypatch):
    path = tmp_path / "report.md"
    path.write_text("old")

    def fail(_descriptor):
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(type(error)):
        write_atomically(path, "new")
    assert [file.name for file in tmp_path.iterdir()] == ["report.md"]
    assert path.read_text() == "old"


def test_a_folder_in_the_place_of_a_record_is_set_aside_with_what_it_holds(tmp_path):
    path = tmp_path / "record.json"
    for write in (lambda: write_atomically(path, "new"), lambda: take_away(path)):
        path.unlink(missing_ok=True)
        (path / "below").mkdir(parents=True)
        write()
        assert not path.is_dir()
    assert len(list(tmp_path.glob("record.json.*/below"))) == 2
