"""Following links from the first hits: what is reached, what stays, and what is said of it."""

from collections.abc import Collection, Sequence
from contextlib import nullcontext
from types import SimpleNamespace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.config import GlossaryEntry, LinkStage, Retriever
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.following import LINKED, UNLINKED, with_links
from rag_assets.retrieval.glossary import Glossary
from rag_assets.retrieval.links import LinksInMemory, synonyms_of
from rag_assets.retrieval.opening import open_index
from rag_assets.retrieval.rankings import Ranking, ranked
from rag_assets.store.complete_sets import set_of
from rag_assets.store.unit_links import MOST_THINGS
from rag_assets_testing.faults import project
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.faults.project import Project

WORDS = Retriever(signals=["bm25"])
FOLLOWING = Retriever(signals=["bm25"], links=LinkStage())
STANDARD = "standards/nhs_3101.md"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Project:
    found = project.make(tmp_path_factory.mktemp("linked") / "project", documents=2, rows=3)
    found.execute(
        "CREATE TABLE parts (id INTEGER PRIMARY KEY, part TEXT, what TEXT, standard TEXT)",
        "INSERT INTO parts VALUES (1, 'AB-1201', 'washer', 'NHS 3101'), "
        "(2, 'AB-1202', 'gasket', 'NHS 3101'), (3, 'AB-1203', 'spindle', 'none')",
    )
    found.write(STANDARD, "# NHS 3101\n\nRinse in deionised water for five minutes.\n")
    with hashing():
        refresh(found.config)
    return found


def index_of(made: Project, **changes):
    complete_set = set_of(made.store, made.config, "default")
    for name, value in changes.items():
        object.__setattr__(complete_set, name, value)
    return open_index(made.store, made.config, "default", complete_set=complete_set)


def test_a_row_leads_to_the_document_that_it_names(made):
    index = index_of(made)

    alone = [hit.uri for hit in index.search("washer", retriever=WORDS)]
    found = index.search("washer", retriever=FOLLOWING)

    assert alone == ["laboratory/parts"]
    [document] = [hit for hit in found if hit.uri == STANDARD]
    assert document.linked
    assert document.linked.words == 'laboratory/parts, row 1 -> "NHS 3101" (identifier)'
    assert {LINKED} <= set(document.arms)
    assert UNLINKED not in document.arms
    [row] = [hit for hit in found if hit.row_key == "1"]
    assert row.linked is None


def test_a_document_leads_back_to_the_rows_that_name_it(made):
    found = index_of(made).search("deionised", retriever=FOLLOWING)

    assert found[0].uri == STANDARD
    back = [hit for hit in found if hit.linked]
    assert {hit.row_key for hit in back} == {"1", "2"}
    assert back[0].linked.words == f'{STANDARD} <- "NHS 3101" (identifier)'


def test_a_document_of_many_versions_is_reached_in_its_current_one(tmp_path):
    made = project.make(tmp_path / "project", documents=1, rows=1)
    made.execute(
        "CREATE TABLE pumps (id INTEGER PRIMARY KEY, what TEXT, instruction TEXT)",
        "INSERT INTO pumps VALUES (1, 'whey pump', 'QX 4410')",
    )
    for number in range(1, MOST_THINGS + 3):
        steps = " ".join(f"Step {step}: loosen lobe {step} of the cover." for step in range(9))
        text = f"# QX 4410\n\nRevision: {number}\n\n{steps} Mind {number} seals.\n"
        made.write(f"QX-4410_rev{number}.md", text)
    with hashing():
        refresh(made.config)
    index = index_of(made)
    assert len(index.families.superseded) == MOST_THINGS + 1

    found = index.search("whey", retriever=FOLLOWING)

    [document] = [hit for hit in found if hit.linked]
    assert document.uri == f"QX-4410_rev{MOST_THINGS + 2}.md"


def test_the_link_between_two_units_is_told(made):
    index = index_of(made)
    [row] = index.search("washer", retriever=WORDS)
    [document] = index.search("deionised", retriever=WORDS)
    [other] = index.search("spindle", retriever=WORDS)

    forth = index.way_between(row.unit_id, document.unit_id)
    back = index.way_between(document.unit_id, row.unit_id)

    assert forth
    assert forth.words == 'laboratory/parts, row 1 -> "NHS 3101" (identifier)'
    assert back
    assert back.words == f'{STANDARD} <- "NHS 3101" (identifier)'
    assert index.way_between(other.unit_id, document.unit_id) is None
    assert index.way_between("gone", document.unit_id) is None


def test_what_many_name_is_no_way_back(made, monkeypatch):
    monkeypatch.setattr("rag_assets.retrieval.following.MOST_NAMING", 1)

    found = index_of(made).search("deionised", retriever=FOLLOWING)

    assert [hit.uri for hit in found] == [STANDARD]


def test_a_link_leads_to_nothing_that_the_filters_leave_out(made):
    found = index_of(made).search("washer", retriever=FOLLOWING, filters=Filters(domain="table"))

    assert {hit.uri for hit in found} == {"laboratory/parts"}
    assert not any(hit.linked for hit in found)


def test_an_index_without_links_searches_as_before(made):
    index = index_of(made, unit_links=None)

    plain, following = (index.search("washer", retriever=each) for each in (WORDS, FOLLOWING))

    assert [(hit.unit_id, hit.score) for hit in plain] == [
        (hit.unit_id, hit.score) for hit in following
    ]


def test_what_is_measured_depends_on_the_links(made):
    index, without = index_of(made), index_of(made, unit_links=None)

    assert index.state(FOLLOWING) != without.state(FOLLOWING)
    assert index.state(WORDS) == without.state(WORDS)


def test_many_queries_give_what_each_gives_alone(made):
    index = index_of(made)
    queries = ["washer", "deionised", "spindle"]

    many = index.search_many(queries, retriever=FOLLOWING).to_pylist()

    for place, query in enumerate(queries):
        alone = [(hit.unit_id, hit.score) for hit in index.search(query, retriever=FOLLOWING)]
        assert [
            (row["unit_id"], row["score"]) for row in many if row["query_index"] == place
        ] == alone


UNITS = [f"u{number}" for number in range(6)]
DOCUMENTS = {"u0": "d0", "u1": "d0", "u2": "d1"}


def call_of(edges: Collection[tuple[str, str]], allowed: Collection[str]) -> SimpleNamespace:
    """What the stage asks of a search, without an index behind it."""
    first = {"d0": "u0", "d1": "u2"}
    listed = [
        {
            "unit_id": unit,
            "target": first.get(thing, thing),
            "thing": thing,
            "is_document": thing in first,
            "text": thing,
            "kind": "title",
        }
        for unit, thing in edges
    ]
    columns = ("unit_id", "target", "thing", "is_document", "text", "kind")
    links = pa.table({name: [each[name] for each in listed] for name in columns})

    def read(units: Sequence[str], _columns: Sequence[str]) -> pa.Table:
        return pa.table(
            {
                "unit_id": pa.array(units, pa.string()),
                "document_id": pa.array([DOCUMENTS.get(unit) for unit in units], pa.string()),
            }
        )

    return SimpleNamespace(
        links=lambda: LinksInMemory(links),
        read=read,
        permitted=lambda units: set(units) & set(allowed),
        timed=lambda _: nullcontext(),
        followed={},
    )


RANKINGS = st.dictionaries(st.sampled_from(UNITS), st.integers(0, 9).map(float), max_size=6)
EDGES = st.sets(st.tuples(st.sampled_from(UNITS), st.sampled_from(["d0", "d1", "u3", "u5"])))


@given(RANKINGS, EDGES, st.sets(st.sampled_from(UNITS)))
def test_links_add_what_is_allowed_and_take_nothing_away(scores, edges, allowed):
    before = ranked(scores, scores=scores.values())
    call = call_of(edges, allowed)

    [after] = with_links(call, ["q"], [before], settings=LinkStage())

    assert set(before.unit_ids) <= set(after.unit_ids)
    assert set(after.unit_ids) - set(before.unit_ids) <= allowed
    assert [*after.scores] == sorted(after.scores, reverse=True)
    unlinked = [unit for unit in after.unit_ids if unit not in call.followed.get("q", {})]
    assert unlinked == [unit for unit in before.unit_ids if unit in unlinked]


def test_of_a_document_that_was_found_the_best_chunk_is_reached():
    before = Ranking(("u3", "u1", "u0"), (3.0, 2.0, 1.0))

    call, settings = call_of({("u3", "d0")}, UNITS), LinkStage(weight=1)

    [after] = with_links(call, ["q"], [before], settings=settings)

    assert after.unit_ids[0] == "u1"


@given(RANKINGS, EDGES)
def test_scores_stay_on_the_scale_of_the_retriever(scores, edges):
    before = ranked(scores, scores=scores.values())

    [after] = with_links(call_of(edges, UNITS), ["q"], [before], settings=LinkStage())

    low, high = min(scores.values(), default=0), max(scores.values(), default=0)
    spread = high - low or high or 1
    assert all(high - spread <= score <= high + spread / 2 for score in after.scores)
    own = dict(before.entries)
    assert all(score >= own.get(unit, low - spread) for unit, score in after.entries)


def test_terms_too_short_to_be_names_join_nothing_but_their_own_synonyms():
    entries = [
        GlossaryEntry(term="PE", synonyms=["polyethylene", "polyeten"]),
        GlossaryEntry(term="PP", synonyms=["polypropylene"]),
    ]

    found = synonyms_of(Glossary(weight=0.3, entries=entries))

    assert found["polyethylene"] == found["polyeten"] != found["polypropylene"]


def test_names_of_the_glossary_and_of_elements_are_one_name():
    entries = [
        GlossaryEntry(term="stainless steel", synonyms=["rostfritt stål"]),
        GlossaryEntry(term="melting point", abbreviations=["Tmx"]),
        GlossaryEntry(term="mixing time", abbreviations=["Tmx"]),
    ]

    found = synonyms_of(Glossary(weight=0.3, entries=entries))

    assert found["rostfritt stål"] == found["stainless steel"] == "stainless steel"
    assert found["järn"] == "iron"
    assert "tmx" not in found
