import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_assets import schemas
from rag_assets.config import Config
from rag_assets.retrieval.filters import Filters
from rag_assets.store import Store
from rag_assets_tests.retrieval.corpus import VARIANT, chunk, random_vectors, row, write

NASTY = [
    "plain",
    "Plain",
    "it's",
    "' OR '1' = '1",
    "'; DELETE FROM units; --",
    'a "quoted" name',
    "100 %",
    "under_score",
    "back\\slash",
    "`tick`",
    "new\nline",
    "tab\t",
    "nul\x00l",
    "ångström Å Å",
    "鋼 > 板",
    "2 Methods",
    "2 Methods > 2.1 Heat's",
    "2 Methods > 2.1 Heat's > deep",
    "2 Methodsology",
    "{}",
    "$1",
    "--",
    "/* */",
]
UNITS = [
    unit
    for place, name in enumerate(NASTY)
    for unit in (
        chunk(
            f"chunk {place}",
            unit_id=f"c{place}",
            source=name,
            uri=name,
            section=name,
            type=schemas.UNIT_TYPES[place % 4],
            language=name,
            fields=[f"number: {name}", "title: all"] if place % 3 else None,
        ),
        row(f"row {place}", table=name, key="1", unit_id=f"r{place}", source=name),
    )
]
VALUE = st.sampled_from(NASTY) | st.text(min_size=1).filter(str.strip)
PLACE = st.builds("{}/{}".format, VALUE, VALUE | st.just("")).filter(
    lambda place: place.partition("/")[0].strip()
)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    config = Config(state_dir=tmp_path_factory.mktemp("state"))
    store = Store(config.state_dir)
    write(store, config, UNITS, random_vectors(len(UNITS)))
    return store.open(config.tables_of(VARIANT).joint).to_lance()


def allowed_by(filters, unit) -> bool:
    """What `filters` mean, in Python."""
    section = filters.section
    return (
        all(
            wanted is None or unit.get(column) == wanted
            for column in ("domain", "source", "uri", "table", "type", "language")
            for wanted in [getattr(filters, column)]
        )
        and (
            (section is None or unit["section"] == section)
            or unit["section"].startswith(section + " > ")
        )
        and set(filters.fields) <= set(unit.get("fields") or ())
        and unit["unit_id"] not in (filters.without or ())
        and filters.covers(unit["source"], unit["table"] or unit["uri"])
    )


@given(
    filters=st.builds(
        Filters,
        domain=st.none() | st.sampled_from(["document", "table"]),
        source=st.none() | VALUE,
        uri=st.none() | VALUE,
        section=st.none() | VALUE,
        table=st.none() | VALUE,
        type=st.none() | st.sampled_from(schemas.UNIT_TYPES),
        language=st.none() | VALUE,
        fields=st.lists(VALUE.map("number: {}".format) | st.just("title: all"), max_size=2).map(
            tuple
        ),
        within=st.lists(PLACE, max_size=3).map(tuple),
        without=st.none() | st.frozensets(st.sampled_from([unit["unit_id"] for unit in UNITS])),
    )
)
@example(filters=Filters(without=frozenset({"c0", "no such unit", "'; --"})))
@example(filters=Filters(section="2 Methods"))
@example(filters=Filters(source="' OR '1' = '1", domain="table"))
@example(filters=Filters(fields=("title: all", "number: ' OR '1' = '1")))
@example(filters=Filters(within=("plain/plain", "it's/", "tab\t/none", "Plain/plain")))
@example(filters=Filters(uri="lone surrogate \ud800"))
def test_a_filter_lets_through_what_it_names_and_nothing_else(dataset, filters):
    found = dataset.to_table(columns=["unit_id"], filter=filters.condition())

    expected = {unit["unit_id"] for unit in UNITS if allowed_by(filters, unit)}
    assert set(found["unit_id"].to_pylist()) == expected


def test_no_filter_is_no_condition():
    assert Filters().condition() is None


@pytest.mark.parametrize("name", ["domain", "source", "uri", "section", "table", "language"])
def test_a_blank_filter_is_refused_by_name(name):
    with pytest.raises(ValueError, match=f"filter {name} is blank"):
        Filters(**{name: "  "})


def test_an_unknown_domain_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match=r"'tables'.*document or table"):
        Filters(domain="tables")


def test_an_unknown_type_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match="'picture': there is only text or table or figure"):
        Filters(type="picture")


@pytest.mark.parametrize("entry", ["", "ISO 527", "number:ISO 527", ": ISO 527", "number:  "])
def test_a_field_without_name_or_value_is_refused(entry):
    with pytest.raises(ValueError, match="'name: value'"):
        Filters(fields=(entry,))


def test_a_scope_holds_documents_tables_and_all_below_a_folder():
    scope = Filters(within=("papers/a.md", "lab/", "papers/old/"))
    inside = [("papers", "a.md"), ("papers", "old/b.md"), ("lab", "tests"), ("lab", "old/tests")]
    outside = [("papers", "a.md.bak"), ("paper", "s/a.md"), ("labs", "tests"), ("other", "a.md")]
    assert [each for each in (*inside, *outside) if scope.covers(*each)] == inside
    assert Filters().covers("papers", "a.md")


@pytest.mark.parametrize("place", ["", "a.md", " /a.md", "/a.md"])
def test_a_place_without_its_source_is_refused(place):
    with pytest.raises(ValueError, match="'source/document'"):
        Filters(within=(place,))
