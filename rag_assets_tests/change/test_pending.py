"""What is still to do answers like a dictionary of keys and fingerprints."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.change.difference import INPUTS
from rag_assets.change.pending import Pending
from rag_assets.columns import keys as indexing

SHA256 = st.binary(min_size=32, max_size=32).map(bytes.hex)
ODD = SHA256.map(str.upper) | st.sampled_from(["", "g" * 64, "é" * 32]) | st.text(max_size=3)
FINGERPRINTS = st.lists(SHA256, max_size=20) | st.lists(SHA256 | ODD, max_size=20)


def inputs(fingerprints: list[str]) -> pa.Table:
    """Inputs named by their numbers, in chunks of which one begins within its buffers."""
    keys = [str(number) for number in range(len(fingerprints))]
    table = pa.table([["none", *keys], ["", *fingerprints]], schema=INPUTS).slice(1)
    half = len(keys) // 2
    return pa.concat_tables([table.slice(0, half), table.slice(half), INPUTS.empty_table()])


@pytest.mark.parametrize("few", [0, indexing.FEW])
@given(fingerprints=FINGERPRINTS)
def test_fingerprints_are_those_of_a_dictionary(few, fingerprints):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(indexing, "FEW", few)
        pending = Pending(inputs(fingerprints))
    held = {str(number): fingerprint for number, fingerprint in enumerate(fingerprints)}
    assert len(pending) == len(held)
    assert pending.fingerprints([*held, "another"]) == held
    assert pending.fingerprints([]) == {}


@given(fingerprints=FINGERPRINTS, data=st.data())
def test_all_is_done_when_each_key_was_struck_out(fingerprints, data):
    pending = Pending(inputs(fingerprints))
    left = {str(number) for number in range(len(fingerprints))}
    while left:
        assert not pending.is_done
        some = data.draw(st.sets(st.sampled_from(sorted(left)), min_size=1))
        pending.finish([*some, "another"])
        left -= some
    assert pending.is_done


def test_the_text_of_many_fingerprints_is_not_held():
    count = 2 * indexing.FEW
    table = inputs([f"{number:064x}" for number in range(count)])
    before = pa.total_allocated_bytes()
    pending = Pending(table)
    assert pa.total_allocated_bytes() - before < count
    del table
    assert pa.total_allocated_bytes() < before
    assert pending.fingerprints(["7"]) == {"7": f"{7:064x}"}
