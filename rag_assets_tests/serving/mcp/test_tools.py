"""Each tool says what the library says, over both transports, within its budget."""

import base64
import json

import pytest

from rag_assets.answering.assistant import Assistant
from rag_assets.retrieval.filters import Filters
from rag_assets.store import Store, serving_pointer
from rag_assets_tests.serving.mcp.conftest import LONG, PARTS, RODS

TOOLS = "search fetch count grep lookup outline verify status view_page"
STIFFNESS = "How stiff is the spring?"
ALLOYS = {"source": "laboratory", "table": "alloys"}
ROD_PLAN = {"source": "laboratory", "table": "test_rods"}


def test_the_tools_are_read_only_typed_and_cheap_to_list(call):
    tools = call.ask("list_tools").tools
    assert {each.name for each in tools} == {*TOOLS.split()}
    assert all(each.annotations.read_only_hint for each in tools)
    assert [each.name for each in tools if each.output_schema is None] == ["view_page"]
    read = [json.dumps(each.input_schema) + each.description for each in tools]
    assert sum(map(len, read)) < 12_000


def test_a_search_is_that_of_the_library(call):
    found = call("search", query=STIFFNESS, k=3)["results"]
    wanted = Assistant(Store.of(call.config), call.config).search(STIFFNESS, top_k=3)
    assert [each["id"] for each in found] == [hit.unit_id for hit in wanted]
    assert found[0]["place"] == "spring.md, Springs"
    within = call("search", query="red", domain="document", within=["documents/spring.md"])
    assert {each["title"] for each in within["results"]} == {"spring.md"}


def test_the_pages_of_a_search_are_one_ranking(call):
    pages = call.pages("search", "results", query="needle rod", k=30)
    wanted = Assistant(Store.of(call.config), call.config).search("needle rod", top_k=100)
    assert [each["id"] for each in pages] == [hit.unit_id for hit in wanted]


def test_a_unit_is_fetched_as_hosted_connectors_ask_for_it(call):
    [hit] = call("search", query=STIFFNESS, k=1)["results"]
    unit = call("fetch", id=hit["id"])
    assert {"id", "title", "text", "url", "metadata"} <= unit.keys()
    assert unit["text"].endswith("Its stiffness is 12 N/mm. The paint is red.")
    assert (unit["url"], unit["id"]) == (hit["url"], hit["id"])
    [told] = call.ask("read_resource", f"rag://u/{hit['id']}?v=1").contents
    assert json.loads(told.text) == unit


def test_a_long_text_comes_in_parts(call):
    rows = call(
        "lookup",
        plan={**ROD_PLAN, "where": [{"column": "note", "op": "contains", "values": ["quoted"]}]},
    )
    [row] = rows["rows"]
    parts, cursor = [], ""
    while cursor is not None:
        part = call("fetch", id=row["id"], max_tokens=600, cursor=cursor)
        parts.append(part["text"])
        cursor = part["next_cursor"]
    assert len(parts) > 3
    whole = call("fetch", id=row["id"], max_tokens=20_000)
    assert whole["next_cursor"] is None
    assert "".join(parts) == whole["text"]
    assert whole["text"].count("quoted") == LONG.count("quoted")


def test_documents_and_rows_that_mention_a_text_are_counted_exactly(call):
    counted = call("count", text="rod")
    assert (counted["documents"], counted["rows"]) == (0, RODS - 1)
    counted = call("count", text="needle", max_tokens=500)
    assert (counted["documents"], counted["rows"], counted["times"]) == (1, 0, PARTS)
    [source] = counted["mentioning"]
    assert (source["title"], source["times"]) == ("needles.md", PARTS)
    assert call("count", text="need")["times"] == 0
    assert call("count", text="need", whole_words=False)["times"] == PARTS + 1  # and the title
    listed = call.pages("count", "mentioning", text="rack", max_tokens=500)
    assert len({each["id"] for each in listed}) == len(listed) == RODS - 1


def test_every_place_is_told_once_over_all_pages(call):
    places = call.pages("grep", "places", pattern=r"part (\d+) is", is_pattern=True, max_tokens=800)
    assert [each["match"] for each in places] == [f"part {n} is" for n in range(PARTS)]
    assert all(each["match"] in each["line"] for each in places)
    assert call("grep", pattern="PART 7 IS")["total"] == 1
    assert call("grep", pattern="PART 7 IS", same_case=True)["places"] == []


def test_a_plan_is_validated_and_run(call):
    heavy = {**ALLOYS, "where": [{"column": "density", "op": ">", "values": [5]}]}
    found = call("lookup", plan=heavy)
    assert (found["columns"], [each["cells"] for each in found["rows"]]) == (
        ["name", "density"],
        [["Invar", 8.05]],
    )
    counting = call("lookup", plan={**ALLOYS, "operation": "count"})
    assert "3" in counting["sentences"][0]["text"]
    listed = call.pages("lookup", "rows", plan=ROD_PLAN, max_tokens=500)
    assert [each["row_key"] for each in listed] == [str(n + 1) for n in range(RODS)]


def test_a_question_to_the_tables_gives_its_plan(call):
    found = call("lookup", question="What is the density of Invar?")
    assert found["sentences"][0]["text"] == "Invar: density 8.05."
    assert "column=density" in found["sentences"][0]["urls"][0]
    assert call("lookup", plan=found["plan"])["rows"] == found["rows"]


def test_the_schema_of_tables_is_a_resource(call):
    [resource] = call.ask("list_resources").resources
    [told] = call.ask("read_resource", str(resource.uri)).contents
    tables = {each["table"]: each for each in json.loads(told.text)["entries"]}
    assert [each["name"] for each in tables["alloys"]["columns"]] == ["name", "density"]


def test_the_outline_leads_from_sources_to_headings_and_columns(call):
    places = {each["place"] for each in call.pages("outline", "entries", max_tokens=500)}
    assert {"documents/needles.md", "laboratory/test_rods"} <= places
    headings = call.pages("outline", "entries", place="documents/needles.md", max_tokens=500)
    parts = [f"Part {n}" for n in range(PARTS)]
    assert [each["title"] for each in headings] == ["needles.md", "Needles", *parts]
    assert "Part 77" in call("fetch", id=headings[79]["id"])["text"]
    columns = call("outline", place="laboratory/test_rods")["columns"]
    assert (columns[0]["name"], columns[0]["maximum"]) == ("mm", (RODS - 1) / 2)


def test_a_text_is_checked_against_what_it_cites(call):
    text = "It is 12 N/mm [1]. It is 13 N/mm [1].\n\nSources:\n1. spring.md"
    found = call("verify", text=text)
    assert [each["not_in_sources"] for each in found["sentences"]] == [False, True]
    assert "13 N/mm" in found["sentences"][1]["against"][0]


def test_the_status_says_what_is_indexed_and_how_fresh_it_is(call):
    found = call("status", max_tokens=500)
    assert (found["documents"], found["tables"], found["problems"]) == (5, 3, 0)
    assert {each["name"] for each in found["sources"]} == {"documents", "laboratory"}
    assert all(each["readable"] and each["last_read"] for each in found["sources"])


def test_a_page_is_a_picture(call):
    [hit, *_] = call("search", query="welds of frame rails", k=1)["results"]
    [content] = call.reply("view_page", id=hit["id"], dpi=40).content
    assert content.mime_type == "image/png"
    assert base64.b64decode(content.data).startswith(b"\x89PNG")


def test_what_a_client_gave_at_length_is_not_told_to_it_again(call):
    names = {"column": "name", "op": "in", "values": ["Invar", *["x" * 100] * 400]}
    plan = {**ALLOYS, "where": [names], "operation": "count"}
    [sentence] = call("lookup", plan=plan, max_tokens=500)["sentences"]
    assert "1" in sentence["text"]


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("nothing", {}, "there are search, fetch"),
        ("search", {}, "query: it is missing"),
        ("search", {"query": "x", "limit": 3}, "it has query, k"),
        ("search", {"query": "x", "domain": "rows"}, "'document' or 'table'"),
        ("search", {"query": "x", "within": ["nowhere/"]}, "there are: documents, laboratory"),
        ("search", {"query": "x", "max_tokens": 1}, "greater than or equal to 500"),
        ("search", {"query": "x", "cursor": "x"}, "leave it out"),
        ("fetch", {"id": "'; DROP"}, "an id looks like"),
        ("fetch", {"id": "0000"}, "shows the id of each hit"),
        ("grep", {"pattern": "(?=x)", "is_pattern": True}, "no look-around"),
        ("lookup", {}, "a question or a plan"),
        (
            "lookup",
            {"plan": {"source": "laboratory", "tabel": "alloys"}},
            "there are source, table",
        ),
        ("lookup", {"plan": {**ALLOYS, "columns": ["colour"]}}, "it has id, name, density"),
        ("lookup", {"plan": {**ALLOYS, "table": "1; DROP"}}, "there are laboratory/alloys"),
        ("outline", {"place": "documents/none.md"}, "without a place lists all"),
        ("verify", {"text": "x", "judge": True}, "names no judge"),
        ("view_page", {"id": "0000"}, "shows the id of each hit"),
    ],
)
def test_what_is_wrong_is_refused_with_what_is_allowed(call, tool, arguments, says):
    assert says in call.refused(tool, **arguments)


def test_a_cursor_belongs_to_its_call_and_its_index(call):
    asked = {"pattern": "needle", "max_tokens": 500}
    cursor = call("grep", **asked)["next_cursor"]
    assert call("grep", **asked, cursor=cursor)["places"]
    assert "the same arguments" in call.refused("grep", pattern="red", cursor=cursor)
    store = Store.of(call.config)
    file = store.root / "serving" / "current.json"
    before = file.read_bytes()
    pointer = serving_pointer.current(store)
    serving_pointer.move(store, pointer, after=pointer.number)
    try:
        told = call.refused("grep", **asked, cursor=cursor)
    finally:
        file.write_bytes(before)
    assert f"version {pointer.number}" in told
    assert f"version {pointer.number + 1} serves now: leave it out" in told
    assert call("grep", **asked, cursor=cursor)["places"]


def test_addresses_of_cards_lead_to_the_server_or_to_a_resource(call):
    [hit] = call("search", query=STIFFNESS, k=1)["results"]
    assert hit["url"].endswith(f"/u/{hit['id']}?v=1")
    assert hit["url"].startswith(("http://127.0.0.1:", "rag://u/"))


def test_filters_by_place_are_those_of_the_library(call):
    rods = call("count", text="rod", whole_words=False, within=["laboratory/test_rods"])["rows"]
    index = Assistant(Store.of(call.config), call.config).index
    units = index.select(Filters(within=("laboratory/test_rods",)), ["text"], most=1_000)
    assert rods == sum("rod" in text for text in units["text"].to_pylist())
