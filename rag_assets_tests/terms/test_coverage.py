import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_assets.terms.coverage import HeldTerms, coverage, terms_of


def kinds(question: str) -> dict[str, str]:
    return {term.text: term.kind for term in terms_of(question)}


def test_a_question_falls_into_what_it_names_and_everyday_words():
    found = kinds("What solidus is reported for K418 by Ericsson in 10.1007/s11665-019 at 700 °C?")

    assert found == {
        "solidus": "word",
        "reported": "word",
        "K418": "identifier",
        "Ericsson": "name",
        "10.1007/s11665-019": "identifier",
        "700": "number",
    }


def test_the_first_word_of_a_sentence_is_no_name_for_its_capital():
    assert kinds("Density of steel? Hardness too.") == {
        "Density": "word",
        "steel": "word",
        "Hardness": "word",
        "too": "word",
    }


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("1,000", "a load of 1000 N"),
        ("1,5", "is 1.50 mm thick"),
        ("0.25", "between 0.250 and 0.3"),
        ("EN-10025", "according to en10025"),
        ("strengths", "The strength of steel"),
        ("hållfastheten", "stålets hållfasthet"),
        ("S355J2", "grade s355j2+N"),
    ],
)
def test_a_term_is_held_in_another_form(asked, text):
    [term] = terms_of(asked)
    assert HeldTerms(text).has(term)


@pytest.mark.parametrize(
    ("asked", "text"),
    [("700", "at 7000 N"), ("S355J2", "grade S355K2"), ("1.5", "is 15 mm thick")],
)
def test_a_like_term_is_not_held(asked, text):
    [term] = terms_of(asked)
    assert not HeldTerms(text).has(term)


def test_what_a_question_names_counts_more_than_its_words():
    terms = terms_of("hardness of K418")

    assert coverage(terms, [HeldTerms("K418")]) == pytest.approx(0.75)
    assert coverage(terms, [HeldTerms("hardness")]) == pytest.approx(0.25)


@given(st.text(max_size=80), st.text(max_size=80))
@example("A¹", "")
@example("0\N{SOFT HYPHEN}1", "")
def test_a_question_covers_itself_and_more_text_never_covers_less(question, other):
    terms = terms_of(question)
    itself, more = HeldTerms(question), HeldTerms(other)

    assert coverage(terms, [itself]) == pytest.approx(1)
    assert coverage(terms, [more]) <= coverage(terms, [itself, more])


def test_a_version_is_found_with_and_without_its_letter():
    [term] = terms_of("v1.7.1")
    assert HeldTerms("Version 1.7.1 of the guide").has(term)
    assert not HeldTerms("Version 1.7.2 of the guide").has(term)
