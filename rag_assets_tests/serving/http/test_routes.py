"""Each route says what the command line says, and names the index version that answered."""

import io
import json
import re
import zipfile

import pytest
from anyio.to_thread import current_default_thread_limiter
from starlette.testclient import TestClient

from rag_assets import config as configuration
from rag_assets.answering.answer import from_json
from rag_assets.answering.assistant import AnswerModels
from rag_assets.config import Config
from rag_assets.findings.finding import Finding
from rag_assets.media.json_lines import append
from rag_assets.questions.from_answers import id_of
from rag_assets.serving import cli, state_status
from rag_assets.serving.callers import person_here
from rag_assets.serving.http.app import app_of
from rag_assets.serving.http.limits import VERSION
from rag_assets.serving.http.routes.answering import DOCX
from rag_assets.serving.replies import PARTLY
from rag_assets.store import serving_pointer

SPRING = "What is the stiffness of the spring?"
DENSITY = "What is the density of Invar?"
LINKS = re.compile(r'(?:src|href|action|hx-get|hx-post|hx-delete|sse-connect)="(/[^"]*)"')
EVENTS = {"Accept": "text/event-stream"}


def events_of(text):
    """Number, name and data of each event."""
    found = []
    for block in text.split("\r\n\r\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "data" in fields:
            found.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
    return found


def test_a_search_is_that_of_the_library(post, service):
    found = post("search", query=SPRING, top_k=2, explain=True)
    opened = service.served.now()
    wanted = opened.assistant.search(SPRING, top_k=2)
    assert [each["unit_id"] for each in found["hits"]] == [each.unit_id for each in wanted]
    assert found["hits"][0]["stages"].keys() == wanted[0].arms.keys()
    assert found["index_version"] == opened.index_version == "1"


def test_filters_of_a_search_are_those_of_the_library(post):
    filters = {"domain": "document", "uri": "spring.md", "versions": "all"}
    assert {each["uri"] for each in post("search", query=SPRING, filters=filters)["hits"]} == {
        "spring.md"
    }
    assert not post("search", query=SPRING, filters={"fields": ["number: 1"]})["hits"]


@pytest.mark.parametrize("filters", [{"source": "nowhere"}, {"table": "nowhere"}])
def test_a_filter_that_names_what_is_nowhere_is_refused_with_what_there_is(post, filters):
    known = "laboratory" if "source" in filters else "alloys"
    problems = [
        post("search", 422, query=SPRING, filters=filters),
        post("answers", 422, question=SPRING, filters=filters),
        post("reports", 422, prompt=SPRING, filters=filters),
    ]
    assert all(known in each["detail"] for each in problems)


def test_an_answer_is_kept_as_yours(post, get):
    found = post("answers", question=DENSITY)
    assert from_json(found["answer"]).outcome == "computed"
    assert get("history")["answers"][0]["answer_id"] == found["id"]


def test_an_answer_comes_as_events_in_their_order(client, post):
    reply = client.post("/v1/answers", json={"question": DENSITY}, headers=EVENTS)
    assert reply.headers["content-type"].startswith("text/event-stream")
    events = events_of(reply.text)
    assert [name for _, name, _ in events] == ["plan", "cards", "sentence", "done"]
    assert events[0][2]["index_version"] == events[-1][2]["index_version"] == "1"
    whole = post("answers", question=DENSITY)["answer"]
    assert events[2][2]["sentence"]["text"] == whole["sentences"][0]["text"]
    assert events[3][2]["answer"]["sentences"] == whole["sentences"]


def test_a_client_that_lost_its_line_misses_and_repeats_nothing(client):
    first = client.post("/v1/answers", json={"question": SPRING}, headers=EVENTS)
    place = first.headers["content-location"]
    rest = client.get(place, headers={"Last-Event-ID": "2"})
    assert events_of(rest.text) == events_of(first.text)[2:]
    assert client.get(place, headers={"Last-Event-ID": "9" * 5_000}).status_code == 422
    assert client.get("/v1/streams/nothing").status_code == 404


def test_what_fails_on_its_way_is_told_as_an_event(client):
    body = {"question": SPRING, "retriever": "oracle"}
    *_, (_, name, problem) = events_of(client.post("/v1/answers", json=body, headers=EVENTS).text)
    assert (name, problem["status"]) == ("failed", 422)
    assert "oracle" in problem["detail"]


def test_a_follow_up_goes_on_a_kept_answer_of_yours_alone(post, app, monkeypatch):
    first = post("answers", question=DENSITY)
    second = post("answers", question="And of AlMg3?", after=first["id"])
    assert "density" in second["answer"]["read_as"]
    monkeypatch.setattr(app.state.admission, "person", person_here("somebody else"))
    problem = post("answers", 404, question="And of AlMg3?", after=first["id"])
    assert first["id"] in problem["detail"]


def test_a_question_to_the_tables_gives_typed_rows_and_a_plan_to_go_on_with(post):
    found = post("lookup", question="Which alloys have a density above 2?", limit=1)
    assert found["rows"]["total"] == 2, found
    [row] = found["rows"]["entries"]
    plan = {**found["found"]["plan"], "columns": ["name", "density"]}
    again = post("lookup", plan=plan, limit=1, offset=1)
    [other] = again["rows"]["entries"]
    assert other["row_key"] != row["row_key"]
    assert [type(cell) for cell in other["cells"]] == [str, float]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "question or a plan"),
        ({"plan": {"source": "laboratory", "tabel": "alloys"}}, "no field 'tabel'"),
        ({"plan": {"source": "laboratory", "table": "alloys", "where": "1=1"}}, "list"),
        ({"plan": {"source": ""}}, "plan: lookup plan: source"),
    ],
)
def test_a_lookup_that_cannot_be_read_is_refused_with_the_reason(post, body, says):
    assert says in post("lookup", 422, **body)["detail"]


def test_tables_tell_their_columns_values_and_rows(get, post):
    named = {"source": "laboratory", "table": "alloys"}
    [table] = get("tables", **named)["entries"]
    assert {each["name"]: each["is_numeric"] for each in table["columns"]}["density"]
    values = get("tables/values", **named, column="name", limit=2)
    assert values["total"] == 3
    assert len(values["entries"]) == 2
    light = {"column": "density", "op": "<", "values": [5]}
    rows = post("tables/rows", **named, where=[light], columns=["name", "density"])
    assert [each["cells"] for each in rows["entries"]] == [["AlMg3", 2.66]]
    ordered = post("tables/rows", **named, order_by="density", descending=True, columns=["name"])
    assert [each["cells"] for each in ordered["entries"]] == [["Invar"], ["AlMg3"], ["Brass"]]


def test_a_name_in_a_plan_is_never_read_as_sql(post):
    hostile = 'name" = name OR "1"="1'
    where = [{"column": hostile, "op": "=", "values": ["x"]}]
    found = post("tables/rows", 422, source="laboratory", table="alloys", where=where)
    assert "no column" in found["detail"]
    where = [{"column": "name", "op": "=", "values": ["' OR 1=1 --"]}]
    assert post("tables/rows", source="laboratory", table="alloys", where=where)["total"] == 0


def test_a_unit_has_its_neighbours_and_its_way(post, get):
    row = post("search", query=DENSITY, filters={"table": "alloys"})["hits"][0]
    found = get(f"units/{row['unit_id'][:8]}", neighbours=2)
    assert found["unit_id"] == row["unit_id"]
    assert len(found["before"]) + len(found["after"]) == 2
    assert found["lineage"]["steps"][0]["asset"]
    chunk = post("search", query=SPRING, filters={"uri": "spring.md"})["hits"][0]
    assert get(f"units/{chunk['unit_id']}")["text"] == chunk["text"]


def test_what_has_no_page_says_so(client, post):
    chunk = post("search", query=SPRING, filters={"uri": "spring.md"})["hits"][0]
    reply = client.get(f"/v1/units/{chunk['unit_id']}/page.png")
    assert reply.status_code == 404
    assert "is no PDF" in reply.json()["detail"]


@pytest.mark.parametrize("name", ["..%2f..%2fetc%2fpasswd", "%27%20OR%201%3D1", "a" * 99])
def test_what_is_no_id_reaches_no_file_and_no_table(client, name):
    for path in (f"/v1/units/{name}", f"/v1/units/{name}/page.png", f"/v1/history/{name}"):
        assert client.get(path).status_code in (404, 422)


def test_documents_are_listed_with_what_became_of_them(get):
    found = get("documents", contains="SPRING")
    [entry] = found["entries"]
    assert entry["state"] == "read"
    assert entry["member"]["uri"] == entry["read"]["document"] == "spring.md"
    assert get("documents", state="failed")["total"] == 0


def test_history_is_paged_and_an_answer_is_forgotten_with_its_feedback(client, post, get):
    ids = [post("answers", question=f"{SPRING} {number}")["id"] for number in range(3)]
    first = get("history", limit=2)
    assert [each["answer_id"] for each in first["answers"]] == ids[:0:-1]
    assert get("history", before=first["next"], limit=1)["answers"][0]["answer_id"] == ids[0]
    post("feedback", 201, answer_id=ids[0], kind="down")
    assert client.delete(f"/v1/history/{ids[0]}").status_code == 204
    assert client.get(f"/v1/history/{ids[0]}").status_code == 404


def test_whoever_serves_is_told_which_line_still_has_an_erased_question(
    client, post, service, caplog
):
    own = service.config.questions.people_file
    append(own, {"id": id_of(SPRING), "question": SPRING, "gold": ["row:alloys:1"]})
    try:
        client.delete(f"/v1/history/{post('answers', question=SPRING)['id']}")
    finally:
        own.unlink()
    assert f"remove its lines {id_of(SPRING)}" in caplog.text


def test_feedback_keeps_version_and_rank_and_the_last_word_counts(post, get):
    found = post("answers", question=SPRING)
    second = found["answer"]["shown"][1]["unit_id"]
    for kind in ("up", "down"):
        post("feedback", 201, answer_id=found["id"], kind=kind)
    post("feedback", 201, answer_id=found["id"], kind="right_source", unit_id=second)
    kept = get(f"history/{found['id']}")["feedback"]
    assert {(each["kind"], each["rank"]) for each in kept} == {("down", None), ("right_source", 2)}
    assert {each["index_version"] for each in kept} == {"1"}
    problem = post("feedback", 422, answer_id=found["id"], kind="right_source", unit_id="0" * 36)
    assert "neither shows nor cites" in problem["detail"]


def test_an_answer_of_somebody_else_is_not_there(client, post, app, monkeypatch):
    found = post("answers", question=SPRING)["id"]
    monkeypatch.setattr(app.state.admission, "person", person_here("somebody else"))
    replies = [
        client.get(f"/v1/history/{found}"),
        client.delete(f"/v1/history/{found}"),
        client.post(f"/v1/history/{found}/replay", json={}),
        client.post("/v1/feedback", json={"answer_id": found, "kind": "up"}),
    ]
    assert [each.status_code for each in replies] == [404] * 4
    gone = f"00000000{found[8:]}"
    unlike = [client.get(f"/v1/history/{each}").text.replace(each, "") for each in (found, gone)]
    assert unlike[0] == unlike[1], "nobody is told which of the two is there"


@pytest.mark.parametrize("on", ["kept", "current", "1"])
def test_a_replay_names_the_version_that_answered(client, post, on):
    found = post("answers", question=DENSITY)["id"]
    reply = client.post(f"/v1/history/{found}/replay", json={"on": on})
    assert reply.status_code == 200, reply.text
    assert reply.json()["difference"]["is_equal"]
    assert reply.json()["index_version"] == reply.headers[VERSION] == "1"


def test_a_replay_on_a_version_that_never_was_is_refused(post):
    found = post("answers", question=DENSITY)["id"]
    assert "no record 77" in post(f"history/{found}/replay", 409, on="77")["detail"]
    post(f"history/{found}/replay", 422, on="../1")


def test_a_text_from_anywhere_is_verified(post):
    text = "Its stiffness is 12 N/mm [1]. It weighs 5 kg [1].\n\nSources:\n1. spring.md\n"
    found = post("verify", text=text)
    assert (found["supported"], found["not_in_sources"]) == ([], [2])
    assert "valid JSON" not in post("verify", 422, text='{"format": "other"}')["detail"]
    assert "valid JSON: line 1" in post("verify", 422, text="{1")["detail"]
    assert "too deeply" in post("verify", 422, text='{"a":' * 16_000)["detail"]


def test_a_report_comes_in_each_form_and_with_progress(client):
    body = {"prompt": "Write a report on alloys:\n- density\n- salt"}
    forms = {
        form: client.post("/v1/reports", params={"form": form}, json=body)
        for form in ("json", "markdown", "html", "docx")
    }
    assert {each.status_code for each in forms.values()} == {200}
    title = forms["json"].json()["report"]["title"]
    assert forms["markdown"].text.startswith(f"# {title}")
    assert zipfile.ZipFile(io.BytesIO(forms["docx"].content)).testzip() is None
    assert forms["html"].headers["content-disposition"].startswith("attachment")
    events = events_of(client.post("/v1/reports", json=body, headers=EVENTS).text)
    assert {name for _, name, _ in events[:-1]} == {"progress"}
    assert events[-1][2]["report"]["title"] == title


def test_the_state_is_that_of_the_command(get, service):
    found = get("status")
    assert found["serving"] == "default"
    assert found["pointer"]["number"] == serving_pointer.number_now(service.served.store)


@pytest.mark.parametrize("path", ["status", "documents", "history"])
def test_what_opens_no_index_names_what_serves_now(client, moved, path):
    assert client.get(f"/v1/{path}").headers[VERSION] == "1"
    moved()
    reply = client.get(f"/v1/{path}")
    assert reply.headers[VERSION] == reply.json().get("index_version", "2") == "2"


def test_machines_are_told_health_and_counters(client, post):
    post("search", query=SPRING)
    assert client.get("/readyz").json() == {"status": "ok", "index_version": "1"}
    assert client.get("/healthz").status_code == 200
    text = client.get("/metrics").text
    assert 'rag_assets_requests_total{route="/v1/search",status="200"}' in text
    assert 'rag_assets_source_age_seconds{source="laboratory"}' in text
    assert 'rag_assets_stage_seconds_count{stage="bm25"}' in text


def test_threads_are_left_for_machines_when_all_places_are_taken(tmp_path, monkeypatch):
    async def threads():
        return current_default_thread_limiter().total_tokens

    monkeypatch.setattr("rag_assets.serving.http.app.AT_ONCE", 100)
    large = app_of(Config(state_dir=tmp_path), AnswerModels(), user="anna")
    with TestClient(large, base_url="http://localhost") as client:
        assert client.portal.call(threads) > 100


def test_nothing_is_ready_without_an_index_and_the_reason_is_told(tmp_path):
    empty = app_of(Config(state_dir=tmp_path), AnswerModels(), user="anna")
    with TestClient(empty, base_url="http://localhost") as client:
        replies = [
            client.get("/readyz"),
            client.post("/v1/search", json={"query": "x"}),
            client.get("/v1/tables"),
        ]
        assert client.get("/healthz").json() == {"status": "ok", "index_version": None}
    assert [each.status_code for each in replies] == [503] * 3
    assert all("rag-assets refresh" in each.json()["detail"] for each in replies)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/nothing", None, 404),
        ("GET", "/v1/nothing", None, 404),
        ("GET", "/v1/search", None, 405),
        ("POST", "/v1/search", b'{"query":', 422),
        ("POST", "/v1/search", b"{}", 422),
        ("POST", "/v1/search", b'{"query": " "}', 422),
        ("POST", "/v1/search", b'{"query": "x", "top_k": 1000000}', 422),
        ("POST", "/v1/search", b'{"query": "x", "unknown": 1}', 422),
        ("POST", "/v1/search", b'{"query": "x", "retriever": "oracle"}', 422),
        ("POST", "/v1/search", b'{"query": "x", "filters": {"as_of": "never"}}', 422),
        ("POST", "/v1/search", b'{"query": "\\ud800"}', 422),
        ("POST", "/v1/search", b"\xff\xfe", 422),
        ("POST", "/v1/search", b"[" * 100_000, 400),
        ("GET", "/v1/tables/values?source=a&table=b&column=c", None, 422),
    ],
)
def test_whatever_is_wrong_is_told_as_a_problem(client, method, path, body, status):
    reply = client.request(method, path, content=body, headers={"content-type": "application/json"})
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    problem = reply.json()
    assert problem["status"] == status
    assert len(problem["detail"]) > 5
    assert reply.headers[VERSION] == "1"


def test_the_document_describes_every_reply(client):
    document = client.get("/openapi.json").json()
    bare = []
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            for status, reply in route["responses"].items():
                schema = reply.get("content", {}).get("application/json", {}).get("schema")
                if schema is not None and not ({"$ref", "anyOf"} & schema.keys()):
                    bare.append((path, method, status))
                if status in ("4XX", "5XX"):
                    assert [*reply["content"]] == ["application/problem+json"]
    assert not bare
    assert client.get("/openapi.json").json() == document
    forms = document["paths"]["/v1/reports"]["post"]["responses"]["200"]["content"]
    assert {"text/event-stream", "text/markdown", "text/html", DOCX} < forms.keys()
    assert len(document["paths"]) >= 18


@pytest.mark.parametrize(
    "path", ["/", "/healthz", "/v1/status", "/openapi.json", "/static/page.js"]
)
def test_head_is_answered_as_get_without_its_body(client, path):
    head, whole = client.head(path), client.get(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == whole.headers["content-type"]


def test_the_state_is_told_as_by_json_and_hides_passwords(get, home, capsys, monkeypatch):
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(home / "rag_assets.yaml"))
    secret = Finding("source_unreadable", "erp", reason="no way to postgresql://u:secret@host/db")
    monkeypatch.setattr(state_status, "full_disk", lambda store: [secret])

    told = get("status")
    assert cli.main(["status", "--json"]) == PARTLY
    by_json = json.loads(capsys.readouterr().out)
    assert told["problems"][0] == by_json["problems"][0]
    assert told["problems"][0]["says"] == "a source cannot be read"
    assert "secret" not in json.dumps([told, by_json])
    assert told.keys() == by_json.keys() - {"proposed_versions"}


def test_docs_say_where_the_api_is_described(client):
    page = client.get("/docs")
    assert page.status_code == 200
    assert 'href="/openapi.json"' in page.text
    assert "/v1/search" in page.text
    assert "http://" not in page.text


@pytest.mark.parametrize(
    ("path", "sent", "says"),
    [
        ("search", {"content": b'{"query": "salt"}'}, "Content-Type: application/json"),
        ("search", {}, "Content-Type: application/json"),
        ("search", {"json": [1]}, "Content-Type: application/json"),
        ("search", {"json": {}}, "query: it is missing"),
        ("search", {"json": {"query": "salt", "qury": 1}}, "qury: there is no such field"),
        ("search", {"json": {"query": "salt", "filters": 1}}, "filters: it should be"),
        ("feedback", {"json": {"answer_id": "zzzz", "kind": "up"}}, "answer_id: an id looks like"),
        ("answers", {"json": {"question": "salt", "after": "zzzz"}}, "after: an id looks like"),
        (f"history/{'a' * 36}/replay", {"json": {"on": "now"}}, "on: it should be kept"),
        ("search", {"json": {"query": "salt", "top_k": "ten"}}, "top_k: it should be a whole"),
        ("search", {"json": {"query": ""}}, "query: it should have at least 1 character"),
    ],
)
def test_what_is_wrong_with_a_request_is_said_in_words(client, path, sent, says):
    reply = client.post(f"/v1/{path}", **sent)
    assert reply.status_code == 422
    assert says in reply.json()["detail"]
    assert not {"Input", "^", "pattern"} & {*reply.json()["detail"].split()}


def test_an_id_that_is_none_is_told_what_one_looks_like(client):
    detail = client.get("/v1/units/zzzz").json()["detail"]
    assert detail.startswith("unit_id: an id looks like 5f0c1e5e-")


def below(home, root):
    config = configuration.load(home / "rag_assets.yaml")
    serving = config.serving.model_copy(update={"root_path": root})
    return app_of(config.model_copy(update={"serving": serving}), AnswerModels(), user="anna")


@pytest.fixture(scope="module")
def below_a_path(home):
    with TestClient(below(home, "/rag"), base_url="http://localhost:8000") as client:
        yield client


@pytest.mark.parametrize("prefix", ["", "/rag"])
def test_below_a_path_every_link_has_it_whether_the_proxy_leaves_it_or_not(below_a_path, prefix):
    answer = below_a_path.post(f"{prefix}/v1/answers", json={"question": DENSITY}).json()["id"]
    chosen = "within=documents/spring.md"
    listed = (f"/?{chosen}", f"/search?query=spring&domain=document&{chosen}", f"/sources?{chosen}")
    kept = ("/history", f"/history/{answer}")
    for path in (*listed, *kept, "/", "/search?query=spring", "/label", "/docs"):
        page = below_a_path.get(prefix + path)
        assert page.status_code == 200, page.text
        links = LINKS.findall(page.text)
        assert links
        assert [each for each in links if not each.startswith("/rag/")] == []
    assert below_a_path.get(f"{prefix}/static/page.js").status_code == 200
    assert below_a_path.get(f"{prefix}/static/card.css").status_code == 200
    assert below_a_path.get(f"{prefix}/openapi.json").json()["servers"] == [{"url": "/rag"}]


def test_below_a_path_redirects_and_addresses_of_streams_have_it(below_a_path):
    sent = below_a_path.post("/ask", data={"question": SPRING}, follow_redirects=False)
    assert sent.headers["location"].startswith("/rag/ask/")
    assert below_a_path.get("/rag").status_code == 200
    slashed = below_a_path.get("/rag/search/", follow_redirects=False)
    assert slashed.headers["location"] == "/rag/search"
    reply = below_a_path.post("/v1/answers", json={"question": SPRING}, headers=EVENTS)
    assert reply.headers["content-location"].startswith("/rag/v1/streams/")
    piece = below_a_path.post("/ask", data={"question": DENSITY}, headers={"HX-Request": "true"})
    events = below_a_path.get(piece.text.split('sse-connect="')[1].split('"')[0]).text
    assert 'href="/rag/u/' in events
    assert [each for each in LINKS.findall(events) if not each.startswith("/rag/")] == []


def test_a_path_that_is_a_route_is_refused(home):
    for root in ("/search", "/v1/x", "/static", "/healthz"):
        with pytest.raises(configuration.ConfigError, match="begins like an address"):
            below(home, root)
