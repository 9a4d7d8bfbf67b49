"""Which tests a change touches, on a small tree of modules."""

import subprocess
from pathlib import Path

import pytest

from rag_assets_tests import touched
from rag_assets_tests.touched import (
    CHANGED,
    ELSEWHERE,
    IN_ROOM,
    REST_OF_ROOM,
    Selection,
    Tree,
    changed_files,
)

FILES = {
    "docs/faults.md": "",
    "rag_assets/__init__.py": "",
    "rag_assets/store/__init__.py": "from rag_assets.store.store import Store",
    "rag_assets/store/store.py": "class Store: ...",
    "rag_assets/store/locks.py": "def lock(): ...",
    "rag_assets/search/__init__.py": "",
    "rag_assets/search/search.py": "from rag_assets.store import Store",
    "rag_assets/cli.py": "from rag_assets.search.search import Store",
    "rag_assets_tests/__init__.py": "",
    "rag_assets_tests/making.py": "from rag_assets.store.locks import lock",
    "rag_assets_tests/store/__init__.py": "",
    "rag_assets_tests/store/test_locks.py": "WHERE = 'rag_assets.store.locks'",
    "rag_assets_tests/store/test_pages.py": "",
    "rag_assets_tests/store/test_together.py": "from rag_assets.store import locks",
    "rag_assets_tests/search/__init__.py": "",
    "rag_assets_tests/search/test_search.py": "from rag_assets.search import search",
    "rag_assets_tests/search/test_store.py": "from rag_assets.store import Store",
    "rag_assets_tests/test_cli.py": "from rag_assets_tests import making",
    "rag_assets_tests/test_docs.py": "DOCS = 'docs'; PAGE = \"docs\"",
}


def git(root, *arguments):
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.com"]
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def tree(tmp_path) -> Tree:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return Tree(tmp_path)


def places(tree: Tree, *changed: str) -> dict[str, int]:
    """The tests that are taken, and their places in the order."""
    selection = touched.touched(map(Path, changed), tree)
    return {file.name: selection.places[file] for file in selection.files}


def test_a_module_touches_its_room_first_then_who_imports_it(tree):
    assert places(tree, "rag_assets/store/locks.py") == {
        "test_locks.py": CHANGED,
        "test_together.py": IN_ROOM,
        "test_pages.py": REST_OF_ROOM,
        "test_cli.py": ELSEWHERE,  # through its helper
    }


def test_what_a_package_hands_on_is_imported_from_it(tree):
    assert places(tree, "rag_assets/store/store.py")["test_store.py"] == CHANGED


def test_tests_that_use_a_module_through_others_are_left_out_and_named(tree):
    selection = touched.touched([Path("rag_assets/store/store.py")], tree)

    assert [file.name for file in selection.left_out] == ["test_search.py"]
    assert "test_search.py" in " ".join(touched.told(selection, []))


def test_a_test_touches_itself_and_a_helper_those_that_use_it(tree):
    assert places(tree, "rag_assets_tests/store/test_pages.py") == {"test_pages.py": CHANGED}
    assert places(tree, "rag_assets_tests/making.py") == {"test_cli.py": ELSEWHERE}


def test_a_file_that_is_no_module_touches_the_tests_that_name_it(tree):
    assert places(tree, "docs/faults.md") == {"test_docs.py": ELSEWHERE}


def test_a_module_or_test_that_is_gone_touches_what_is_left(tree):
    room = ("test_locks.py", "test_pages.py", "test_together.py")

    gone = places(tree, "rag_assets/store/gone.py", "rag_assets_tests/store/test_gone.py")

    assert gone == dict.fromkeys(room, REST_OF_ROOM)


def test_changed_is_what_differs_from_where_the_branch_began(tree):
    root = tree.root
    git(root, "init", "--initial-branch=main")
    git(root, "add", ".")
    git(root, "commit", "--message=first")
    git(root, "switch", "--create", "mine")
    (root / "rag_assets/cli.py").write_text("")
    git(root, "commit", "--all", "--message=second")
    (root / "docs/faults.md").write_text("edited")
    (root / "docs/größe.md").write_text("new")
    git(root, "switch", "--create", "theirs", "main")
    (root / "rag_assets/theirs.py").write_text("")
    git(root, "add", "rag_assets/theirs.py")
    git(root, "commit", "--message=third", "rag_assets/theirs.py")
    git(root, "branch", "--force", "main", "theirs")
    git(root, "switch", "mine")

    assert [str(file) for file in changed_files("main", root=root)] == [
        "docs/faults.md",
        "docs/größe.md",
        "rag_assets/cli.py",
    ]


def test_what_there_is_no_time_for_is_left_out_and_named(tmp_path, monkeypatch, capsys):
    slow = tmp_path / "test_slow.py"
    slow.write_text("def test_long(): raise AssertionError\ndef test_short(): ...\n")
    monkeypatch.setattr(touched.durations, "name_of", lambda node_id: node_id.rpartition("::")[2])
    monkeypatch.setattr(touched.durations, "known", lambda: {"test_long": 36.0})

    status = touched.run(Selection({slow: CHANGED}), seconds=35)

    assert status == 0
    told = capsys.readouterr().out
    assert "1 deselected" in told
    assert "1 tests, such as test_long" in told


def test_it_ends_with_the_first_failure_if_asked_to(tmp_path, capsys):
    failing = tmp_path / "test_failing.py"
    failing.write_text("def test_one(): assert 0\ndef test_two(): assert 0\n")

    assert touched.run(Selection({failing: CHANGED}), seconds=9, options=["--exitfirst"]) == 1
    assert "1 failed" in capsys.readouterr().out


def test_a_room_without_tests_is_refused(tree):
    assert touched.room("store", tree).files
    with pytest.raises(SystemExit, match="no tests in rag_assets_tests/attic"):
        touched.room("attic", tree)
