"""Small notes of a state that a disk damaged stop nobody."""

import pytest

from rag_assets.store import purges


@pytest.mark.parametrize("content", [b"", b"\xff\x00", b"many"])
def test_a_damaged_count_of_purges_counts_on(tmp_path, content):
    purges.begin(tmp_path)
    (tmp_path / purges.FILE).write_bytes(content)
    before = purges.count(tmp_path)
    purges.begin(tmp_path)
    assert purges.count(tmp_path) == before + 1
