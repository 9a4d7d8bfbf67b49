"""Kept answers with sentences of a language model, half of which their sources say."""

from dataclasses import replace

from rag_assets.answering.answer import Answer, Generation, Scope
from rag_assets.answering.record.answer_rows import Prepared, insert
from rag_assets.answering.record.database import answers_of
from rag_assets.answering.record.kept import KeptAnswer, new_id
from rag_assets.citations.kinds import Span
from rag_assets.citations.sentences import Sentence
from rag_assets.process import clock
from rag_assets_testing.recorded_answers import context

SCOPE = Scope("default", "bm25", {}, 10)
WRITER = Generation("local", "writer 1", {}, 1, 0, 10, 10, None, False, ())


def source(number):
    return f"Alloy Zq{number:03} bears salt for {number + 100} hours."


def said(number):
    """What an answer says of it: an odd one is wrong."""
    return f"Salt does not harm Zq{number:03} for {number + 100 + number % 2} hours."


def span(number):
    text = source(number)
    return Span("u", "h", "documents", "salt.md", "Salt", (), 0, len(text), text)


def written(number, *, judged=None):
    """An answer of one sentence."""
    sentence = Sentence(said(number), (span(number),), "numbers and names", judged, is_written=True)
    question = f"How long does Zq{number:03} bear salt?"
    return Answer(question, "written", (sentence,), SCOPE, generation=WRITER)


def kept(store, answers, *, user=None):
    """Keeps them."""
    with answers_of(store).writing() as connection:
        for answer in answers:
            at = clock.now()
            insert(connection, Prepared(KeptAnswer(new_id(at), at, answer, context(user=user))))


def worded(answer, text):
    """The same answer in other words."""
    [sentence] = answer.sentences
    return replace(answer, sentences=(replace(sentence, text=text),))
