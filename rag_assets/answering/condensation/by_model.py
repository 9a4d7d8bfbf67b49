"""A follow-up completed by a language model; where that cannot be trusted, by the rules.

    condensed = condense("and for 304?", turns, model, every_source=config.source_names)

A model may reword a question, but it may not change what is asked: a number or an identifier of the
new question must stand in the completed one, and the completed one names nothing that nobody said.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rag_assets.answering.condensation import by_rules
from rag_assets.answering.condensation.conversation import (
    BYTES_PER_TOKEN,
    REMEMBERED_TOKENS,
    Condensed,
    Turn,
    remembered,
    tokens_in,
)
from rag_assets.models.language.calls import LanguageModel, Message, Request
from rag_assets.models.language.prompts import Prompt, read_prompt
from rag_assets.table_lookup.words.word_forms import folded, words_of

if TYPE_CHECKING:
    from rag_assets.table_lookup.tables.catalogue import Catalogue
    from rag_assets.workers import Json

PACKAGE, PROMPT = "rag_assets.answering.condensation", "condense"
LONGEST_QUESTION = 500
"""The most characters of a completed question; no search needs more."""
OUTPUT_TOKENS = 400
OF_A_TURN = 20
"""Tokens that JSON puts around a turn, and more."""
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
SCHEMA: Mapping[str, "Json"] = {
    "type": "object",
    "properties": {
        "is_follow_up": {"type": "boolean"},
        "question": {"type": "string", "minLength": 1, "maxLength": LONGEST_QUESTION},
    },
    "required": ["is_follow_up", "question"],
    "additionalProperties": False,
}


def condense(
    question: str,
    turns: Sequence[Turn],
    model: LanguageModel,
    *,
    every_source: frozenset[str],
    catalogue: "Catalogue | None" = None,
) -> Condensed:
    """`question` with what it leans on, by `model`, or by the rules with a note that says why.

    Args:
        question: As it was asked.
        turns: What was said before, the oldest first. The newest 4,000 tokens are sent (P0, 4.4.4;
            P1, section 3), estimated at three bytes each, or fewer if the model's context is short.
        model: It is not asked about the first question of a conversation.
        every_source: Names of all sources: text of any of them may stand in a turn of which nobody
            knows the sources.
        catalogue: Tables whose values are entities, for the rules.
    """
    question = " ".join(question.split())
    if not turns:
        return by_rules.condensed(question, turns, catalogue=catalogue)
    asked = _asked(question, turns, model, every_source=every_source)
    if isinstance(asked, Condensed):
        return asked
    return replace(
        by_rules.condensed(question, turns, catalogue=catalogue),
        note=f"the follow-up was completed by rules, not by the language model {model.name}: "
        f"{asked.reason}",
    )


@dataclass(frozen=True, slots=True)
class _Unusable:
    """What a model gave cannot be used."""

    reason: str


def _asked(
    question: str, turns: Sequence[Turn], model: LanguageModel, *, every_source: frozenset[str]
) -> Condensed | _Unusable:
    prompt = read_prompt(PACKAGE, PROMPT)
    said = _fitting(turns, most_tokens=_most_tokens(question, prompt, model))
    if not said:
        return _Unusable("the conversation does not fit into its context")
    sources = frozenset[str]().union(
        *(every_source if turn.sources is None else turn.sources for turn in said)
    )
    completion = model.complete(
        Request(
            (Message("system", prompt.text), Message("user", _content(question, said))),
            max_tokens=OUTPUT_TOKENS,
            schema=SCHEMA,
            sources=sources,
        )
    )
    parsed = completion.parsed
    if completion.outcome != "done" or not isinstance(parsed, dict):
        return _Unusable(f"{completion.outcome}: {completion.reason}")
    if not parsed["is_follow_up"]:
        return Condensed(question, is_follow_up=False)
    whole = " ".join(str(parsed["question"]).split())
    if fault := _fault(whole, question, said):
        return _Unusable(fault)
    return Condensed(whole, is_follow_up=whole != question)


def _most_tokens(question: str, prompt: Prompt, model: LanguageModel) -> int:
    """Tokens of the conversation that may be sent."""
    taken = tokens_in(prompt.text) + tokens_in(question) + OUTPUT_TOKENS
    return min(REMEMBERED_TOKENS, model.context_tokens - taken)


def _fitting(turns: Sequence[Turn], *, most_tokens: int) -> tuple[Turn, ...]:
    """The newest turns that fit; of a last one that is too long by itself, as much as does."""
    padded = [OF_A_TURN + turn.tokens for turn in turns]
    most = next((n for n in range(len(turns), 0, -1) if sum(padded[-n:]) <= most_tokens), 0)
    if most:
        return remembered(turns[-most:])
    last = turns[-1]
    left = most_tokens - OF_A_TURN - replace(last, answer="").tokens
    if left <= 0:
        return ()
    cut = last.answer.encode(errors="replace")[: left * BYTES_PER_TOKEN].decode(errors="ignore")
    return (replace(last, answer=cut),)


def _content(question: str, said: Sequence[Turn]) -> str:
    """Conversation and question as JSON, so that none of their text passes for the prompt's."""
    conversation = [{"question": turn.question, "answer": turn.answer} for turn in said]
    content = json.dumps({"conversation": conversation, "question": question}, ensure_ascii=False)
    return content.encode(errors="replace").decode()  # a server takes no half of a character


def _fault(whole: str, question: str, said: Sequence[Turn]) -> str:
    """Why a completed question cannot be used; empty if it can."""
    if not whole.strip():
        return "its question is empty"
    if not whole.isprintable():
        return "its question holds control characters"
    kept, asked = _strict_words(whole), _strict_words(question)
    if lost := [word for word in asked if not _keys(word) <= _all_keys(kept)]:
        return f"its question leaves out {', '.join(lost)}"
    known = _all_keys(
        [
            *asked,
            *(word for turn in said for word in _strict_words(f"{turn.question} {turn.answer}")),
        ]
    )
    if invented := [word for word in kept if not _keys(word) <= known]:
        return f"its question names {', '.join(invented)}, which nobody said"
    return ""


def _strict_words(text: str) -> list[str]:
    """Numbers and identifiers of `text` as they are written."""
    return [word.text for word in words_of(text) if word.is_name]


def _keys(word: str) -> frozenset[str]:
    """The parts of an identifier or number: `15804+A2` is `15804` and `a2`, `1,000` is `1000`."""
    parts = (part.strip(".,") for part in re.split(r"[^\w.,]+", folded(word)))
    return frozenset(
        part.replace(",", "" if _THOUSANDS.fullmatch(part) else ".") for part in parts if part
    )


def _all_keys(words: Iterable[str]) -> frozenset[str]:
    return frozenset[str]().union(*map(_keys, words))
