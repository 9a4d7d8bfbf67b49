"""Kept answers and replays, as text for people and as JSON."""

import json
from collections.abc import Iterator, Sequence

from rag_assets.answering.answer import to_json
from rag_assets.answering.record.differing import AnswerDifference, UnitDifference
from rag_assets.answering.record.kept import KeptAnswer, context_json
from rag_assets.answering.record.listing import ListedAnswer
from rag_assets.answering.record.notices import Notice
from rag_assets.answering.record.replaying import Replayed
from rag_assets.answering.record.staleness import TouchedSentence
from rag_assets.reports.text_tables import cut, table
from rag_assets.serving.replies import Json
from rag_assets.store.serving_pointer import ServingPointer

LIST_COLUMNS = ("answer_id", "asked", "user", "outcome", "stale", "question")
LONGEST_QUESTION = 60
ROLLED_BACK = "rolled back since: what serves is from before the change"
ID_CHARACTERS = 8
"""The characters of a unit's id that people read."""


def list_record(listed: ListedAnswer) -> dict[str, Json]:
    """An answer of a list, for programs."""
    answer, context = listed.kept.answer, listed.kept.context
    return {
        "answer_id": listed.kept.answer_id,
        "kept_at": listed.kept.kept_at.isoformat(timespec="milliseconds"),
        "question": answer.question,
        "outcome": answer.outcome,
        "user": context.user,
        "variant": answer.scope.variant,
        "retriever": answer.scope.retriever,
        "sentences": [sentence.text for sentence in answer.sentences],
        "stale": _stale_record(listed.touched),
    }


def list_text(listed: Sequence[ListedAnswer]) -> str:
    """A list of answers, for people."""
    rows = [
        {
            "answer_id": each.kept.answer_id,
            "asked": each.kept.kept_at.strftime("%Y-%m-%d %H:%M"),
            "user": each.kept.context.user,
            "outcome": each.kept.answer.outcome,
            "stale": _stale_cell(each.touched),
            "question": cut(" ".join(each.kept.answer.question.split()), LONGEST_QUESTION),
        }
        for each in listed
    ]
    return table(rows, columns=LIST_COLUMNS)


def one_record(listed: ListedAnswer, *, gone: Sequence[str]) -> dict[str, Json]:
    """All of one answer, for programs; `gone` are tables that it cannot be run on any more."""
    kept = listed.kept
    conditions = kept.context.conditions
    return {
        "answer_id": kept.answer_id,
        "kept_at": kept.kept_at.isoformat(timespec="milliseconds"),
        "program": conditions.program,
        "answer": to_json(kept.answer),
        "context": {**json.loads(context_json(kept.context)), "conditions": conditions.key},
        "retriever": {
            "name": conditions.query_side.retriever,
            "settings": json.loads(json.dumps(conditions.query_side.settings)),
        },
        "pins": {pin.table: pin.version for pin in conditions.complete_set.pins},
        "tables_gone": list(gone),
        "stale": _stale_record(listed.touched),
    }


def one_text(listed: ListedAnswer, *, gone: Sequence[str]) -> str:
    """All of one answer, for people."""
    return "\n\n".join("\n".join(part) for part in _parts(listed, gone) if part)


def replay_record(done: Replayed) -> dict[str, Json]:
    """A replay, for programs."""
    return {
        "answer_id": done.kept.answer_id,
        "question": done.kept.answer.question,
        "answer": to_json(done.answer),
        "difference": dict(done.difference.record),
        "notes": list(done.notes),
    }


def replay_text(done: Replayed, *, on: str) -> str:
    """A replay, for people: what differs."""
    where = "the versions that it used" if on == "kept" else "what serves now"
    lines = [f"“{done.kept.answer.question}”, asked again on {where}:", ""]
    if done.difference.is_equal:
        lines.append("the same answer, byte for byte.")
    else:
        lines.extend(_differing(done.difference))
    lines.extend(f"Note: {note}." for note in done.notes)
    return "\n".join(lines)


def notice_record(notice: Notice, pointer: ServingPointer | None) -> dict[str, Json]:
    """A notice, for programs."""
    difference = notice.difference
    return {
        "answer_id": notice.before.answer_id,
        "now_id": notice.after.answer_id if notice.after else None,
        "question": notice.before.answer.question,
        "user": notice.before.context.user,
        "asked": notice.before.kept_at.isoformat(timespec="milliseconds"),
        "made_at": notice.made_at.isoformat(timespec="milliseconds"),
        "seen_at": notice.seen_at.isoformat(timespec="milliseconds") if notice.seen_at else None,
        "number": notice.number,
        "rolled_back": notice.is_rolled_back(pointer),
        "touched": _stale_record(notice.touched),
        "before": to_json(notice.before.answer),
        "now": to_json(notice.after.answer) if notice.after else None,
        "difference": dict(difference.record) if difference else None,
    }


def notice_text(notice: Notice, pointer: ServingPointer | None) -> str:
    """A notice, for people: old above new, what changed and when."""
    heading, *lines = notice.lines
    if notice.is_rolled_back(pointer):
        lines.append(ROLLED_BACK)
    lines.append(f"rag-assets answers show {notice.before.answer_id}")
    return "\n".join([heading, *(f"  {line}" for line in lines)])


def _differing(found: AnswerDifference) -> Iterator[str]:
    before, after = found.outcomes
    if before != after:
        yield f"Outcome: {before}, now {after}"
    yield f"{'Passages found' if after == 'found' else 'Sentences'} (- then, + now):"
    yield from (f"  {line}" for line in found.sentences or ("none then, none now",))
    if found.citations_gone or found.citations_new:
        yield "Citations (- then, + now):"
        yield from (f"  - {line}" for line in found.citations_gone)
        yield from (f"  + {line}" for line in found.citations_new)
    if found.units:
        yield "Units that were retrieved at another rank:"
        yield from (f"  {_moved(each)}" for each in found.units)
    if not (found.units or found.citations_gone or found.citations_new):
        yield "What differs else is in the answers' details: see --json"


def _moved(unit: UnitDifference) -> str:
    name = f"{unit.uri} ({unit.unit_id[:ID_CHARACTERS]})"
    if unit.before is None:
        return f"{name}: new, rank {unit.after}"
    if unit.after is None:
        return f"{name}: not among them any more, was rank {unit.before}"
    changed = ", its text changed" if unit.is_changed else ""
    return f"{name}: rank {unit.before}, now {unit.after}{changed}"


def _parts(listed: ListedAnswer, gone: Sequence[str]) -> Iterator[list[str]]:
    kept = listed.kept
    answer, context = kept.answer, kept.context
    yield [f"“{answer.question}”", *(f"after: “{each}”" for each in context.history)]
    touched = {each.sentence: each.why for each in listed.touched or ()}
    for place, sentence in enumerate(answer.sentences, start=1):
        lines = [f"{place}. {sentence.text}", *(f"   - {e.in_words}" for e in sentence.citations)]
        yield [*lines, f"   stale: {touched[place]}"] if place in touched else lines
    if answer.reason:
        yield [answer.reason]
    yield [*_facts(kept), *_gone(gone)]


def _facts(kept: KeptAnswer) -> Iterator[str]:
    answer, context = kept.answer, kept.context
    conditions = context.conditions
    by = f" by {context.user}" if context.user else ""
    yield f"Asked {kept.kept_at:%Y-%m-%d %H:%M:%S} UTC{by}; outcome: {answer.outcome}"
    yield (
        f"Variant {answer.scope.variant}, retriever {answer.scope.retriever}, "
        f"{len(answer.shown):,} units retrieved, {sum(answer.seconds.values()):.2f} s, "
        f"version {conditions.program}"
    )
    pins = ", ".join(f"{pin.table} at {pin.version}" for pin in conditions.complete_set.pins)
    yield f"Tables: {pins}"
    yield from (f"{name}: {found}" for name, found in context.checks.items())


def _gone(gone: Sequence[str]) -> list[str]:
    if not gone:
        return ["Run it again with rag-assets answers replay."]
    return [f"It cannot be run again as it was: {', '.join(gone)} is gone"]


def _stale_record(touched: Sequence[TouchedSentence] | None) -> Json:
    if touched is None:
        return None
    return [{"sentence": each.sentence, "text": each.text, "why": each.why} for each in touched]


def _stale_cell(touched: Sequence[TouchedSentence] | None) -> str:
    if touched is None:
        return "?"
    return ", ".join(str(each.sentence) for each in touched)
