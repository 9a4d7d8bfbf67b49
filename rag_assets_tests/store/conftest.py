"""What tests of the store share: an object store."""

import pytest

from rag_assets.store import Store
from rag_assets_tests import object_store


@pytest.fixture(scope="module")
def bucket():
    pytest.importorskip("moto", reason="needs an S3 server: pip install 'moto[s3]' flask-cors")
    with object_store.running() as url:
        yield url


@pytest.fixture(params=["folder", "bucket"])
def store_anywhere(request, tmp_path) -> Store:
    """A store on a disk, and one whose tables lie in a bucket."""
    if request.param == "folder":
        return Store(tmp_path)
    url = request.getfixturevalue("bucket")
    return Store(tmp_path, tables=f"{url}/{tmp_path.name}/")
