"""`rag-assets keys`: made, listed, revoked, and what the state keeps of a key."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from rag_assets import config as configuration
from rag_assets.serving import cli
from rag_assets.serving.keys import FORM, KeysFile, KeysFileError
from rag_assets.serving.replies import FAILED, OK, USAGE
from rag_assets_testing.faults.kills import until


@pytest.fixture
def home(tmp_path, monkeypatch):
    (tmp_path / "rag_assets.yaml").write_text("state_dir: state\n", "utf-8")
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(tmp_path / "rag_assets.yaml"))
    return tmp_path


@pytest.fixture
def keys(home, capsys):
    """Runs the command: exit code, what it says, and what it tells beside that."""

    def keys(*arguments):
        code = cli.main(["keys", *arguments])
        return code, *capsys.readouterr()

    return keys


def everything_in(folder):
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_key_is_shown_once_and_the_state_never_has_it(keys, home):
    given = ("anna", "--scopes", "read, label", "--groups", "sales", "--expires", "2099-12-31")
    code, out, told = keys("create", *given)
    assert (code, "shown this once" in told) == (OK, True)
    key = out.strip()
    assert FORM.fullmatch(key)
    secret = key[13:]
    assert secret.encode() not in everything_in(home)
    assert (home / "state" / "keys").stat().st_mode & 0o077 == 0
    _, out, told = keys("list")
    assert all(each in out for each in (key[4:12], "anna", "read, label", "sales", "2099-12-31"))
    _, listed, _ = keys("list", "--json")
    [entry] = json.loads(listed)["keys"]
    assert secret not in out + told + listed
    assert "sha256" not in entry
    assert entry["scopes"] == ["read", "label"]


def test_a_name_revokes_all_its_keys_and_an_id_one(keys, home):
    made = [json.loads(keys("create", name, "--json")[1]) for name in ("anna", "anna", "bob")]
    assert keys("revoke", made[0]["id"])[1].strip() == f"Revoked: {made[0]['id']}."
    assert keys("revoke", "anna")[1].strip() == f"Revoked: {made[1]['id']}."
    assert "they were already" in keys("revoke", "anna")[1]
    assert keys("list")[1].count("was revoked on") == 2
    code, _, told = keys("revoke", "eve")
    assert (code, "rag-assets keys list shows all" in told) == (FAILED, True)


def test_a_group_that_the_config_does_not_know_is_told_when_a_key_names_it(keys, home):
    """Such a key is made, as the config may name the group later; it sees nothing by it."""
    (home / "rag_assets.yaml").write_text(
        "state_dir: state\ngroups: [laboratory, sales]\n", "utf-8"
    )
    code, out, told = keys("create", "anna", "--groups", "labratory,sales")
    assert code == OK
    assert FORM.fullmatch(out.strip())
    assert "the config has no group labratory" in told
    assert "it has laboratory, sales" in told
    assert "no group" not in keys("create", "bob", "--groups", "sales")[2]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("create",), "give a name with create and revoke"),
        (("list", "anna"), "give a name with create and revoke"),
        (("create", "anna", "--scopes", "write"), "there are read, feedback, label, admin"),
        (("create", "anna\n"), "characters that can be printed"),
        (("create", " "), "characters that can be printed"),
    ],
)
def test_what_is_wrong_is_told(keys, arguments, says):
    code, _, told = keys(*arguments)
    assert (code, says in told) == (USAGE, True)


def test_a_damaged_file_is_named_and_stays(keys, home):
    file = home / "state" / "keys" / "keys.json"
    keys("create", "anna")
    file.write_text("{", "utf-8")
    for command in (("list",), ("create", "bob"), ("revoke", "anna")):
        code, _, told = keys(*command)
        assert (code, str(file) in told, "nobody is let in" in told) == (FAILED, True, True)
    assert file.read_text("utf-8") == "{"


def test_keys_that_are_made_at_once_are_all_kept(tmp_path):
    with ThreadPoolExecutor(4) as pool:
        made = pool.map(
            lambda number: KeysFile(tmp_path).create(f"user {number}", ["read"], [], None)[1],
            range(20),
        )
        given = [*made]
    assert [KeysFile(tmp_path).of(each).name for each in given] == [f"user {n}" for n in range(20)]


MAKES_KEYS = """
import sys
from pathlib import Path
from rag_assets.serving.keys import KeysFile
while True:
    print(KeysFile(Path(sys.argv[1])).create("anna", ["read"], [], None)[1], flush=True)
"""


def test_a_process_that_is_killed_while_it_makes_keys_loses_none_it_told(tmp_path):
    told = tmp_path / "told.txt"
    with told.open("w") as stream:
        process = subprocess.Popen([sys.executable, "-c", MAKES_KEYS, tmp_path], stdout=stream)
    until(lambda: len(KeysFile(tmp_path).read()) > 5)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    whole = [line for line in told.read_text().splitlines(keepends=True) if line[-1] == "\n"]
    assert len(whole) >= 5
    assert all(KeysFile(tmp_path).of(line.strip()).name == "anna" for line in whole)
    assert KeysFile(tmp_path).create("bob", ["read"], [], None), "nothing stays locked"


def test_keys_that_another_user_made_are_told_as_such(home, monkeypatch):
    """As `sudo rag-assets keys create` makes them beside a server of its own user."""
    keys_file = KeysFile(home / "state")
    keys_file.create("anna", ["read"], [], None)

    def refuse(path, **_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("pathlib.Path.stat", refuse)
    with pytest.raises(KeysFileError, match="make keys as that user"):
        keys_file.read()
