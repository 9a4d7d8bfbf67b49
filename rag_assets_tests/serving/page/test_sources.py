"""What is indexed: listed, chosen to be asked or searched alone, and asked for in examples."""

import html
import re

from rag_assets.serving.http.page.sources import examples_of, indexed_sources

BOX = re.compile(r'<input type="checkbox"[^>]* name="within" value="([^"]+)"( checked)?>')


def boxes(page):
    """The places that can be chosen, and whether each is."""
    return {html.unescape(place): bool(chosen) for place, chosen in BOX.findall(page.text)}


def assistant_of(client):
    return client.app.state.service.served.now().assistant


def test_documents_and_tables_are_listed_with_what_they_hold(client):
    listed = {each.place: each for each in indexed_sources(assistant_of(client))}
    page = client.get("/sources")
    assert {*boxes(page)} - {"documents/", "laboratory/", "lists/"} == {*listed}
    assert not any(boxes(page).values())
    welds, table = listed["documents/welds.pdf"], listed["laboratory/tests"]
    assert (welds.table, welds.units, welds.language) == (None, 1, "en")
    assert (table.table, table.units, table.language) == ("tests", 6, None)
    assert f'href="/u/{welds.first}?v=' in page.text
    assert client.get(f"/u/{table.first}").status_code == 200
    assert "<script>" not in page.text


def test_a_part_of_a_name_finds_them_and_what_is_chosen_stays(client):
    within = ["documents/welds.pdf", "lists/"]
    page = client.get("/sources", params={"text": "Y/TESTS", "within": within})
    found = boxes(page)
    assert found["laboratory/tests"] is False
    assert found["documents/welds.pdf"] is True
    assert "documents/attack.md" not in found
    assert "No name or title has these words" in client.get("/sources?text=never").text


def test_a_question_is_asked_within_what_is_chosen_and_says_so(client, asked):
    scope = ["documents/attack.md", "documents/welds.pdf"]
    page = client.get("/", params={"within": scope})
    assert boxes(page) == dict.fromkeys(scope, True)
    done = asked("What do zorbling and quibblezorp take?", within=scope)[-1][1]
    assert "nhs_3101.md" not in done
    assert "attack.md" in done
    assert "Only in: <bdi>documents/attack.md; documents/welds.pdf</bdi>" in done
    answer_id = re.search(r'id="after" name="after" value="([^"]+)"', done)[1]
    kept = client.get(f"/history/{answer_id}")
    assert boxes(kept) == dict.fromkeys(scope, True), "one goes on within it"
    again = client.get("/history?text=quibblezorp").text
    assert 'name="within" value="documents/attack.md"' in again
    sent = {"question": "zorbling", "within": scope}
    begun = client.post("/ask", data=sent, follow_redirects=False)
    assert boxes(client.get(begun.headers["location"])) == dict.fromkeys(scope, True)


def test_a_place_that_is_nowhere_is_refused_or_finds_nothing(asked):
    assert "there is no source nowhere" in asked("zorbling", within=["nowhere/a.md"])[-1][1]
    assert 'class="body nothing"' in asked("zorbling", within=["documents/gone.md"])[-1][1]
    assert "is not written as" in asked("zorbling", within=["a.md"])[-1][1]


def test_active_filters_are_seen_and_each_can_be_taken_away(client):
    asked = {"query": "specimen", "domain": "document", "source": "documents"}
    page = client.get("/search", params={**asked, "within": "documents/welds.pdf"})
    links = re.findall(r'<a class="chip" href="([^"]+)" aria-label="([^"]+)"', page.text)
    assert [label for _, label in links] == [
        "Take away: What document",
        "Take away: Source documents",
    ]
    without = html.unescape(links[0][0])
    assert "domain=" not in without
    assert "source=documents" in without
    assert "within=" in without
    assert boxes(page) == {"documents/welds.pdf": True}
    assert client.get(without).status_code == 200
    assert 'class="active"' not in client.get("/search?query=specimen").text
    assert client.get("/search?within=documents/welds.pdf&text=welds").status_code == 200


def test_a_search_is_made_within_what_is_chosen(client):
    page = client.get("/search?query=specimen+welds&within=documents/welds.pdf").text
    assert page.count('class="where"') == 1
    assert "<mark>Welds</mark> of frame rails" in page


def test_examples_lead_to_what_they_ask_in_its_language(client):
    assistant = assistant_of(client)
    of_tables, of_documents = examples_of(assistant)
    assert of_tables
    for _, question in of_tables:
        assert assistant.lookup(question).outcome == "answered", question
    assert {language for language, _ in of_documents} == {"en", "sv"}
    swedish = [question for language, question in of_documents if language == "sv"]
    assert [each.partition(":")[0] for each in swedish] == ["Tid i kammaren"]
    assert "vad säger" in swedish[0]
    page = client.get("/examples").text
    assert 'hx-get="/examples"' in client.get("/").text
    for language, question in (*of_tables, *of_documents):
        assert f'<li lang="{language}">' in page
        assert html.escape(question) in page
