from decimal import Decimal

import pyarrow as pa
import pytest
from pydantic import ValidationError

from rag_assets.citations.kinds import cited_row
from rag_assets.citations.values import exact
from rag_assets.config import Config
from rag_assets.questions.from_tables import contents_at
from rag_assets.store import Store
from rag_assets.table_lookup.plans.plan import Condition, LookupPlan
from rag_assets.table_lookup.plans.running import run_plan
from rag_assets.table_lookup.sentences import citing
from rag_assets.table_lookup.tables.catalogue import Catalogue
from rag_assets.tables import checks, table_rows
from rag_assets.tables.serialize import serialized
from rag_assets.tables.units import in_units, unit_columns
from rag_assets.tables.values import canonical
from rag_assets.terms.units import converted
from rag_assets_tests.quality.judging import failures, judged
from rag_assets_tests.tables.exported_tables import write_table

STEELS = [
    {"id": 1, "name": "S1", "strength": 72.5, "unit": "ksi", "melts": "2500 °F"},
    {"id": 2, "name": "S2", "strength": 0.4, "unit": "GPa", "melts": "1400 °C"},
    {"id": 3, "name": "S3", "strength": 480.0, "unit": "MPa", "melts": "about 1400 °C"},
    {"id": 4, "name": "S4", "strength": 7.8, "unit": "g/cm3", "melts": None},
]
UNITS = {"strength": "MPa", "melts": "°C"}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def refresh(store, **options):
    write_table(store, STEELS, headings={}, **options)
    return table_rows.refresh_rows(store, sources=["db"], log=lambda _: None)


def texts(store):
    rows = store.read("table_rows").sort_by("row_key")
    return serialized(rows, serializer="full_semantic", empty_cells="drop").rows["text"].to_pylist()


def test_a_row_shows_the_declared_unit_and_the_original_beside_it(store):
    refresh(store, units=UNITS)

    assert [text.partition(" where ")[2] for text in texts(store)] == [
        "name is S1 and strength is 499.87 MPa (72.5 ksi) and melts is 1371.111 °C (2500 °F).",
        "name is S2 and strength is 400 MPa (0.4 GPa) and melts is 1400 °C.",
        "name is S3 and strength is 480 MPa and melts [°C] is about 1400 °C.",
        "name is S4 and strength [MPa] is 7.8 g/cm3.",
    ]


def test_lookups_compare_and_sum_in_the_declared_unit_and_cite_the_original(store):
    refresh(store, units=UNITS)
    contents = contents_at(store, "db/metals")
    held = {("db", "metals"): contents}
    catalogue = Catalogue(data_version="", load=lambda: (held, ()))
    above = (Condition("strength", ">", (450,)),)

    found = run_plan(
        LookupPlan("db", "metals", where=above, operation="sum", column="strength"), catalogue
    )

    summed = citing.computed(found, catalogue)
    assert (str(summed.result), summed.unit) == ("979.87", "MPa")
    first, second = summed.inputs
    assert first.in_words == "db/metals, row 1, strength: 499.87 MPa (72.5 ksi)"
    assert (second.value, second.unit, second.original) == (480, "MPa", None)
    shown = catalogue.shown(found.table)["strength"].to_pylist()
    assert shown == ["499.87 (72.5 ksi)", "400 (0.4 GPa)", "480", "7.8 g/cm3"]
    assert "72.5 ksi" in [pair.value for pair in cited_row([first]).pairs]


@pytest.mark.parametrize(("op", "keys"), [("empty", ["4"]), ("not_empty", ["1", "2", "3"])])
def test_a_cell_that_could_not_be_converted_is_not_empty(store, op, keys):
    refresh(store, units=UNITS)
    held = {("db", "metals"): contents_at(store, "db/metals")}
    catalogue = Catalogue(data_version="", load=lambda: (held, ()))

    plan = LookupPlan("db", "metals", where=(Condition("melts", op, ()),))

    assert list(run_plan(plan, catalogue).row_keys) == keys


def test_a_declared_unit_rewrites_the_rows_of_its_table_alone_and_keeps_their_ids(store):
    write_table(store, STEELS, table="others", headings={})
    refresh(store)
    before = store.read("table_rows").sort_by("row_id")["row_id"]

    report = refresh(store, units=UNITS)

    assert (report.added, report.changed, report.unchanged) == (0, 4, 4)
    assert store.read("table_rows").sort_by("row_id")["row_id"] == before
    assert refresh(store, units={"strength": "ksi"}).changed == 4


def test_rows_with_a_value_that_cannot_be_converted_are_named(store, tmp_path):
    refresh(store, units=UNITS)
    config = Config(state_dir=tmp_path, sources={"tables": [{"name": "db", "url": "sqlite:///x"}]})

    result = judged(checks.subjects(config), store, asset="table_rows")

    assert not result.blocks
    where = {"source": "db", "table": "metals"}
    assert failures(result)["units_converted"].examples == [
        where | {"row_key": "4", "strength": "7.8 g/cm3"},
        where | {"row_key": "3", "melts": "about 1400 °C"},
    ]


@pytest.mark.parametrize(
    ("heading", "cell", "unit", "found"),
    [
        ("length (in)", 2.0, "mm", ("length [mm]", "50.8", "50.8 mm (2 in)")),
        ("length [mm]", 2.0, "mm", ("length [mm]", "2", None)),
        ("length [kg]", 2.0, "mm", ("length [kg]", "2", None)),
        ("length", 2.0, "mm", ("length", "2", None)),
        ("length", "2", "mm", ("length [mm]", "2 (no unit)", None)),
        ("length", "5 ± 1 in", "mm", ("length [mm]", "5 ± 1 in", None)),
        ("viscosity", "5 mPa*s", "Pa*s", ("viscosity [Pa*s]", "0.005", "0.005 Pa*s (5 mPa*s)")),
        ("pressure", "5 mPa", "MPa", ("pressure [MPa]", "0.000000005", "0.000000005 MPa (5 mPa)")),
        ("limit", "20 C", "K", ("limit [K]", "293.15", "293.15 K (20 C)")),
        ("temperature rise [°F]", 18.0, "°C", ("temperature rise [°C]", "10", "10 °C (18 °F)")),
        ("ΔT", "10 K", "°C", ("ΔT [°C]", "10", "10 °C (10 K)")),
        ("ΔT", "18 °F", "K", ("ΔT [K]", "10", "10 K (18 °F)")),
        ("speed", "60 rpm", "Hz", ("speed [Hz]", "60 rpm", None)),
        ("speed", "30 rpm", "rad/s", ("speed [rad/s]", "3.14159", "3.14159 rad/s (30 rpm)")),
    ],
)
def test_the_unit_is_that_of_the_cell_or_of_the_heading(heading, cell, unit, found):
    column = pa.table({"c": [cell]})
    units = unit_columns(column.schema, [heading], {"c": unit})
    none = pa.nulls(1, pa.list_(pa.string()))

    [values], shown = in_units(units, [canonical(column["c"].combine_chunks())], none)

    of_column = units[0].heading if units else heading
    assert (of_column, values.text[0].as_py(), (shown[0].as_py() or [None])[0]) == found


@pytest.mark.parametrize(
    ("cell", "decimal", "found"),
    [
        ("1.250 kPa", None, "1.25"),
        ("1.250 kPa", "comma", "1250"),
        ("1,250 kPa", None, "1,250 kPa"),
        ("1,250 kPa", "point", "1250"),
        ("1,250 kPa", "comma", "1.25"),
        ("0.250 kPa", "comma", "0.25"),
        (1.125, "comma", "1.125"),
    ],
)
def test_a_number_of_a_text_that_may_be_either_of_two_is_read_as_its_table_is(cell, decimal, found):
    column = pa.table({"c": [cell]})
    units = unit_columns(column.schema, ["pressure [kPa]"], {"c": "kPa"}, decimal)
    none = pa.nulls(1, pa.list_(pa.string()))

    [values], _ = in_units(units, [canonical(column["c"].combine_chunks())], none)

    assert values.text[0].as_py() == found


def test_columns_that_share_a_column_of_units_are_all_converted():
    columns = pa.table({"least": [10.0], "most": [20.0], "unit": ["ksi"]})
    declared = {"least": "MPa", "most": "MPa"}
    units = unit_columns(columns.schema, columns.column_names, declared)
    values = [canonical(each.combine_chunks()) for each in columns.columns]

    moved, _ = in_units(units, values, pa.nulls(1, pa.list_(pa.string())))

    assert [each.text[0].as_py() for each in moved] == ["68.9476", "137.895", None]


@pytest.mark.parametrize("asked", ["72.5", "72.50", "72.6"])
def test_a_number_of_a_question_is_equal_to_the_same_number_of_a_cell(asked):
    column = pa.table({"c": [float(asked)]})
    units = unit_columns(column.schema, ["strength [ksi]"], {"c": "MPa"})
    none = pa.nulls(1, pa.list_(pa.string()))

    [values], _ = in_units(units, [canonical(column["c"].combine_chunks())], none)

    assert converted(exact(Decimal(asked)), "ksi", "MPa") == Decimal(values.text[0].as_py())


def test_a_unit_that_nobody_knows_is_refused():
    with pytest.raises(ValidationError, match=r"strength: 'foo' is no unit"):
        Config.model_validate(
            {
                "sources": {
                    "tables": [
                        {"url": "x", "tables": [{"name": "t", "units": {"strength": "foo"}}]}
                    ]
                }
            }
        )
