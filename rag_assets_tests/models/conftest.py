import pytest

from rag_assets.process import user_cache


@pytest.fixture(scope="module", autouse=True)
def keep_apart_what_is_derived():
    """It lies in the state of each test, and goes with it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(user_cache.VARIABLE, "")
        yield
