import hashlib
import math
import uuid
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets import identity
from rag_assets.columns import id_columns
from rag_assets.identity import canonical_json, canonical_number, fingerprint, occurrences, row_id

FINITE = st.floats(allow_nan=False, allow_infinity=False)
DECIMALS = st.decimals(
    allow_nan=False, allow_infinity=False, places=20, min_value=-(10**25), max_value=10**25
)
NUMBERS = st.integers() | FINITE | DECIMALS
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda below: st.lists(below) | st.dictionaries(st.text(), below),
    max_leaves=10,
)


def value_of(number):
    """A float stands for the decimal number that it is written as."""
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


@given(NUMBERS, NUMBERS)
def test_numbers_are_spelled_alike_exactly_if_they_are_equal(one, other):
    spelled_alike = canonical_number(one) == canonical_number(other)

    assert spelled_alike == (value_of(one) == value_of(other))


@given(NUMBERS)
def test_a_spelling_is_the_number_and_spells_itself(number):
    spelled = canonical_number(number)

    assert Fraction(spelled) == value_of(number)
    assert canonical_number(Decimal(spelled)) == spelled


@given(st.integers(min_value=-(10**30), max_value=10**30), st.integers(min_value=0, max_value=30))
def test_zeros_at_the_end_of_a_decimal_say_nothing(number, zeros):
    assert canonical_number(Decimal(f"{number}.{'0' * zeros}")) == str(number)


@pytest.mark.parametrize(
    ("number", "spelled"),
    [
        (1, "1"),
        (1.0, "1"),
        (Decimal("1.00"), "1"),
        (-0.0, "0"),
        (Decimal("-0.00"), "0"),
        (1e21, "1" + "0" * 21),
        (1e-7, "0.0000001"),
        (Decimal("1E+3"), "1000"),
        (
            Decimal("12345678901234567890123456789.123456789"),
            "12345678901234567890123456789.123456789",
        ),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (math.nan, None),
        (Decimal("NaN"), None),
        (Decimal("-Infinity"), "-inf"),
    ],
)
def test_spellings(number, spelled):
    assert canonical_number(number) == spelled


def test_a_number_of_numpy_is_a_number():
    import numpy as np

    assert canonical_number(np.float64(0.5)) == "0.5"


def test_ids_are_those_of_earlier_builds():
    """A change here orphans every held vector: it needs a new index."""
    document = identity.document_id("documents", "a/b.pdf")

    assert document == "be4841ce-c636-5714-bc36-1758012ea582"
    assert (
        id_columns.element_ids([document], "pymupdf", counts=[1])[0].as_py()
        == "71009cac-e80f-5178-9c99-4d71fd1ea4bd"
    )
    assert (
        identity.chunk_id(document, "fixed_256", "Some text.", 0)
        == "1b40148f-6384-5a19-b37f-a461e1ee8cde"
    )
    assert (
        row_id("db", "metals", [("id", "1"), ("name", None)], 0)
        == "5bce77e6-bb46-5124-ae2c-e2d833a26449"
    )
    assert (
        fingerprint("a", 1, None)
        == "0ae764bffd3a17b6454c8d9ebf712311d9b92efce67a4e4ea4f095fc05ed0122"
    )


@given(
    st.text(), st.text(), st.lists(st.tuples(st.text(), st.none() | st.text())), st.integers(0, 9)
)
def test_ids_are_uuids_of_version_5_in_the_projects_namespace(source, table, pairs, occurrence):
    name = canonical_json(["row", source, table, [list(pair) for pair in pairs], occurrence])

    assert row_id(source, table, pairs, occurrence) == str(uuid.uuid5(identity.NAMESPACE, name))


@given(st.lists(st.lists(st.tuples(st.text(), st.none() | st.text()))))
def test_ids_of_many_rows_are_those_of_each(rows):
    contents = [canonical_json([list(pair) for pair in row]) for row in rows]
    seen = {}

    made = identity.row_ids("db", "t", contents[:2], seen=seen)
    made += identity.row_ids("db", "t", contents[2:], seen=seen)

    places = occurrences(contents)
    assert made == [row_id("db", "t", row, place) for row, place in zip(rows, places, strict=True)]
    assert len(set(made)) == len(rows)


def test_a_missing_value_is_not_an_empty_text_or_the_word_for_it():
    ids = {row_id("db", "t", [("a", value)], 0) for value in (None, "", "null", "None")}

    assert len(ids) == 4


def test_ids_of_different_kinds_and_places_never_meet():
    ids = {
        identity.document_id("s", "a"),
        identity.document_id("a", "s"),
        *id_columns.element_ids(["s"], "a", counts=[2]).to_pylist(),
        identity.chunk_id("s", "a", "", 0),
        identity.chunk_id("s", "a", "", 1),
        row_id("s", "a", [], 0),
        row_id("s", "a", [], 1),
    }

    assert len(ids) == 8


def test_a_path_has_one_id_however_its_accents_are_composed():
    assert identity.document_id("s", "L\u00e4s.pdf") == identity.document_id("s", "La\u0308s.pdf")


def test_ids_of_many_files_are_those_of_each():
    uris = ["a.pdf", 'b "c"\\d.pdf', "La\u0308s.pdf", "\udcff.pdf"]
    each = [identity.document_id("s", uri) for uri in uris]
    assert identity.document_ids("s", uris) == each


def test_ids_of_many_chunks_are_those_of_each():
    chunks = [("d", "one", 0), ("d", "one", 1), ('e"', "två", 0)]
    each = [identity.chunk_id(document, "c", text, repeat) for document, text, repeat in chunks]
    hashes = [identity.text_hash(text) for _, text, _ in chunks]
    documents = [document for document, _, _ in chunks]
    assert id_columns.chunk_ids(documents, "c", hashes, [0, 1, 0]).to_pylist() == each


def test_file_names_that_are_no_unicode_keep_apart():
    assert identity.document_id("s", "\udcff.pdf") != identity.document_id("s", "\udcfe.pdf")


@given(PLAIN, PLAIN)
def test_fingerprints_are_equal_exactly_if_the_parts_are(one, other):
    assert (fingerprint(one) == fingerprint(other)) == (
        canonical_json(one) == canonical_json(other)
    )
    assert fingerprint(one, other) == fingerprint(one, other)


def test_fingerprints_of_many_are_those_of_each():
    firsts = ["a", None, 'b"', "\udcff"]
    each = [identity.fingerprint(first, "x", 1) for first in firsts]
    assert identity.fingerprints(firsts, "x", 1) == each


@given(st.dictionaries(st.text(), st.integers(), min_size=2))
def test_the_order_of_names_says_nothing_and_that_of_parts_does(members):
    backwards = dict(reversed(members.items()))

    assert fingerprint(members) == fingerprint(backwards)
    assert fingerprint(*members) != fingerprint(*backwards)


def test_a_fingerprint_knows_where_a_part_ends():
    assert len({fingerprint("ab", "c"), fingerprint("a", "bc"), fingerprint("abc")}) == 3
    assert len({fingerprint(1), fingerprint("1"), fingerprint(True), fingerprint(None)}) == 4


@given(st.text())
def test_the_hash_of_a_text_is_its_sha256(text):
    assert identity.text_hash(text) == hashlib.sha256(text.encode()).hexdigest()


@given(st.lists(st.sampled_from("abc")))
def test_occurrences_count_what_came_before(keys):
    assert occurrences(keys) == [keys[:place].count(key) for place, key in enumerate(keys)]


def test_the_start_of_an_id_is_enough_if_no_other_begins_so():
    ids = ["3f2a9c41", "3f2a9c41d07e", "3f2b0000"]

    def chosen(start):
        return identity.id_that_begins(start, lambda _: ids, what="run", see="see the list")

    assert chosen("3F2B") == "3f2b0000"
    assert chosen("3f2a9c41") == "3f2a9c41"
    for start, said in [
        ("3f2", "'3f2' is too short: give at least 4 characters"),
        (
            "3f2a",
            "more than one run has an id that begins with 3f2a: 3f2a9c41, 3f2a9c41d07e; .*",
        ),
        ("0000", "no run has an id that begins with 0000: see the list"),
    ]:
        with pytest.raises(identity.UnknownIdError, match=f"^{said}$"):
            chosen(start)
