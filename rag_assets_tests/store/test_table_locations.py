"""Tables on a disk and in an object store: the same store either way."""

import shutil
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from pyarrow.fs import FileSelector, FileSystem

from rag_assets.config import ConfigError, load
from rag_assets.retrieval.opening import open_index
from rag_assets.serving import cli
from rag_assets.serving.replies import FAILED, USAGE
from rag_assets.store import MissingTableError, PassRecord, Store, complete_sets
from rag_assets.store.owners import OtherStateError
from rag_assets.store.table_locations import MANIFESTS
from rag_assets_testing.faults import built, comparing, project, reading
from rag_assets_testing.faults.hashing import HashEncoder, hashing
from rag_assets_testing.faults.pipeline import refresh

SCHEMA = pa.schema([pa.field("key", pa.string()), pa.field("group", pa.string())])


@pytest.fixture
def store(store_anywhere):
    return store_anywhere


def rows(**groups):
    return pa.table({"key": list(groups), "group": list(groups.values())}, schema=SCHEMA)


def held(store, **options):
    table = store.read("t", **options)
    return dict(zip(table["key"].to_pylist(), table["group"].to_pylist(), strict=True))


def test_a_table_is_written_read_changed_and_dropped(store, tmp_path):
    assert store.names() == []
    with pytest.raises(MissingTableError):
        store.open("t")
    store.append("t", rows(a="1", b="1", c="2"), schema=SCHEMA)
    first = store.version("t")
    store.replace("t", rows(b="1", d="1"), group="group", groups=["1"])
    store.append("t", rows(e="3"), schema=SCHEMA)
    store.delete("t", column="key", keys=["c"])
    assert held(store) == {"b": "1", "d": "1", "e": "3"}
    assert held(store, version=first) == {"a": "1", "b": "1", "c": "2"}
    store.complete("t", PassRecord("inputs", "version", inputs=3, rows=3, failed=0, bits=0))
    assert (store.names(), store.count("t")) == (["t"], 3)

    store.drop("t")
    assert (store.names(), store.exists("t"), store.completion("t")) == ([], False, None)
    store.append("t", rows(f="4"), schema=SCHEMA)
    assert held(store) == {"f": "4"}
    assert held(Store(tmp_path, tables=getattr(store._tables, "_url", None))) == {"f": "4"}


def test_nothing_of_a_table_in_an_object_store_lies_in_the_state(bucket, tmp_path):
    store = Store(tmp_path, tables=f"{bucket}/alone")
    store.append("t", rows(a="1"), schema=SCHEMA)
    assert list(tmp_path.iterdir()) == []


def test_a_table_whose_removal_was_killed_is_gone_and_is_made_again(bucket, tmp_path):
    store = Store(tmp_path, tables=f"{bucket}/killed")
    store.append("t", rows(a="1"), schema=SCHEMA)
    files, root = FileSystem.from_uri(f"{bucket}/killed")
    files.delete_dir_contents(f"{root}/t.lance/{MANIFESTS}")

    fresh = Store(tmp_path, tables=f"{bucket}/killed")
    assert (fresh.exists("t"), fresh.names()) == (False, [])
    fresh.drop("t")
    left = files.get_file_info(FileSelector(root, recursive=True))
    assert [info.path for info in left if info.is_file and info.size] == []
    fresh.append("t", rows(b="1"), schema=SCHEMA)
    assert held(fresh) == {"b": "1"}


def test_two_commits_at_once_lose_nothing(store):
    store.append("t", rows(start="0"), schema=SCHEMA)

    def add(number):
        store.append("t", rows(**{f"k{number}": "1"}), schema=SCHEMA)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(12)))
    assert store.count("t") == 13


@pytest.mark.nightly(guards=["rag_assets/store"])
def test_a_refresh_into_an_object_store_gives_the_tables_and_answers_of_a_folder(bucket, tmp_path):
    made = project.make(tmp_path, documents=3, rows=8)
    local = made.config_with(tmp_path / "local")
    remote = made.config_with(tmp_path / "remote").model_copy(
        update={"tables_url": f"{bucket}/index"}
    )
    with hashing():
        refresh(local)
        refresh(remote)
        made.write("series0/report0.md", project.report(0, edition=2))
        (made.documents / "series1/report1.md").unlink()
        changed = [refresh(config, allow_shrink=True) for config in (local, remote)]
        again = refresh(remote)
    assert comparing.contents(Store.of(remote)) == comparing.contents(Store.of(local))
    assert [report.data_version for report in changed[0]] == [
        report.data_version for report in changed[1]
    ]
    assert not any(report.touched for report in again)
    assert not (tmp_path / "remote" / "lance").exists()

    query = "Specimen 2 of series 2 was tested"
    answers = [
        open_index(Store.of(config), config, "default", encoder=HashEncoder(None)).search(query)
        for config in (local, remote)
    ]
    assert [hit.text for hit in answers[0]] == [hit.text for hit in answers[1]] != []


def test_a_set_is_not_forgotten_while_its_object_store_does_not_answer(
    bucket, tmp_path, monkeypatch
):
    made = built.small(tmp_path)
    remote = made.config_with(tmp_path / "remote").model_copy(
        update={"tables_url": f"{bucket}/outage"}
    )
    with hashing():
        refresh(remote)
    assert comparing.contents(Store.of(remote)) == comparing.contents(made.store)
    assert reading.found(reading.opened(remote)) == reading.found(reading.opened(made.config))
    recorded = complete_sets.set_of(Store.of(remote), remote, "default")
    warm = Store.of(remote)
    assert complete_sets.is_kept(warm, recorded)

    with monkeypatch.context() as outage:
        outage.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        for store in (warm, Store.of(remote)):
            complete_sets.forget_gone(store)

    assert complete_sets.set_of(Store.of(remote), remote, "default") == recorded
    Store.of(remote).drop(recorded.joint.table)
    complete_sets.forget_gone(Store.of(remote))
    assert list(complete_sets.all_sets(Store.of(remote))) == []


def test_a_second_state_on_the_tables_is_refused_by_the_name_of_the_first(bucket, tmp_path):
    first, second = (Store(tmp_path / name, tables=f"{bucket}/two") for name in "ab")
    with first.lock("t", log=print):
        first.append("t", rows(a="1"), schema=SCHEMA)
    with pytest.raises(OtherStateError, match=f"{tmp_path}/a.*--take-over-tables"):
        second.lock("t", log=print).__enter__()
    assert (second.names(), held(second)) == (["t"], {"a": "1"})

    (tmp_path / "a").rename(tmp_path / "moved")
    with Store(tmp_path / "moved", tables=f"{bucket}/two").lock("t", log=print):
        pass
    second.own(takes_over=True)
    with second.lock("t", log=print), pytest.raises(OtherStateError, match=f"{tmp_path}/b"):
        Store(tmp_path / "moved", tables=f"{bucket}/two").own()
    assert (Store(tmp_path / "c", tables=f"{bucket}/other").own(), second.begun()) == (None, [])


def test_a_copy_beside_the_state_is_refused_and_a_link_to_it_is_not(bucket, tmp_path):
    tables = f"{bucket}/copied"
    Store(tmp_path / "state", tables=tables).own()
    shutil.copytree(tmp_path / "state", tmp_path / "copy")
    (tmp_path / "link").symlink_to("state")
    Store(tmp_path / "link", tables=tables).own()
    with pytest.raises(OtherStateError, match=f"{tmp_path}/state"):
        Store(tmp_path / "copy", tables=tables).own()

    Store(tmp_path / "copy", tables=tables).own(takes_over=True)
    Store(tmp_path / "copy", tables=tables).own()
    with pytest.raises(OtherStateError, match=f"{tmp_path}/copy"):
        Store(tmp_path / "state", tables=tables).own()


def test_the_refresh_of_a_second_state_ends_before_it_begins(bucket, tmp_path, monkeypatch, capsys):
    Store(tmp_path / "first", tables=f"{bucket}/refused").own()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "rag_assets.yaml").write_text(
        f"state_dir: second\ntables_url: {bucket}/refused\nsources: {{documents: docs}}\n"
    )
    assert cli.main(["refresh"]) == FAILED
    assert f"written by the state folder {tmp_path}/first" in capsys.readouterr().err


def test_of_states_that_begin_at_once_one_writes(bucket, tmp_path):
    def began(number):
        try:
            Store(tmp_path / str(number), tables=f"{bucket}/race").own()
        except OtherStateError:
            return 0
        return 1

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(began, range(6))) == 1


def test_a_folder_of_its_own_needs_no_marker(tmp_path):
    with Store(tmp_path).lock("t", log=print):
        assert not (tmp_path / "state_id").exists()


@pytest.mark.nightly(guards=["rag_assets/store"])
def test_a_refresh_takes_tables_over_on_request_and_doubles_no_row(bucket, tmp_path):
    made = project.make(tmp_path, documents=2, rows=4)
    local = made.config_with(tmp_path / "local")
    first, second = (
        made.config_with(tmp_path / name).model_copy(update={"tables_url": f"{bucket}/taken"})
        for name in ("first", "second")
    )
    with hashing():
        refresh(local)
        refresh(first)
        with pytest.raises(OtherStateError, match=str(tmp_path / "first")):
            refresh(second)
        Store.of(second).own(takes_over=True)
        refresh(second)
    assert comparing.contents(Store.of(second)) == comparing.contents(Store.of(local))


def test_the_flag_to_take_tables_over_needs_some(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rag_assets.yaml").write_text("state_dir: state\n")
    assert cli.main(["refresh", "--take-over-tables"]) == USAGE
    assert "tables_url is not set" in capsys.readouterr().err


@pytest.mark.parametrize("url", ["/srv/tables", "s3://", "s3://key:secret@bucket/x", "ftp://a/b"])
def test_only_an_object_store_without_credentials_is_taken(tmp_path, url):
    file = tmp_path / "rag_assets.yaml"
    file.write_text(f"tables_url: '{url}'\nsources: {{documents: docs}}\n")
    with pytest.raises(ConfigError, match="tables_url") as refused:
        load(file)
    assert "secret" not in str(refused.value)


def test_an_object_store_that_does_not_answer_is_named_with_the_remedy(
    tmp_path, monkeypatch, capsys
):
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "eu"}
    for name, value in (keys | {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rag_assets.yaml").write_text("tables_url: s3://tables/here\n")

    assert cli.main(["status"]) == FAILED

    said = capsys.readouterr().err
    assert "the tables at s3://tables/here cannot be reached" in said
    assert "AWS_* variables" in said
    assert "secret" not in said
