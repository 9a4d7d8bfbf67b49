"""Projects of a user share what comes from packages and weights alone, where they can."""

import os
from pathlib import Path

import pytest

from rag_assets.process.user_cache import VARIABLE, shared_folder


def test_it_is_the_folder_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    assert shared_folder(tmp_path / "state") == tmp_path / "cache"


def test_it_is_where_the_platform_keeps_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    found = shared_folder(tmp_path / "state")
    assert found.name == "rag_assets"
    assert found.is_dir()
    assert found.is_relative_to(tmp_path)


@pytest.mark.parametrize("named", ["", "a file/below"])
def test_the_state_keeps_its_own_where_there_is_none(tmp_path, monkeypatch, named):
    (tmp_path / "a file").touch()
    monkeypatch.setenv(VARIABLE, named and str(tmp_path / named))
    assert shared_folder(tmp_path / "state") == tmp_path / "state"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="nothing is closed to this user")
def test_a_folder_that_may_only_be_read_is_not_taken(tmp_path, monkeypatch):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    monkeypatch.setenv(VARIABLE, str(closed))
    assert shared_folder(tmp_path / "state") == tmp_path / "state"
