"""Pictures are stored once, and go only when nothing names them any more."""

import hashlib
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pyarrow as pa
import pytest

from rag_assets import schemas
from rag_assets.store import Store, images
from rag_assets.store.damage import DamagedTablesError

ELEMENTS = pa.schema([pa.field("document_id", pa.string()), pa.field("image", pa.string())])


def elements(parser: str) -> str:
    return f"{schemas.ELEMENTS_PREFIX}{parser}"


def key(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def pictures(*contents: bytes) -> pa.Table:
    return pa.table(
        {
            "image": [key(content) for content in contents],
            "media_type": ["image/png"] * len(contents),
            "width": [1] * len(contents),
            "height": [1] * len(contents),
            "data": list(contents),
        },
        schema=schemas.IMAGES,
    )


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path)


def test_equal_pictures_are_stored_once_within_a_batch_and_across_batches(store):
    assert images.keep(store, pictures(b"a", b"b", b"a"), log=print) == 2
    assert images.keep(store, pictures(b"b", b"c"), log=print) == 1
    assert store.count(schemas.IMAGES_TABLE) == 3
    assert images.picture(store, key(b"c")) == ("image/png", b"c")


def test_a_picture_that_is_not_there_is_an_error_that_names_it(store):
    with pytest.raises(images.MissingImageError, match="abc"):
        images.picture(store, "abc")


def test_a_clean_up_keeps_what_any_version_of_any_table_names(store):
    images.keep(store, pictures(b"old", b"new", b"unnamed"), log=print)
    name = elements("parser")
    rows = {"document_id": ["d"], "image": [key(b"old")]}
    store.append(name, pa.table(rows, schema=ELEMENTS), schema=ELEMENTS)
    named = pa.table({"document_id": ["d"], "image": [key(b"new")]}, schema=ELEMENTS)
    store.replace(name, named, group="document_id", groups=["d"])

    assert images.forget_unnamed(store, log=print) == 1

    assert images.picture(store, key(b"old")) == ("image/png", b"old")
    assert images.picture(store, key(b"new")) == ("image/png", b"new")
    with pytest.raises(images.MissingImageError):
        images.picture(store, key(b"unnamed"))


def test_a_table_that_cannot_be_read_may_name_any_picture(store):
    images.keep(store, pictures(b"perhaps named"), log=print)
    name = elements("parser")
    rows = {"document_id": ["d"], "image": [key(b"perhaps named")]}
    store.append(name, pa.table(rows, schema=ELEMENTS), schema=ELEMENTS)
    shutil.rmtree(store.root / "lance" / f"{name}.lance" / "data")

    with pytest.raises(DamagedTablesError, match=f"cannot be read: {name} "):
        images.forget_unnamed(store, log=print)

    assert images.picture(store, key(b"perhaps named")) == ("image/png", b"perhaps named")


def test_pictures_that_cannot_be_read_are_named_with_the_remedy(store):
    images.keep(store, pictures(b"damaged"), log=print)
    shutil.rmtree(store.root / "lance" / "images.lance" / "data")

    with pytest.raises(DamagedTablesError, match="cannot be read: images "):
        images.forget_unnamed(store, log=print)


def test_every_table_that_names_lost_pictures_is_built_again_and_no_other(store):
    with_picture, without = map(elements, ("first", "second"))
    images.keep(store, pictures(b"shown"), log=print)
    for name, image in ((with_picture, key(b"shown")), (without, None)):
        row = pa.table({"document_id": ["d"], "image": [image]}, schema=ELEMENTS)
        store.append(name, row, schema=ELEMENTS)
    store.drop(schemas.IMAGES_TABLE)
    said: list[str] = []

    images.begin(store, log=said.append)
    images.begin(store, log=said.append)

    assert not store.exists(with_picture)
    assert store.count(without) == 1
    assert said == [
        f"the pictures that {with_picture} refers to are missing: {with_picture} is built again"
    ]


def test_a_clean_up_that_had_to_wait_knows_who_began_to_parse_meanwhile(store):
    first, second = map(elements, ("first", "second"))
    images.keep(store, pictures(b"unnamed"), log=print)
    store.append(first, ELEMENTS.empty_table(), schema=ELEMENTS)
    waited_for: list[str] = []
    has_to_wait = threading.Semaphore(0)

    def log(line: str) -> None:
        waited_for.append(line.split()[-1])
        has_to_wait.release()

    with ThreadPoolExecutor() as other, ExitStack() as parsing:
        parsing.enter_context(store.lock(second, log=print))
        with store.lock(first, log=print):
            removed = other.submit(images.forget_unnamed, store, log=log)
            assert has_to_wait.acquire(timeout=10)
            store.append(second, ELEMENTS.empty_table(), schema=ELEMENTS)
            images.keep(store, pictures(b"named next"), log=print)
        assert has_to_wait.acquire(timeout=10)
        row = pa.table({"document_id": ["d"], "image": [key(b"named next")]}, schema=ELEMENTS)
        store.append(second, row, schema=ELEMENTS)
        parsing.close()
        assert removed.result() == 1

    assert waited_for == [first, second]
    assert images.picture(store, key(b"named next")) == ("image/png", b"named next")
