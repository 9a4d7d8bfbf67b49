"""Any dlt source as tables: pages of an interface, databases, rows that a program yields."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import dagster as dg
import pytest
import sqlalchemy as sa

from rag_assets import config
from rag_assets.graph import STEPS
from rag_assets.identity import fingerprint
from rag_assets.sources.assets import definitions
from rag_assets.sources.dlt_tables import DltTables, dlt_source, remove_unnamed
from rag_assets.sources.exports import refresh_exports
from rag_assets.sources.planned import planned_exports
from rag_assets.sources.source_locations import SourceError
from rag_assets.store import Store
from rag_assets_testing import mariadb
from rag_assets_testing.exported import rows, rows_of, said, table_in

FEED = """
import json
from pathlib import Path

import dlt


@dlt.resource(%s)
def orders(changed=dlt.sources.incremental("changed", initial_value=0)):
    for row in json.loads(Path(__file__).with_name("orders.json").read_text()):
        if row is None:
            raise ValueError("the third order has no number")
        yield row


number = 7
"""
MERGED = 'primary_key="id", write_disposition="merge"'
INTERFACE = """
from dlt.sources.rest_api import rest_api_source

def shop():
    return rest_api_source({
        "client": {
            "base_url": "%s",
            "paginator": {"type": "json_link", "next_url_path": "next"},
        },
        "resource_defaults": {"primary_key": "id", "write_disposition": "merge"},
        "resources": [{
            "name": "orders",
            "endpoint": {
                "path": "orders",
                "data_selector": "data",
                "params": {"since": "{incremental.start_value}"},
                "incremental": {"cursor_path": "changed", "initial_value": 0},
            },
        }],
    })
"""
DATABASE = """
from dlt.sources.sql_database import sql_database

def plant():
    return sql_database("%s", schema=%r, table_names=["parts"])
"""
KILLED = """
import os, signal, sys
from pathlib import Path

from dlt.load import Load

from rag_assets import config
from rag_assets.sources.exports import refresh_exports
from rag_assets.store import Store

Load.complete_package = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
folder = Path(sys.argv[1])
[source] = config.load(folder / "rag_assets.yaml").sources.tables
refresh_exports(Store(folder / "state"), source, allow_shrink=False, log=print)
"""


class Project:
    """A folder with a config, the module that its dlt source is taken from, and its orders."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.module = folder.name
        self.store = Store(folder / "state")

    def write(self, code: str) -> None:
        (self.folder / f"{self.module}.py").write_text(code)
        sys.modules.pop(self.module, None)

    def write_orders(self, *orders: dict | None) -> None:
        (self.folder / "orders.json").write_text(json.dumps(orders))

    def source(self, name: str = "orders", *, incremental: bool = True):
        entry = {"name": "shop", "dlt": f"{self.module}:{name}", "incremental": incremental}
        file = self.folder / "rag_assets.yaml"
        file.write_text(json.dumps({"defaults": 3, "sources": {"tables": [entry]}}))
        [source] = config.load(file).sources.tables
        return source

    def refresh(self, name: str = "orders", *, incremental: bool = True, log=lambda _: None):
        source = self.source(name, incremental=incremental)
        done = refresh_exports(self.store, source, allow_shrink=False, log=log)
        return {item.table: item for item in done}

    def held(self, table: str = "orders") -> list[dict]:
        return rows_of(table_in(self.store, "shop", table))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # or an edit within a second is missed
    return Project(tmp_path)


def order(number: int, changed: int, **cells: object) -> dict:
    return {"id": number, "changed": changed, "part": f"P-{number}", **cells}


class Interface(ThreadingHTTPServer):
    """Hands out its orders in pages of two."""

    orders: list[dict]
    asked: list[str]

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Pages)
        self.orders, self.asked = [], []
        self.url = f"http://127.0.0.1:{self.server_port}/"


class Pages(BaseHTTPRequestHandler):
    server: Interface

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        given = parse_qs(urlparse(self.path).query)
        since, page = (int(given.get(name, ["0"])[0]) for name in ("since", "page"))
        fitting = [each for each in self.server.orders if each["changed"] >= since]
        more = f"{self.server.url}orders?since={since}&page={page + 1}"
        body = {
            "data": fitting[2 * page : 2 * page + 2],
            "next": more if len(fitting) > 2 * page + 2 else None,
        }
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def interface() -> Iterator[Interface]:
    with Interface() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_all_pages_are_rows_and_a_refresh_asks_for_what_is_new(project, interface):
    project.write(INTERFACE % interface.url)
    interface.orders = [
        order(n, n, lines=[{"sku": "x", "count": n}] * (n % 3)) for n in range(1, 6)
    ]
    first = project.refresh("shop")
    in_pages = len(interface.asked)
    interface.orders[0] |= {"part": "changed", "changed": 6, "lines": [{"sku": "y", "count": 9}]}
    interface.orders.append(order(6, 7))
    asked = interface.asked = []
    [planned, *_] = planned_exports(project.store, project.source("shop"))
    again = project.refresh("shop")

    assert (in_pages, len(first)) == (3, 2)
    assert (planned.export.report.added, planned.export.report.changed) == (1, 1)
    assert asked == ["/orders?since=5", "/orders?since=5&page=1"] * 2
    assert (again["orders"].report.added, again["orders"].report.changed) == (1, 1)
    without = [{k: v for k, v in each.items() if k != "lines"} for each in interface.orders]
    assert project.held() == sorted(without, key=lambda each: each["id"])
    lines = [
        (each["id"], place, *line.values())
        for each in interface.orders
        for place, line in enumerate(each.get("lines", ()))
    ]
    assert [tuple(row.values()) for row in project.held("orders__lines")] == sorted(lines)
    about = table_in(project.store, "shop", "orders__lines").about
    assert list(about.key) == ["orders__id", "orders__lines__place"]
    assert [dict(each) for each in about.foreign_keys] == [
        {"columns": ["orders__id"], "table": "orders", "others": ["id"]}
    ]


def test_a_broken_row_and_a_broken_contract_take_nothing_and_lose_nothing(project):
    contract = 'schema_contract={"columns": "evolve", "data_type": "freeze"}'
    project.write(FEED % f"{MERGED}, {contract}")
    orders = [order(1, 1), order(2, 2, weight=1.5)]
    project.write_orders(*orders)
    project.refresh()
    orders += [order(3, 3, colour="red"), order(4, 4)]
    project.write_orders(orders[2], None, orders[3])
    broken = project.refresh()["orders"].report.failures[0].reason
    project.write_orders(orders[2] | {"weight": "heavy"})
    unlike = project.refresh()["orders"].report.failures[0].reason
    held = project.held()
    project.write_orders(*orders)
    mended = project.refresh()

    assert "the third order has no number" in broken
    assert "weight" in unlike
    assert "data_type" in unlike
    assert held == [{**each, "weight": each.get("weight")} for each in orders[:2]]
    assert mended["orders"].schema_changes == ["column colour was added"]
    assert project.held() == [{"weight": None, "colour": None} | each for each in orders]


def test_a_killed_load_is_as_if_it_had_not_been(project):
    project.write(FEED % 'write_disposition="append"')
    project.write_orders(order(1, 1), order(2, 2))
    project.refresh()
    project.write_orders(order(2, 3, part="again"), order(3, 4))
    project.source()
    command = [sys.executable, "-c", KILLED, str(project.folder)]
    killed = subprocess.run(command, check=False, capture_output=True)
    held = project.held()
    project.refresh()

    assert killed.returncode == -signal.SIGKILL
    assert len(held) == 2
    # dlt appends: what the source tells of no more stays, and so does the former state of a row
    assert [(row["id"], row["part"]) for row in project.held()] == [
        (1, "P-1"),
        (2, "P-2"),
        (2, "again"),
        (3, "P-3"),
    ]


def test_what_a_cursor_missed_comes_when_all_is_read(project):
    project.write(FEED % MERGED)
    project.write_orders(order(1, 5), order(2, 6))
    project.refresh()
    orders = [order(2, 6), order(3, 4)]  # one was deleted, one is older than the cursor
    project.write_orders(*orders)
    by_cursor = rows(project.refresh()["orders"])
    whole = project.refresh(incremental=False)["orders"]
    project.write_orders(*orders, order(4, 5))
    project.refresh()

    assets = definitions(config.load(project.folder / "rag_assets.yaml"), STEPS).assets or ()
    metadata = {key: told for each in assets for key, told in each.metadata_by_key.items()}
    told = metadata[dg.AssetKey(["exports", "shop"])]

    assert "hard_delete" in told["rows deleted at the source"]
    assert [row["id"] for row in by_cursor] == [1, 2]
    assert (whole.report.added, whole.report.removed) == (1, 1)
    assert rows(whole) == project.held() == orders


@pytest.fixture(params=["postgresql", "mariadb"])
def plant(request) -> Iterator[tuple[sa.Engine, str | None]]:
    if request.param == "postgresql":
        sandbox = request.getfixturevalue("sandbox")
        yield sandbox.engine, sandbox.schema
        return
    with mariadb.running() as server:
        yield server.engine, None


def test_tables_that_dlt_reads_from_a_database_are_its_rows(project, plant):
    engine, schema = plant
    url = engine.url.render_as_string(hide_password=False)
    project.write(DATABASE % (url, schema))

    def run(*statements: str) -> list[dict]:
        with engine.begin() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)
            found = connection.exec_driver_sql("SELECT * FROM parts ORDER BY id")
            return [dict(row._mapping) for row in found]

    there = run(
        "CREATE TABLE parts (id INT PRIMARY KEY, mass DECIMAL(9, 3), made DATE, name VARCHAR(20))",
        "INSERT INTO parts VALUES (1, 1.250, '2024-02-29', 'bolt'), (2, NULL, NULL, 'Mütze')",
    )
    project.refresh("plant", incremental=False)
    held = project.held("parts")
    now = run("UPDATE parts SET mass = 2 WHERE id = 1", "DELETE FROM parts WHERE id = 2")
    again = project.refresh("plant", incremental=False)["parts"]

    assert held == there
    assert project.held("parts") == now
    assert (again.report.changed, again.report.removed) == (1, 1)
    assert said(again.exported)["key"] == ["id"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("order", "has no order; did you mean orders?"),
        ("number", "is no dlt source or resource, and makes none, but int"),
    ],
)
def test_what_is_no_source_is_named(project, name, told):
    project.write(FEED % MERGED)

    [failed] = project.refresh(name).values()

    assert told in failed.report.failures[0].reason


def test_a_module_that_is_missing_is_named(project):
    [failed] = project.refresh().values()

    reason = failed.report.failures[0].reason
    assert f"{project.module}:orders cannot be loaded (no such module)" in reason
    assert f"or put it into {project.folder}" in reason


def test_a_module_of_the_same_name_beside_another_config_is_not_taken_for_it(project):
    project.write(FEED % MERGED)
    dlt_source(f"{project.module}:orders", folder=project.folder, name="shop")
    other = project.folder / "other"
    other.mkdir()
    (other / f"{project.module}.py").write_text(FEED % MERGED)

    with pytest.raises(SourceError, match=f"and not {other}.*rename it"):
        dlt_source(f"{project.module}:orders", folder=other, name="shop")


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("yield {'id': 2**70}", "64-bit range; hand so large a number over as a text"),
        ("raise ValueError('no page')", "orders: no page"),
        ("raise ValueError('these pages are gone:\\n\\n - 7\\n')", "pages are gone: - 7)"),
    ],
)
def test_what_cannot_be_loaded_is_named(project, code, told):
    project.write(f"import dlt\n\n@dlt.resource\ndef orders():\n    {code}\n    yield")
    source = project.source().model_copy(update={"name": "2024-orders"})  # no Python name

    with pytest.raises(SourceError, match=re.escape(told)):
        DltTables(source, project.store, work=project.folder).names()


def test_what_was_loaded_of_a_source_that_is_gone_from_the_config_goes_in_time(project):
    source = project.source()
    digest = fingerprint(source.dlt)[:8]
    folder = project.store.root / "dlt"
    folder.mkdir(parents=True)
    gone, lately, named = (folder / f"{name}-{digest}.duckdb" for name in ("crm", "erp", "shop"))
    for file in (gone, lately, named):
        file.write_bytes(b"rows")
    for file in (gone, named):
        os.utime(file, (0, 0))
    loaded = config.load(project.folder / "rag_assets.yaml")

    freed = remove_unnamed(project.store, loaded, keep_days=7)

    assert freed == 4
    assert {*folder.iterdir()} == {lately, named}
