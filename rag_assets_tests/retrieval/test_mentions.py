"""Every place of a text is found once, however documents were cut into chunks."""

import random
import re

import pytest

from rag_assets.config import Config
from rag_assets.retrieval import mentions
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.mentions import PatternError, SoughtText, mentions_of
from rag_assets.retrieval.opening import open_index
from rag_assets.store import Store
from rag_assets_tests.models.tiny import PLAIN_MODELS, PLAIN_VARIANTS
from rag_assets_tests.retrieval.corpus import VARIANT, chunk, random_vectors, row, write

WORDS = ("salt", "Salt spray", "spray", "röd", "ä", "a-b", "12", "12 N/mm", "(x)", "e")
SEED = 7


def texts():
    """Documents of random words, by their names."""
    drawn = random.Random(SEED)
    return {
        f"{number}.md": "".join(
            drawn.choice(WORDS) + drawn.choice((" ", " ", "\n", ". ", "\n\n")) for _ in range(60)
        ).strip()
        for number in range(12)
    }


def chunks(uri, text):
    """A text cut anywhere, with overlaps, and blanks left out between some of the chunks."""
    drawn = random.Random(uri)
    start, index = 0, 0
    while start < len(text):
        end = min(len(text), start + drawn.randint(5, 60))
        said = f"Header of {uri}\n\n{text[start:end]}"
        unit_id = f"{uri}/{index}"
        yield chunk(
            said,
            uri=uri,
            index=index,
            char_start=start,
            char_end=end,
            pages=[index],
            unit_id=unit_id,
        )
        if end == len(text):
            return
        start, index = max(start + 1, end - drawn.choice((0, 0, 3, 9))), index + 1
        if drawn.random() < 0.5 and text[end] in " \n" and start == end:
            start = re.compile(r"\S").search(text, end).start()


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """Documents and rows, read a few at a time."""
    config = Config(
        state_dir=tmp_path_factory.mktemp("state"), models=PLAIN_MODELS, variants=PLAIN_VARIANTS
    )
    units = [each for uri, text in texts().items() for each in chunks(uri, text)]
    random.Random(SEED).shuffle(units)
    units += [
        row(f"Item where hours is {key} of salt.", table="t", key=str(key)) for key in range(9)
    ]
    store = Store(config.state_dir)
    write(store, config, units, random_vectors(len(units)))
    return open_index(store, config, VARIANT)


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch):
    monkeypatch.setattr(mentions, "UNITS_AT_ONCE", 5)


def found(index, *sought, filters=None, **settings):
    blocks = mentions_of(SoughtText(*sought, **settings), index, filters)
    return [each for block in blocks for each in block]


@pytest.mark.parametrize("whole_words", [False, True])
@pytest.mark.parametrize("word", WORDS)
def test_every_place_in_a_document_is_found_where_it_stands(index, word, whole_words):
    """The oracle reads the whole texts, which nobody cut."""
    beside = r"(?<![^\W_]){}(?![^\W_])" if whole_words else "{}"
    blank = r"(?:[ ]+|[ ]*\n[ ]*)"
    fitting = re.compile(beside.format(blank.join(map(re.escape, word.split()))), re.IGNORECASE)
    wanted = {
        uri: [place.span() for place in fitting.finditer(text)] for uri, text in texts().items()
    }
    told = {
        each.uri: [(place.start, place.end) for place in each.places]
        for each in found(index, word, whole_words=whole_words, filters=Filters(domain="document"))
    }
    assert told == {uri: places for uri, places in wanted.items() if places}


def test_a_place_names_the_unit_and_page_of_its_first_character(index):
    by_id = {each["unit_id"]: each for uri, text in texts().items() for each in chunks(uri, text)}
    for source in found(index, "salt", filters=Filters(domain="document")):
        for place in source.places:
            unit = by_id[place.unit_id]
            assert unit["char_start"] <= place.start < unit["char_end"]
            assert list(place.pages) == unit["pages"]
            assert place.text in place.line
            assert texts()[source.uri][place.start : place.end] == place.text


def test_each_row_is_a_source_of_its_own(index):
    rows = found(index, "salt", filters=Filters(domain="table"))
    assert [each.row_key for each in rows] == [str(key) for key in range(9)]
    assert [each.row_key for each in found(index, "is [3-4] ", is_pattern=True)] == ["3", "4"]


def test_upper_and_lower_case_differ_where_they_are_told_to(index):
    either = sum(len(each.places) for each in found(index, "SALT"))
    assert either > sum(len(each.places) for each in found(index, "Salt", same_case=True)) > 0
    assert not found(index, "SALT", same_case=True)


@pytest.mark.parametrize(
    ("text", "is_pattern", "says"),
    [
        (" ", False, "1 to 500 characters"),
        ("x" * 501, False, "1 to 500 characters"),
        ("(?=x)", True, "no look-around"),
        ("(x", True, "missing )"),
        ("x*", True, "fits an empty text"),
    ],
)
def test_what_cannot_be_looked_for_is_refused_with_what_is_allowed(index, text, is_pattern, says):
    with pytest.raises(PatternError, match=re.escape(says)):
        found(index, text, is_pattern=is_pattern)


def test_a_pattern_that_would_take_others_for_ever_is_quick(index):
    assert not found(index, "(e+)+(e+)+z", is_pattern=True)
