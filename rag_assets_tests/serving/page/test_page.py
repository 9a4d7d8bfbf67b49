"""The page: what it shows, that source text stays text, and that nothing else runs in it."""

import hashlib
import html
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import rag_assets
from rag_assets.answering.answer import Answer, Scope, Shown
from rag_assets.answering.record.database import answers_of
from rag_assets.answering.record.recalling import recall
from rag_assets.citations.kinds import Absence, Cell, Computed, Rows, Span
from rag_assets.citations.sentences import Sentence
from rag_assets.questions.judging.labels import read_labels
from rag_assets.serving.callers import Caller, person_here
from rag_assets.serving.http.page.answers import links_of, render, told_answer, unit_url
from rag_assets.serving.study import LONGEST_WORDS, study_table
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_tests.questions.judged import kept, worded, written
from rag_assets_tests.serving.page.conftest import ATTACK, WELDS, events

STATIC = Path(rag_assets.__file__).parent / "serving" / "static"
SCOPE = Scope("default", "bm25", {}, 10)
PLAN = {"source": "laboratory", "table": "tests", "operation": "max", "column": "mpa"}
SPAN = Span("u1", "h", "documents", "a.md", "A", (3,), 5, 9, "four", section="2 Welds")
CELL = Cell("r1", "h", "laboratory", "tests", "7", "mpa", "strength", 90, unit="MPa")
ROWS = Rows("laboratory", "tests", PLAN, ("7",), 1, title="tests", where=" where series is 2")
MAX = Computed("max", (CELL,), 1, PLAN, "SELECT max(mpa)", 90, "MPa", "v1", ROWS, "strength")

ANSWERS = {
    "computed": Answer(
        "What is the highest strength?",
        "computed",
        (Sentence("The highest strength is 90 MPa.", (MAX,), "computed again"),),
        SCOPE,
    ),
    "written": Answer(
        "What do welds need?",
        "written",
        (
            Sentence("Welds need care.", (SPAN,), "verbatim", is_written=True),
            Sentence("Nobody knows why.", (), "nothing", is_written=True),
        ),
        SCOPE,
    ),
    "found": Answer(
        "What is near?",
        "found",
        (Sentence("four", (SPAN,), "verbatim", before="one two ", after=" five"),),
        SCOPE,
        reason="nothing that is shown holds 'near'",
    ),
    "nothing": Answer(
        "What is QX-1?",
        "nothing",
        (
            Sentence(
                "Nothing holds it.", (Absence("variant default", "QX-1", 10),), "computed again"
            ),
        ),
        SCOPE,
        shown=tuple(Shown(f"u{rank}", "h", rank, 1.0, "document", "a.md") for rank in (1, 2)),
        reason="'QX-1' is nowhere in the index",
        readings=("QX-2",),
    ),
}


def shown(outcome):
    return render("answer", told=told_answer(ANSWERS[outcome], "id-1", "4"))


def test_each_outcome_looks_and_reads_differently():
    pieces = {outcome: shown(outcome) for outcome in ANSWERS}
    for outcome, piece in pieces.items():
        assert f'class="body {outcome}"' in piece
    assert "<b><bdi>90 MPa</bdi></b>" in pieces["computed"]
    assert "SELECT max(mpa)" in pieces["computed"]
    assert "tests where series is 2" in pieces["computed"]
    assert "Written by a language model" in pieces["written"]
    assert '<span class="unproven">not compared</span>' in pieces["written"]
    assert "Found in your documents</p>" in pieces["found"]
    assert "no model wrote it" in pieces["found"]
    assert "one two <mark>four</mark> five" in pieces["found"]
    assert "is nowhere in the index." in pieces["nothing"]
    assert pieces["nothing"].count("uri=a.md") == 1, "each place once"
    assert "QX-2" in pieces["nothing"]


def test_one_place_has_one_number_and_leads_to_its_card():
    numbers = {}
    first = list(links_of([SPAN, CELL], numbers, "4"))
    again = list(links_of([CELL], numbers, "4"))
    assert [(link.number, link.url) for link in first] == [
        (1, "/u/u1?v=4&start=5&end=9"),
        (2, "/u/r1?v=4&column=mpa&row=7"),
    ]
    assert again == [first[1]]
    assert next(links_of([MAX], {}, "4")).url.startswith("/rows?v=4&plan=%7B%22source")


@pytest.mark.parametrize(
    "place", ["/", "/search", "/search?query=specimen", "/history", "/label", "/study", "/u/gone"]
)
def test_no_script_or_style_stands_in_a_page(client, place):
    reply = client.get(place)
    policy = reply.headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert reply.headers["referrer-policy"] == "same-origin", "else a form has no origin"
    assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son\w+=", reply.text)
    assert not re.search(r"(?:src|href|action)=\"(?!/|#|data:image/png)", reply.text)
    config = html.unescape(
        re.search(r"<meta name=\"htmx-config\" content='(.*?)'", reply.text, re.S)[1]
    )
    assert '"allowEval": false' in config
    assert '"includeIndicatorStyles": false' in config


def test_a_first_view_says_what_to_do_next(client):
    assert "Type a question and press Enter" in client.get("/").text
    assert "open a result to see it in its place" in client.get("/search").text
    assert "Nothing was found" in client.get("/search?query=specimen&uri=no.md").text
    assert "No answer has these words" in client.get("/history?text=never+said").text


def test_what_others_made_is_served_as_it_came():
    said = dict(
        re.findall(r"\| `([^`]+\.js)` \|.*`([0-9a-f]{64})` \|", (STATIC / "README.md").read_text())
    )
    files = {path.name: path for path in STATIC.glob("htmx*.js")}
    assert said.keys() == files.keys()
    for name, path in files.items():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == said[name], name


def test_static_files_come_from_their_folder_alone(client):
    assert client.get("/static/page.css").headers["content-type"].startswith("text/css")
    assert "mark.light" in client.get("/static/card.css").text
    for place in ("/static/../http/limits.py", "/static/%2e%2e/http/limits.py", "/static/no.css"):
        assert client.get(place).status_code == 404


def test_an_answer_comes_in_pieces_and_is_listed(client, asked):
    pieces = asked("Where is quibblezorp?")
    names = [name for name, _ in pieces]
    assert names[:2] == ["plan", "cards"]
    assert names[-1] == "done"
    done = pieces[-1][1]
    assert 'class="body found"' in done
    answer_id = re.search(r'id="after" name="after" value="([^"]+)"', done)[1]
    listed = client.get("/history?text=quibblezorp").text
    assert f"/history/{answer_id}" in listed
    opened = client.get(f"/history/{answer_id}").text
    assert 'class="body found"' in opened
    assert f'name="after" value="{answer_id}"' in opened
    assert "Erased for good" in client.delete(f"/history/{answer_id}").text
    assert client.get(f"/history/{answer_id}").status_code == 404


def test_a_reader_who_comes_back_misses_no_piece(client):
    begun = client.post("/ask", data={"question": "quibblezorp"}, headers={"HX-Request": "1"}).text
    place = begun.split('sse-connect="')[1].split('"')[0]
    whole = events(client.get(place).text)
    rest = events(client.get(place, headers={"Last-Event-ID": "2"}).text)
    assert rest == whole[2:]
    gone = events(client.get("/ask/gone").text)
    assert [name for name, _ in gone] == ["done"]
    assert "ask again" in gone[0][1]


def test_an_answer_on_its_way_has_an_address_that_can_be_opened_again(client):
    question = "Where is quibblezorp & what?"
    begun = client.post("/ask", data={"question": question}, headers={"HX-Request": "1"})
    place = begun.headers["HX-Replace-Url"]
    sent = client.post("/ask", data={"question": question}, follow_redirects=False)
    assert sent.status_code == 303, "so that a reload asks nothing again"
    assert sent.headers["location"].startswith("/ask/")
    page = client.get(place).text
    assert f'sse-connect="{place.split("?")[0]}"' in page
    assert html.escape(question) in page


def test_a_follow_up_can_be_asked_on_its_own(client, asked):
    first = asked("What is quibblezorp?")[-1][1]
    answer_id = re.search(r'id="after" name="after" value="([^"]+)"', first)[1]
    done = asked("And its grade?", after=answer_id)[-1][1]
    assert "Read as:" in done
    form = re.search(r'<form[^>]*action="/ask".*?</form>', done, re.S)[0]
    assert 'value="And its grade?"' in form
    assert "after" not in form
    assert "on its own" in form


def test_what_was_found_can_be_opened_while_the_answer_is_made(asked):
    cards = dict(asked("Which quality level do welds of frame rails meet?"))["cards"]
    assert re.search(r'href="/u/[^"]+\?v=', cards)
    assert "welds.pdf" in cards


def test_an_old_answer_says_what_changed_since(client, asked, made):
    made.write("moving.md", "# Moving\n\nThe blorptonium limit is 70 hours.\n")
    with hashing():
        refresh(made.config)
    done = asked("What is the blorptonium limit?")[-1][1]
    answer_id = re.search(r'id="after" name="after" value="([^"]+)"', done)[1]
    card = html.unescape(re.search(r'href="(/u/[^"]+)" [^>]*aria-label="Source 1: mov', done)[1])
    same = asked("Which quality level do welds of frame rails meet?")[-1][1]
    same_id = re.search(r'id="after" name="after" value="([^"]+)"', same)[1]
    assert "serves now" not in client.get(card).text
    made.write("moving.md", "# Moving\n\nThe blorptonium limit is 99 hours.\n")
    with hashing():
        refresh(made.config)
    assert "changed since" in client.get("/history?text=blorptonium").text
    opened = client.get(f"/history/{answer_id}").text
    assert "70 hours" in opened.split("changed since")[1]
    assert "changed since" not in client.get(f"/history/{same_id}").text
    old = client.get(card).text
    assert "70 hours" in old
    assert "serves now" in old


def test_a_changed_answer_stands_on_every_page_old_beside_new_until_it_was_seen(
    client, asked, made
):
    made.write("valves.md", "# Valves\n\nThe frobnicated valve opens at 40 bar.\n")
    with hashing():
        refresh(made.config)
    done = asked("At which pressure does the frobnicated valve open?")[-1][1]
    answer_id = re.search(r'id="after" name="after" value="([^"]+)"', done)[1]
    made.write("valves.md", "# Valves\n\nThe frobnicated valve opens at 55 bar.\n")
    with hashing():
        refresh(made.config)
        recall(made.store, made.config, log=print)

    assert 'hx-get="/changed/count"' in client.get("/").text
    assert "of your answers ha" in client.get("/changed/count").text
    page = client.get("/changed").text
    assert page.index("40 bar") < page.index("55 bar")
    [notice] = [
        each
        for each in client.get("/v1/notices").json()["notices"]
        if each["answer_id"] == answer_id
    ]
    assert "40 bar" in json.dumps(notice["before"])
    assert "55 bar" in json.dumps(notice["now"])
    assert "valves.md" in notice["touched"][0]["why"]
    assert client.put(f"/v1/history/{answer_id}/watch", json={"tolerance": 0.1}).status_code == 204
    assert client.delete(f"/v1/history/{answer_id}/watch").status_code == 204
    assert "no more" in client.post(f"/changed/{answer_id}/seen").text
    assert answer_id not in client.get("/v1/notices").text
    assert answer_id in client.get("/v1/notices?seen=true").text
    assert answer_id in client.get("/changed?seen=true").text


def test_source_text_stays_text(client, asked):
    for text in (
        asked("Where is quibblezorp?")[-1][1],
        client.get("/search?query=quibblezorp").text,
    ):
        assert "<script>" not in text
        assert "<img" not in text
        assert html.escape("<script>alert(1)</script>") in text
    again = client.get("/search", params={"query": ATTACK}).text
    assert "<img" not in again


def test_the_card_of_words_marks_them_in_the_text_and_on_the_page(client, asked):
    done = asked("Which quality level do welds of frame rails meet?")[-1][1]
    place = html.unescape(
        re.search(r'href="(/u/[^"]+)" [^>]*aria-label="Source 1: welds.pdf', done)[1]
    )
    card = client.get(place).text
    assert WELDS in re.search("<mark>(.*?)</mark>", card, re.S)[1]
    page = client.get(html.unescape(re.search(r'hx-get="(/u/[^"]+/page[^"]*)"', card)[1])).text
    assert 'class="quote"' in page
    assert "data:image/png;base64," in page


def test_a_number_before_several_words_of_a_passage_leads_to_all_of_them(client):
    other = replace(SPAN, start=20, end=30)
    [link] = links_of([SPAN, other, SPAN], {}, "4")
    assert link.url == "/u/u1?v=4&start=5&start=20&end=9&end=30"


def test_an_address_with_other_words_or_rows_still_shows_the_unit(client):
    hits = client.post("/v1/search", json={"query": WELDS, "top_k": 1}).json()["hits"]
    for asked in ("start=999999999&end=9999999999", "row=none", "start=4", "column=none"):
        reply = client.get(f"/u/{hits[0]['unit_id']}?{asked}")
        assert reply.status_code == 200, asked
        assert "Welds of frame rails" in reply.text
    assert client.get(f"/u/{hits[0]['unit_id']}?start=x").status_code == 422


def test_the_card_of_a_row_shows_its_neighbours_and_marks_its_cells(client):
    found = client.post(
        "/v1/search", json={"query": "steel 4", "filters": {"domain": "table"}, "explain": True}
    ).json()["hits"]
    hit = next(each for each in found if each["row_key"] == "4")
    card = client.get(f"/u/{hit['unit_id']}", params={"column": "grade"}).text
    assert card.count("<tr") == 1 + 5
    assert card.count('class="cited"') == 1
    assert 'class="marked"' in card.split('class="cited"')[1].split("</tr>")[0]


def test_the_card_of_a_hit_says_which_link_led_to_it(client):
    def unit_of(query: str) -> str:
        return client.post("/v1/search", json={"query": query}).json()["hits"][0]["unit_id"]

    start, end, other = map(unit_of, ("zorbled coats", "zorbling minutes", WELDS))
    path = "linked: <bdi>coats.md -&gt; &#34;NHS 3101&#34; (identifier)</bdi>"
    assert path in client.get(f"/u/{end}?linked={start}").text
    for place in (f"/u/{end}", f"/u/{end}?linked={other}", f"/u/{end}?linked=gone"):
        assert "linked:" not in client.get(place).text


def test_a_hit_over_a_link_opens_a_card_that_knows_it():
    hit = {"unit_id": "u2", "title": "A", "row_key": None, "pages": [], "linked": {"unit_id": "u1"}}
    hits = [hit, hit | {"linked": None}]
    piece = render("cards", known={"hits": hits}, version="4", unit_url=unit_url)
    assert re.findall(r'href="([^"]+)"', piece) == ["/u/u2?v=4&amp;linked=u1", "/u/u2?v=4"]


def test_the_card_of_a_lookup_runs_it_again(client):
    tables = client.app.state.service.served.now().assistant.catalogue.tables
    table, column = next(
        (table, column.name)
        for table in tables
        for column in table.columns
        if column.is_numeric and not column.is_hidden
    )
    plan = {"source": table.source, "table": table.table, "operation": "max", "column": column}
    card = client.get("/rows", params={"plan": json.dumps(plan)}).text
    assert "SQL that was run" in card
    assert "SELECT" in card.upper()
    assert client.get("/rows", params={"plan": "[" * 9_000}).status_code == 422
    wrong = client.get("/rows", params={"plan": '{"table": 1}'})
    assert wrong.status_code == 422
    assert "lookup plan" in wrong.text


def test_what_is_wrong_is_said_in_a_sentence(client):
    for question in ("", "x" * 10_000):
        reply = client.post("/ask", data={"question": question})
        assert reply.status_code == 422
        assert "question: " in reply.text
    reply = client.get("/search?query=steel&as_of=soon")
    assert reply.status_code == 422
    assert 'id="problem"' in reply.text
    assert "as_of" in reply.text


def test_answers_of_others_are_not_shown(client, asked, monkeypatch):
    answer_id = re.search(r'id="after" name="after" value="([^"]+)"', asked("specimen")[-1][1])[1]
    monkeypatch.setattr(client.app.state.admission, "person", person_here("berta"))
    assert client.get(f"/history/{answer_id}").status_code == 404
    assert client.delete(f"/history/{answer_id}").status_code == 404
    assert answer_id not in client.get("/history").text
    monkeypatch.setattr(
        client.app.state.admission, "person", Caller("root", frozenset({"admin"}), groups=None)
    )
    assert client.get(f"/history/{answer_id}").status_code == 200
    listed = client.get("/v1/history", params={"user": "anna"}).json()["answers"]
    assert answer_id in {each["answer_id"] for each in listed}


def test_what_a_model_wrote_is_labelled_with_keys_one_after_another(client, made):
    assert "There is nothing to label yet" in client.get("/label").text
    kept(made.store, [worded(written(1), ATTACK), written(2), written(3)])
    file = made.config.questions.labels_file

    shown, asked = client.get("/label?of=sentence").text, []
    for number in range(3):
        assert f"Left: {3 - number}." in shown
        assert 'data-key="1">1 yes</button>' in shown
        assert ATTACK not in shown
        fields = dict(re.findall(r'name="(of|item|drawn)" value="([^"]*)"', shown))
        asked.append(fields["item"])
        sent = client.post("/label", data={**fields, "label": "yes"}, headers={"HX-Request": "1"})
        assert len(read_labels(file).labels) == number + 1
        shown = sent.text
    assert len({*asked}) == 3
    assert "All are labelled" in shown
    assert {each.labeller for each in read_labels(file).labels} == {"anna"}


def test_what_one_says_in_the_study_is_kept_with_and_without_scripts(client, made):
    page = client.get("/study").text
    assert page.count("<fieldset") == page.count("<legend") == page.count("<textarea") == 11
    assert page.count('type="radio"') == 35
    said = {"impression.score": "4", "workflow.words": ATTACK, "accuracy.words": ""}
    lines = "a\r\n" * (LONGEST_WORDS // 2)  # as a browser sends what it counts as the longest
    said["failures.words"] = lines.strip()

    piece = client.post("/study", data=said, headers={"HX-Request": "1"})
    back = client.post("/study", data=said, follow_redirects=False)

    assert "Thank you" in piece.text
    assert (back.status_code, back.headers["location"]) == (303, "/study?kept=true")
    assert "Thank you" in client.get("/study?kept=true").text
    sent = {"replies": {"impression": {"score": 5}}}
    assert client.post("/v1/study", json=sent).status_code == 204
    for wrong in ({}, {"impression.score": "6"}, {"taste.score": "1"}):
        assert client.post("/study", data=wrong).status_code == 422
    times, rows = study_table(answers_of(made.store))
    assert (times, rows[-1].counts[4], rows[-2].words) == (3, 2, [ATTACK, ATTACK])


def test_a_file_of_labels_that_cannot_be_used_is_named(client, made):
    file = made.config.questions.labels_file
    aside = file.with_suffix(".aside")
    file.parent.mkdir(exist_ok=True)
    if file.exists():
        file.rename(aside)
    file.mkdir()
    reply = client.get("/label")
    file.rmdir()
    if aside.exists():
        aside.rename(file)
    assert reply.status_code == 422
    assert "labels.jsonl cannot be read" in reply.text


def test_a_label_without_scripts_leads_back_to_the_page_and_a_wrong_one_is_told(client, made):
    kept(made.store, [written(7)])
    page = client.get("/label").text
    fields = dict(re.findall(r'name="(of|item|drawn)" value="([^"]*)"', page))

    for wrong in ({**fields, "label": "maybe"}, {**fields, "item": "x", "label": "yes"}):
        assert client.post("/label", data=wrong).status_code == 422
    assert client.get("/label?of=taste").status_code == 422
    back = client.post("/label", data={**fields, "label": "skip"}, follow_redirects=False)
    assert (back.status_code, back.headers["location"]) == (303, "/label?of=sentence")
