from hypothesis import given
from hypothesis import strategies as st

from rag_assets.evaluation.quotes import ChunkText, JoinedChunks
from rag_assets.terms.words import normalized

TEXT = "The yield strength of S355 is 355 MPa.\n\nIts tensile strength is at least 470 MPa."


def cut(text: str, *spans: tuple[int, int]) -> list[ChunkText]:
    return [ChunkText(f"{start}-{end}", start, end, text[start:end]) for start, end in spans]


def test_only_letters_and_digits_are_compared() -> None:
    assert normalized("The ﬁrst **cell**,\n5 µm²") == "thefirstcell5μm2"


def test_a_chunk_holds_a_quote_whatever_the_line_breaks() -> None:
    document = JoinedChunks(cut(TEXT, (0, 40), (40, len(TEXT))))
    assert document.chunks_with("yield-strength\nof s355") == {"0-40"}


def test_a_quote_over_a_boundary_is_held_by_both_chunks() -> None:
    document = JoinedChunks(cut(TEXT, (0, 30), (30, 60), (60, len(TEXT))))
    assert document.chunks_with("S355 is 355 MPa. Its tensile") == {"0-30", "30-60"}


def test_overlapping_chunks_both_hold_what_lies_in_their_overlap() -> None:
    document = JoinedChunks(cut(TEXT, (0, 38), (22, len(TEXT))))
    assert document.chunks_with("S355 is 355 MPa") == {"0-38", f"22-{len(TEXT)}"}


def test_a_gap_between_chunks_is_no_text() -> None:
    document = JoinedChunks(cut(TEXT, (0, 37), (40, len(TEXT))))
    assert document.chunks_with("355 MPa. Its tensile") == {"0-37", f"40-{len(TEXT)}"}


def test_every_occurrence_counts() -> None:
    document = JoinedChunks(cut(TEXT, (0, 40), (40, len(TEXT))))
    assert document.chunks_with("MPa") == {"0-40", f"40-{len(TEXT)}"}


def test_what_is_not_there_and_what_has_no_letters_is_held_by_none() -> None:
    document = JoinedChunks(cut(TEXT, (0, len(TEXT))))
    assert document.chunks_with("fracture toughness") == set()
    assert document.chunks_with("---") == set()
    assert JoinedChunks([]).chunks_with("MPa") == set()


@given(
    st.text(alphabet="abc .,-\n", min_size=1, max_size=60),
    st.data(),
)
def test_a_chunk_holds_a_quote_if_and_only_if_they_share_a_character(
    text: str, data: st.DataObject
) -> None:
    starts = [0, *sorted(data.draw(st.sets(st.integers(1, len(text)), max_size=4)))]
    overlap = data.draw(st.integers(0, 5))
    spans = [
        (max(0, start - overlap), end)
        for start, end in zip(starts, [*starts[1:], len(text)], strict=True)
        if start < end
    ]
    first = data.draw(st.integers(0, len(text) - 1))
    quote = text[first : data.draw(st.integers(first + 1, len(text)))]
    wanted = normalized(quote)
    whole = normalized(text)
    places = [place for place in range(len(whole)) if wanted and whole.startswith(wanted, place)]
    expected = {
        f"{start}-{end}"
        for start, end in spans
        for place in places
        if len(normalized(text[:start])) < place + len(wanted)
        and place < len(normalized(text[:end]))
    }
    assert JoinedChunks(cut(text, *spans)).chunks_with(quote) == expected
