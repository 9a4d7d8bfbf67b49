"""Sections say what was found for them, and what was not is said too."""

from dataclasses import replace

from rag_assets.answering.quoting.highlighting import passages_of
from rag_assets.answering.reporting.decomposition import Decomposition, SubQuestion
from rag_assets.answering.reporting.gathering import FoundFor, GatheredUnits
from rag_assets.answering.reporting.writing import SectionText, by_heading, compose
from rag_assets_tests.answering.found import LastIsNearest, document

SALT = document("salt", "Salt spray lasts 500 hours. It is sprayed at 35 degrees.", title="Salt")
HEAT = document("heat", "Invar hardly expands by heat. It melts at 1430 degrees.", title="Heat")
PARTS = (SubQuestion("Salt spray", "salt spray"), SubQuestion("Heat of Invar", "heat of Invar"))


def writer(part, hits):
    return SectionText(passages_of(part.question, hits, rows={}, encoder=LastIsNearest()))


def composed(*found, parts=PARTS, title="Salt and heat"):
    by_part = tuple(
        FoundFor(part, tuple(hits), tuple(hits)) for part, hits in zip(parts, found, strict=True)
    )
    units = tuple({hit.unit_id: hit for hits in found for hit in hits}.values())
    decomposition = Decomposition("prompt", title, tuple(parts))
    gathered = GatheredUnits(units, by_part, "best", len(units))
    return compose(decomposition, gathered, writer=writer)


def test_each_sub_topic_has_a_section_with_citations():
    found = composed([SALT], [HEAT])
    assert [section.title for section in found.sections] == ["Salt spray", "Heat of Invar"]
    cited = [c.unit_id for s in found.sections for one in s.sentences for c in one.citations]
    assert set(cited) == {"salt", "heat"}
    assert found.not_covered == ()


def test_a_sub_topic_whose_words_are_not_there_is_not_covered():
    parts = (PARTS[0], SubQuestion("Price of Inconel 718", "price of Inconel 718"))
    found = composed([SALT], [HEAT], parts=parts)
    assert [section.title for section in found.sections] == ["Salt spray"]
    [absent] = found.not_covered
    assert absent.title == "Price of Inconel 718"
    assert "Inconel" in absent.reason
    assert absent.looked_at == 1


def test_a_report_about_something_else_is_not_covered_at_all():
    found = composed([SALT], [HEAT], title="Sailing to Gotland")
    assert found.sections == ()
    assert {each.title for each in found.not_covered} == {"Salt spray", "Heat of Invar"}
    assert "which the report is about" in found.not_covered[0].reason


def test_a_search_that_finds_nothing_says_so():
    found = composed([SALT], [])
    assert found.not_covered[0].reason == "the search found nothing"


def test_a_name_that_is_missing_is_told_beside_the_section():
    parts = (SubQuestion("Salt spray hours of AlMg3", "salt spray hours of AlMg3"), PARTS[1])
    [salt, _] = composed([SALT], [HEAT], parts=parts).sections
    assert salt.missing == ("AlMg3",)


def test_words_that_ask_for_a_report_are_not_looked_for():
    found = composed([SALT], parts=(SubQuestion("Tell us everything about salt", "x"),), title="x")
    assert found.not_covered == () or "everything" not in found.not_covered[0].reason


def test_a_single_topic_is_told_under_the_headings_of_the_documents():
    found = composed(
        [SALT, document("heat", HEAT.text, rank=2, title="Heat")],
        parts=(SubQuestion("Degrees of salt and heat", "degrees"),),
        title="Degrees",
    )
    assert [section.title for section in found.sections] == ["Salt", "Heat"]


def test_hits_without_a_heading_stand_under_the_one_that_all_others_share():
    sections = ["", "Salt spray > Hours", "Salt spray > Water", "Salt spray"]
    hits = [replace(SALT, unit_id=f"{place}", section=one) for place, one in enumerate(sections)]
    found = by_heading(hits)
    assert [heading for heading, _ in found] == ["Salt spray", "Hours", "Water"]
    assert [(hit.unit_id, hit.rank) for hit in found[0][1]] == [("0", 1), ("3", 2)]


def test_headings_that_all_units_of_a_document_share_head_no_section():
    units = [
        replace(SALT, unit_id=f"{place}", section=f"9. LICENSE > {section}")
        for place, section in enumerate(["1.2 Salt > 1.2.1 Water", "3 Wear", "1.2 Salt"])
    ]
    found = by_heading([*units, replace(HEAT, section="Heat")])
    assert [heading for heading, _ in found] == ["Salt", "Wear", "Heat"]
    assert [hit.unit_id for hit in found[0][1]] == ["0", "2"]


def test_headings_that_say_nothing_take_no_place_of_those_that_do():
    part = SubQuestion("Salt", "salt")
    hits = [replace(SALT, unit_id=f"{place}", uri=f"{place}.md") for place in range(7)]
    gathered = GatheredUnits(tuple(hits), (FoundFor(part, tuple(hits), tuple(hits)),), "best", 7)

    def silent_at_first(part, of_heading):
        return SectionText(
            () if of_heading[0].unit_id < "5" else writer(part, of_heading).sentences
        )

    whole = Decomposition("salt", "Salt", (part,))
    found = compose(whole, gathered, writer=silent_at_first)
    assert len(found.sections) == 2


def test_a_prompt_with_one_topic_is_told_from_the_units_about_it():
    part = SubQuestion("Salt", "salt")
    found = composed([HEAT, SALT], parts=[part], title="Salt")
    assert [section.title for section in found.sections] == ["Salt"]


def test_a_sub_topic_is_covered_under_a_heading_that_fits_it():
    life = replace(document("life", "It lasts 9 hours.", title="Laptop"), section="Battery life")
    found = FoundFor(SubQuestion("Lifetime", "lifetime"), (HEAT,), (HEAT,), headed=(life,))
    decomposition = Decomposition("prompt", "Salt and heat", (PARTS[0], found.part))
    gathered = GatheredUnits((SALT, HEAT), (FoundFor(PARTS[0], (SALT,), (SALT,)), found), "best", 2)
    report = compose(decomposition, gathered, writer=writer)
    assert [section.title for section in report.sections] == ["Salt spray", "Lifetime"]
    assert report.sections[1].sentences[0].text == "It lasts 9 hours."
    assert report.not_covered == ()


def test_units_that_do_not_name_a_sub_topic_do_not_speak_for_it():
    """One that names it was found, and the room of the report went to others."""
    naming = document("noise", "Noise prediction needs a solver of its own.", title="Noise", rank=9)
    part = SubQuestion("Noise prediction", "noise prediction")
    found = FoundFor(part, hits=(HEAT,), candidates=(HEAT, naming))
    decomposition = Decomposition("prompt", "Salt and heat", (PARTS[0], part))
    by_part = (FoundFor(PARTS[0], (SALT,), (SALT,)), found)
    gathered = GatheredUnits((SALT, HEAT), by_part, "best", 3)
    report = compose(decomposition, gathered, writer=writer)
    assert [section.title for section in report.sections] == ["Salt spray"]
    assert [each.title for each in report.not_covered] == ["Noise prediction"]
