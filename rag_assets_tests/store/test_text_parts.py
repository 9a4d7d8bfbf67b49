"""Which parts of a full-text index are built, by numbers alone."""

from hypothesis import given
from hypothesis import strategies as st

from rag_assets.store.text_parts import FEW_ROWS, MOST_ROWS, TextIndex, TextPart, to_be_counted

ROWS = st.one_of(st.integers(0, 20), st.integers(0, 2 * MOST_ROWS))


@st.composite
def indexes(draw) -> tuple[TextIndex, dict[int, int]]:
    rows = dict(enumerate(draw(st.lists(ROWS, max_size=12))))
    of = {fragment: draw(st.integers(-1, 4)) for fragment in rows}
    parts = [
        _part([one for one in rows if of[one] == place], rows, is_exact=draw(st.booleans()))
        for place in sorted({*of.values()} - {-1})
    ]
    if draw(st.booleans()):
        parts.append(TextPart("all that it covered is gone", frozenset(), rows=0, is_exact=False))
    return TextIndex(parts, frozenset(one for one in rows if of[one] == -1)), rows


def _part(fragments: list[int], rows: dict[int, int], *, is_exact: bool = True) -> TextPart:
    name = str(min(fragments))
    return TextPart(name, frozenset(fragments), sum(rows[one] for one in fragments), is_exact)


@given(indexes())
def test_what_is_counted_otherwise_is_built_and_no_part_is_torn(given_index):
    index, rows = given_index
    built = to_be_counted(index, rows=rows)
    counted = {fragment for part in built for fragment in part}
    assert sum(map(len, built)) == len(counted)
    assert counted >= index.uncounted
    for part in index.parts:
        assert part.is_exact or part.fragments <= counted
        assert part.fragments <= counted or not part.fragments & counted
    assert all(len(one) == 1 or sum(map(rows.__getitem__, one)) <= MOST_ROWS for one in built)
    assert bool(built) is not index.is_exact, "an empty part mends an empty table"


@given(st.lists(st.integers(1, 3_000), min_size=1, max_size=300))
def test_however_often_rows_come_parts_stay_few_and_none_is_built_often(added):
    parts: list[TextPart] = []
    rows: dict[int, int] = {}
    built = 0
    for count in added:
        rows[len(rows)] = count
        index = TextIndex(parts, frozenset({len(rows) - 1}))
        made = to_be_counted(index, rows=rows)
        built += sum(rows[one] for part in made for one in part)
        counted = {one for part in made for one in part}
        parts = [part for part in parts if not part.fragments & counted]
        parts += [_part(part, rows) for part in made]
        assert len(parts) <= 5
    assert built <= sum(added) * 12 + FEW_ROWS * len(added)
