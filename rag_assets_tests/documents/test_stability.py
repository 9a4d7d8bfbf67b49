"""What an edit changes: the chunks at its place, and none elsewhere."""

import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rag_assets.documents.chunks.chunking import SHORT
from rag_assets.documents.chunks.regions import DocumentText
from rag_assets_tests.documents.chunks.test_chunking import PARTS, block, cut, word_piece

SECTIONS = st.lists(st.lists(PARTS, max_size=4), min_size=1, max_size=5)
VOCABULARY = ("steel", "plate", "was", "bent", "until", "it", "broke", "at", "the", "weld", "grain")


def blocks_of(sections):
    """A heading for each section, and its parts below: no section is without text."""
    blocks = []
    for number, parts in enumerate(sections):
        path = (f"{number} Head",)
        blocks.append(block(len(blocks), path[0], kind="heading", path=path))
        for text, kind in [("Words.", "text"), *parts]:
            kept = "text" if kind == "heading" else kind
            blocks.append(block(len(blocks), text, kind=kept, path=path))
    return blocks


@given(
    sections=SECTIONS,
    edit=st.lists(PARTS, max_size=4),
    data=st.data(),
    size=st.integers(16, 60),
    header=st.sampled_from(["none", "section"]),
    strategy=st.sampled_from(["headers", "sentences"]),
)
def test_an_edit_leaves_the_chunks_of_other_sections(sections, edit, data, size, header, strategy):
    place = data.draw(st.integers(0, len(sections) - 1))
    edited = [*sections[:place], edit, *sections[place + 1 :]]

    def elsewhere(held):
        chunks = cut(blocks_of(held), strategy=strategy, size=size, header=header)
        return [chunk.text for chunk in chunks if chunk.section_path != (f"{place} Head",)]

    assert elsewhere(edited) == elsewhere(sections)


def paragraphs(count, *, seed):
    drawn = random.Random(seed)
    return [
        " ".join(
            " ".join([*drawn.choices(VOCABULARY, k=drawn.randint(5, 20)), f"{drawn.random():.4f}."])
            for _ in range(drawn.randint(2, 5))
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("overlap", [0, 12])
@pytest.mark.parametrize("seed", range(20))
def test_content_leaves_all_chunks_but_those_at_the_edit(seed, overlap):
    before = paragraphs(60, seed=seed)
    drawn = random.Random(seed)
    place = drawn.randrange(60)
    words = before[place].split()
    at = drawn.randrange(len(words))
    edit = [[], ["newly", "put", "in", "here."], words[at : at + 3] * 2][seed % 3]
    after = [*before]
    after[place] = " ".join([*words[:at], *edit, *words[at + 3 :]]) or "Gone."

    def texts(held):
        blocks = [block(index, text) for index, text in enumerate(held)]
        return [chunk.text for chunk in cut(blocks, strategy="content", size=64, overlap=overlap)]

    held = set(texts(before))
    changed = [text for text in texts(after) if text not in held]
    assert len(held) > 40
    assert len(changed) <= 4


@pytest.mark.parametrize("seed", range(20))
def test_a_section_that_two_chunks_hold_is_cut_in_two_and_an_edit_changes_no_third(seed):
    counter = word_piece()
    size, overlap = 400, 20
    room = size - counter.special - overlap
    texts = paragraphs(40, seed=seed)
    before = texts[:1]
    while counter.count(" ".join([*before, texts[len(before)]])) < 1.5 * room:
        before.append(texts[len(before)])
    drawn = random.Random(seed)
    place = drawn.randrange(len(before))
    sentences = before[place].split(". ")
    sentences[drawn.randrange(len(sentences))] = "It was bent once more at the weld"
    after = [*before[:place], ". ".join(sentences), *before[place + 1 :]]

    def chunks_of_section(parts):
        sections = [[(part, "text") for part in parts], [("Rolled.", "text")]]
        chunks = cut(blocks_of(sections), strategy="headers", size=size, overlap=overlap)
        return [chunk.text for chunk in chunks if chunk.section_path == ("0 Head",)]

    assert len(chunks_of_section(before)) == len(chunks_of_section(after)) == 2


SENTENCE = st.integers(4, 14).map(lambda count: "It was bent until the weld broke" + " x" * count)
PARAGRAPHS = st.lists(st.lists(SENTENCE, min_size=2, max_size=4), min_size=4, max_size=16)


@given(paragraphs=PARAGRAPHS, data=st.data())
def test_an_edited_sentence_of_a_short_section_changes_two_chunks_at_most(paragraphs, data):
    """Whatever the sentence, also one that begins a paragraph; a third only where it is repeated.

    It is then the last of a chunk that it makes too long, and stands in the next one as well.
    """
    counter = word_piece()
    size = 240
    texts = numbered(paragraphs)
    place = data.draw(st.integers(0, len(texts) - 1))
    at = data.draw(st.integers(0, len(texts[place]) - 1))
    edit = data.draw(st.sampled_from(["replaced", "put in", "taken out"]))
    kept = texts[place][at + 1 :] if edit != "put in" else texts[place][at:]
    new = ["The new one is this."] if edit != "taken out" else []
    edited = [*texts[place][:at], *new, *kept] or ["Gone."]

    def chunks(parts, overlap):
        blocks = blocks_of([[(" ".join(part), "text") for part in parts]])
        assume(counter.count(" ".join(one.text for one in blocks)) <= SHORT * (size - 2))
        return [one.text for one in cut(blocks, strategy="headers", size=size, overlap=overlap)]

    after = [*texts[:place], edited, *texts[place + 1 :]]
    for overlap, most in ((0, 2), (30, 3)):
        held = set(chunks(texts, overlap))
        assert len([text for text in chunks(after, overlap) if text not in held]) <= most


def numbered(paragraphs):
    """No two sentences are the same."""
    return [
        [f"{sentence} {place}.{at}." for at, sentence in enumerate(sentences)]
        for place, sentences in enumerate(paragraphs)
    ]


def test_text_that_repeats_itself_is_cut_in_few_steps():
    blocks = [block(0, "the same sentence again. " * 20_000)]
    chunks = cut(blocks, strategy="content", size=64, overlap=8)
    assert min(chunk.tokens for chunk in chunks[:-1]) >= 16
    assert chunks[-1].char_end == len(DocumentText.of(blocks).text.rstrip())


def test_cuts_by_content_are_at_paragraphs_and_sentences_where_they_can_be():
    text = paragraphs(80, seed=1)
    blocks = [block(index, part) for index, part in enumerate(text)]
    chunks = cut(blocks, strategy="content", size=128, overlap=0)
    begins = {DocumentText.of(blocks).starts[index] for index in range(len(blocks))}
    assert sum(chunk.char_start in begins for chunk in chunks) > 0.8 * len(chunks)
    assert all(chunk.text.endswith(".") for chunk in chunks)
