"""Pictures are stored once, and go only when nothing names them any more."""

import hashlib

import pyarrow as pa
import pytest

from rag_assets import images, schemas
from rag_assets.store import Store

ELEMENTS = pa.schema([pa.field("document_id", pa.string()), pa.field("image", pa.string())])


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
    name = schemas.elements_table("parser")
    rows = {"document_id": ["d"], "image": [key(b"old")]}
    store.append(name, pa.table(rows, schema=ELEMENTS), schema=ELEMENTS)
    named = pa.table({"document_id": ["d"], "image": [key(b"new")]}, schema=ELEMENTS)
    store.replace(name, named, group="document_id", groups=["d"])

    assert images.forget_unnamed(store, log=print) == 1

    assert images.picture(store, key(b"old")) == ("image/png", b"old")
    assert images.picture(store, key(b"new")) == ("image/png", b"new")
    with pytest.raises(images.MissingImageError):
        images.picture(store, key(b"unnamed"))
