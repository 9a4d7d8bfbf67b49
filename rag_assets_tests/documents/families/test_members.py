"""Which documents are versions of one: by name, number, statement, decision, or as a proposal."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.documents.chunks.regions import Block
from rag_assets.documents.families.candidates import Candidate
from rag_assets.documents.families.decisions import (
    Decision,
    Decisions,
    DecisionsError,
    as_csv,
    read_decisions,
)
from rag_assets.documents.families.family_rows import STATED
from rag_assets.documents.families.members import memberships
from rag_assets.documents.head.facts import stated_by

UNLIKE = json.loads(
    (Path(__file__).parents[3] / "benchmarks" / "families_unlike.json").read_text("utf-8")
)
BODY = (
    "Fill the housing with liquid and open the suction valve before the pump is started. Check the "
    "direction of rotation with a short start of the motor, and read the pressure after a minute."
)


def document(uri, text="# Pump manual", *, source="documents", body=BODY, content=None):
    """A document with the elements of a Markdown file; the text differs with the URI."""
    blocks = [
        Block(index, "heading" if part.startswith("# ") else "text", part.removeprefix("# "), 1, ())
        for index, part in enumerate([*text.split("\n\n"), f"{body} {uri}"])
    ]
    return Candidate(f"{source}/{uri}", source, uri, content or f"{uri} {text}", stated_by(blocks))


def statuses(*documents, decisions=None):
    found = memberships(documents, decisions)
    return [found[each.document_id].status for each in documents]


def are_linked(*documents, decisions=None):
    """Whether all of them are one family that nobody has to confirm."""
    found = [memberships(documents, decisions)[each.document_id] for each in documents]
    families = {each.family for each in found}
    return len(families) == 1 and None not in families and found[0].status != "proposed"


@pytest.mark.parametrize(
    "uris",
    [
        ("manual_v1.0.pdf", "manual_v2.1.pdf"),
        ("manual rev A.pdf", "manual rev B.pdf"),
        ("archive/manual_v1.pdf", "manual_v2.pdf"),
        ("pump-5.2.1/manual.pdf", "pump-5.10.0/manual.pdf"),
        ("v1.0/manual.pdf", "v1.1/manual.pdf"),
        ("manual_2023-05-10.pdf", "manual_2024-03-01.pdf"),
    ],
)
def test_names_that_differ_in_a_version_link(uris):
    older, newer = map(document, uris)
    assert are_linked(older, newer)
    assert statuses(older, newer) == ["superseded", "current"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("# STD-1234 Rev A\n\nPainting", "# STD-1234 Rev B\n\nPainting"),
        (
            "# Painting\n\nDocument number: Q-17\n\nRevision: 1",
            "# Painting\n\nDocument number: Q-17\n\nRevision: 2",
        ),
        ("# ISO 9227:2017 Corrosion tests", "# ISO 9227:2022 Corrosion tests"),
    ],
)
def test_one_number_and_two_versions_link(first, second):
    older, newer = document("a.pdf", first), document("b.pdf", second)
    assert are_linked(older, newer)
    assert statuses(older, newer) == ["superseded", "current"]


def test_years_in_the_names_of_standards_are_versions():
    older = document("ISO_9227-2017.pdf", "# Salt spray")
    newer = document("ISO_9227-2022.pdf", "# Salt spray tests")
    assert statuses(older, newer) == ["superseded", "current"]


def test_a_document_takes_the_place_of_what_it_says_it_replaces():
    older = document("old.pdf", "# STD-200 Rev C\n\nWelding", body="One text.")
    newer = document("new.pdf", "# Q-31\n\nReplaces: STD-200 rev C", body="Another text.")
    other = document("other.pdf", "# STD-201 Rev C\n\nWelding of rails", body="A third text.")
    assert statuses(older, newer, other) == ["superseded", "current", "current"]


def test_what_is_replaced_in_part_stays_valid():
    older = document("old.pdf", "# STD-200 Rev C\n\nWelding", body="One text.")
    newer = document("new.pdf", "# STD-300 Rev A\n\nReplaces in part: STD-200 rev C", body="Other.")
    assert statuses(older, newer) == ["current", "current"]


def test_two_that_replace_each_other_do_not_both_vanish():
    one = document("one.pdf", "# STD-1 Rev A\n\nReplaces: STD-2", body="One text.")
    other = document("other.pdf", "# STD-2 Rev A\n\nReplaces: STD-1", body="Another text.")
    assert sorted(statuses(one, other)) == ["current", "superseded"]


def test_a_draft_replaces_nothing_yet():
    released, draft = document("manual_v1.pdf"), document("manual_v2_draft.pdf")
    assert are_linked(released, draft)
    assert statuses(released, draft) == ["current", "current"]
    assert statuses(released, draft, document("manual_v3.pdf")) == [
        "superseded",
        "superseded",
        "current",
    ]


def test_copies_of_a_version_share_its_place():
    older = document("manual_v1.pdf")
    newer = [document("manual_v2.pdf"), document("archive/manual_v2.docx")]
    found = memberships([older, *newer])
    assert [found[each.document_id].place for each in (older, *newer)] == [0, 1, 1]


def test_equal_files_are_copies_whatever_their_names_say():
    one, other = document("manual_v1.pdf", content="a"), document("manual_v2.pdf", content="a")
    assert statuses(one, other) == ["current", "current"]


@pytest.mark.parametrize("pair", UNLIKE, ids=lambda pair: pair["first"]["uri"])
def test_documents_of_like_names_are_not_linked(pair):
    one, other = (
        document(side["uri"], side["text"], body="")
        for side in pair.values()
        if side != pair["why"]
    )
    assert not are_linked(one, other)


def test_like_texts_are_proposed_and_act_only_once_confirmed():
    one, other = document("pump.pdf"), document("pump new.pdf")
    assert statuses(one, other) == ["proposed", "proposed"]
    confirmed = Decisions((Decision("pump new.pdf", "documents/pump.pdf", "versions"),))
    assert statuses(one, other, decisions=confirmed) == ["superseded", "current"]
    rejected = Decisions((Decision("pump.pdf", "pump new.pdf", "unlike"),))
    assert statuses(one, other, decisions=rejected) == ["current", "current"]


def test_a_decision_parts_what_names_link():
    older, newer = document("manual_v1.pdf"), document("manual_v2.pdf")
    apart = Decisions((Decision("manual_v1.pdf", "manual_v2.pdf", "unlike"),))
    assert statuses(older, newer, decisions=apart) == ["current", "current"]


def test_the_last_decision_on_two_documents_counts():
    one, other = document("pump.pdf"), document("pump new.pdf")
    wrong = Decision("pump.pdf", "pump new.pdf", "versions")
    right = Decision("pump new.pdf", "pump.pdf", "versions")
    assert statuses(one, other, decisions=Decisions((wrong, right))) == ["superseded", "current"]
    assert statuses(one, other, decisions=Decisions((right, wrong))) == ["current", "superseded"]


def test_a_decision_goes_before_names_numbers_and_statements():
    older, newer = document("manual_v1.pdf"), document("manual_v2.pdf")
    turned = Decisions((Decision("manual_v1.pdf", "manual_v2.pdf", "versions"),))
    assert statuses(older, newer, decisions=turned) == ["current", "superseded"]
    older = document("old.pdf", "# STD-200 Rev C\n\nWelding", body="One text.")
    newer = document("new.pdf", "# STD-300 Rev A\n\nReplaces: STD-200 rev C", body="Other.")
    turned = Decisions((Decision("old.pdf", "new.pdf", "versions"),))
    assert statuses(older, newer, decisions=turned) == ["current", "superseded"]


def test_decisions_are_a_file_that_people_edit(tmp_path):
    file = tmp_path / "document_families.csv"
    assert read_decisions(file) == Decisions()
    made = Decisions((Decision("a, b.pdf", "c.pdf", "versions"),))
    file.write_text(as_csv(made), "utf-8")
    assert read_decisions(file) == made
    file.write_text("newer,older,are\na.pdf,b.pdf,maybe\n", "utf-8")
    with pytest.raises(DecisionsError, match="line 2"):
        read_decisions(file)
    file.write_text("newer,older,are\nå.pdf,b.pdf,unlike\n", "cp1252")
    with pytest.raises(DecisionsError, match="UTF-8"):
        read_decisions(file)


def test_what_a_page_says_survives_its_record():
    stated = document("a.pdf", "# STD-1 Rev B\n\nReplaces: STD-0\n\nPlant: Norrby").stated
    assert stated.version.letter == "B"
    assert STATED.validate_json(STATED.dump_json(stated)) == stated


NAMES = ("manual_v1.pdf", "manual_v2.pdf", "manual_v3_draft.pdf", "old/manual_v1.5.pdf", "pump.pdf")


@given(names=st.lists(st.sampled_from(NAMES), unique=True), shuffled=st.randoms())
def test_the_order_of_documents_does_not_matter(names, shuffled):
    documents = [document(name) for name in names]
    found = memberships(documents)
    again = list(documents)
    shuffled.shuffle(again)
    assert memberships(again) == found


@given(names=st.lists(st.sampled_from(NAMES), unique=True, min_size=1))
def test_every_family_has_a_current_version(names):
    found = memberships([document(name) for name in names])
    families = {each.family for each in found.values() if each.status == "superseded"}
    assert families <= {each.family for each in found.values() if each.status == "current"}
