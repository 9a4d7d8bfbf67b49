import pytest

from rag_assets.config import Config, Expansion, Retriever
from rag_assets.retrieval import context
from rag_assets.retrieval.opening import open_index
from rag_assets.store import Store
from rag_assets_tests.retrieval.corpus import (
    VARIANT,
    chunk,
    index_text,
    random_vectors,
    row,
    write,
)

DOCUMENT = "Steel is rolled hot. It cools in air. Then it is cut to length. Paint is dry."
CUTS = [(0, 26), (21, 50), (38, 64), (64, len(DOCUMENT))]
"""The first three overlap; the last one begins where the third ends, in another section."""


def section_of(place):
    return "2 Paint" if place == 3 else "1 Rolling"


UNITS = [
    *(
        chunk(
            DOCUMENT[start:end],
            unit_id=f"c{place}",
            index=place,
            char_start=start,
            char_end=end,
            section=section_of(place),
        )
        for place, (start, end) in enumerate(CUTS)
    ),
    *(
        chunk(
            "Handbook of foundries\n" + DOCUMENT[start:end],
            unit_id=f"h{place}",
            uri="foundries.pdf",
            index=place,
            char_start=start,
            char_end=end,
        )
        for place, (start, end) in enumerate(CUTS[:3])
    ),
    chunk("It cools in another file.", unit_id="other", uri="other.pdf", index=2),
    *(row(f"grade {key}", table="steels", key=key, unit_id=key) for key in ("S355", "S235")),
    *(row(f"colour {n}", table="paints", key=str(n), unit_id=f"p{n}") for n in range(5)),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    path = tmp_path_factory.mktemp("state")
    store, config = Store(path), Config(state_dir=path)
    write(store, config, UNITS, random_vectors(len(UNITS)))
    index_text(store, config)
    return open_index(store, config, VARIANT)


def context_of(index, query, unit, **expand):
    spec = Retriever(signals=["bm25"], expand=Expansion(**expand))
    results = index.search(query, retriever=spec, top_k=20)
    return next(hit for hit in results if hit.unit_id == unit).context


def test_neighbours_of_the_section_are_joined_and_what_they_share_appears_once(index):
    assert context_of(index, "cools", "c1", neighbours=1) == DOCUMENT[:64]
    assert context_of(index, "cools", "c1", neighbours=9) == DOCUMENT[:64]
    assert context_of(index, "rolled", "c0", neighbours=1) == DOCUMENT[:50]
    assert context_of(index, "paint", "c3", neighbours=2) == DOCUMENT[64:]


def test_a_header_is_searched_and_stands_once_before_joined_neighbours(index):
    hits = index.search("foundries", retriever="bm25", top_k=20)
    assert {hit.unit_id for hit in hits} == {"h0", "h1", "h2"}
    joined = context_of(index, "foundries", "h1", neighbours=1)
    assert joined == "Handbook of foundries\n" + DOCUMENT[:64]


def test_hits_of_any_search_are_given_their_context(index):
    found = index.search("cools", retriever="bm25", top_k=20)
    near = index.with_context(found.hits, settings=Expansion(neighbours=1))
    assert [hit.unit_id for hit in near] == [hit.unit_id for hit in found]
    assert next(hit for hit in near if hit.unit_id == "c1").context == DOCUMENT[:64]


def test_a_row_brings_the_rows_of_a_small_table_and_not_those_of_a_large_one(index):
    assert context_of(index, "S355", "S355", rows=2) == "grade S235\ngrade S355"
    assert context_of(index, "colour", "p3", rows=4) == "colour 3"


def test_no_more_is_read_of_a_large_table_than_tells_that_it_is_large(index, monkeypatch):
    contexts, sizes = context.contexts, []

    def counted(units, *, settings, read):
        def counting(condition, most):
            sizes.append(read(condition, most).num_rows)
            return read(condition, most)

        return contexts(units, settings=settings, read=counting)

    monkeypatch.setattr(context, "contexts", counted)
    assert context_of(index, "colour", "p3", rows=2) == "colour 3"
    assert sizes == [3]


def test_a_large_table_takes_nothing_from_the_others(index):
    query = "colour grade cools"

    assert context_of(index, query, "S355", rows=2, neighbours=1) == "grade S235\ngrade S355"
    assert context_of(index, query, "c1", rows=2, neighbours=1) == DOCUMENT[:64]


def test_without_expansion_the_context_is_the_text(index):
    assert context_of(index, "cools", "c1") == DOCUMENT[21:50]
    plain = index.search("cools", retriever="bm25")[0]
    assert plain.context == plain.text
