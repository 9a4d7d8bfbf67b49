"""What changed between two versions: sections added and removed, sentences, and numbers."""

from hypothesis import given
from hypothesis import strategies as st

from rag_assets.documents.families.section_changes import section_changes

OLD = [
    (["1 Scope"], "This standard applies to cabs."),
    (["2 Limits"], "The creep is at most 2.0 mm. The test runs for 6 weeks. Panels are rinsed."),
    (["3 Marking"], "Panels are marked with the date."),
]
NEW = [
    (["1 Scope"], "This standard applies to cabs."),
    (["2 Symbols"], "c is the creep."),
    (["3 Limits"], "The creep is at most 1.5 mm. The test runs for 8 weeks. Panels are dried."),
]


def test_each_kind_of_change_is_told():
    added, limits, removed = section_changes(OLD, NEW)
    assert (added.section, added.kind, list(added.added)) == (
        "2 Symbols",
        "added",
        ["c is the creep."],
    )
    assert (limits.section, limits.kind) == ("3 Limits", "changed")
    assert [list(each.numbers) for each in limits.numbers] == [[("2.0", "1.5")], [("6", "8")]]
    assert (list(limits.removed), list(limits.added)) == (
        ["Panels are rinsed."],
        ["Panels are dried."],
    )
    assert (removed.section, removed.kind) == ("3 Marking", "removed")


SENTENCES = st.lists(st.sampled_from(["A is 1.", "A is 2.", "B holds.", "C."]), max_size=4)
DOCUMENTS = st.lists(
    st.tuples(st.lists(st.sampled_from(["1 One", "2 Two"]), max_size=1), SENTENCES.map(" ".join)),
    max_size=4,
)


@given(document=DOCUMENTS)
def test_a_document_does_not_differ_from_itself(document):
    assert section_changes(document, document) == []


@given(older=DOCUMENTS, newer=DOCUMENTS)
def test_what_is_added_one_way_is_removed_the_other(older, newer):
    forth = section_changes(older, newer)
    back = section_changes(newer, older)
    kinds = {"added": "removed", "removed": "added", "changed": "changed"}
    assert sorted(kinds[each.kind] for each in forth) == sorted(each.kind for each in back)
