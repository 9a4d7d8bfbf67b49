"""The questions that people really asked and that the test set lacks, with gold that people tick.

Near equal questions are one. Those come first that were answered worst, or that lie farthest from
the questions that people gave the test set. What may answer one is pooled from all retrievers that
are compared, and shown blind: in an order of its own, without retriever, rank or score. This is
pooling as TREC does it (Sparck Jones and van Rijsbergen 1975).

A ticked unit becomes gold that is anchored to the source, in a line of the file of people. Every
decision is also written down in a file beside it, with ids of the question in all its wordings:
what was asked of a person is not asked again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from rag_assets import schemas
from rag_assets.answering.quoting.highlighting import passages_of
from rag_assets.answering.record.asked import KeptQuestion
from rag_assets.config import Config, QuestionSet, RetrieverName
from rag_assets.config.questions import PEOPLE, Questions
from rag_assets.evaluation.questions import parse
from rag_assets.identity import fingerprint
from rag_assets.media.json_lines import LineError, append, lines_of, record_of
from rag_assets.quality.languages import language_of_each
from rag_assets.questions.draft import split_of
from rag_assets.questions.labelling import (
    Label,
    Screen,
    ScreenItem,
    ToLabel,
)
from rag_assets.retrieval.hits import SHOWN_COLUMNS, hits_of
from rag_assets.retrieval.rankings import ranking_of
from rag_assets.retrieval.row_cells import rows_among
from rag_assets.retrieval.search import VariantIndex
from rag_assets.store import Store
from rag_assets.table_lookup.words.phrases import language_of
from rag_assets.terms.words import Vocabulary, folded, has_number, terms

ID_PREFIX = "asked-"
ID_DIGITS = 16
DEPTH = 5
"""Units of each retriever that are pooled."""
MOST = 4_000
"""Questions that are compared at a time, the newest: a model reads a few hundred a second."""
NEAR = 0.9
"""Cosine from which two questions that name the same are one."""
NEIGHBOURS = 8
"""Nearest questions that a question is compared with word by word."""
BLOCK = 512
NONE = "none of these"
COLUMNS = (*SHOWN_COLUMNS, "fields", "pages", "char_start", "char_end")

Unit: TypeAlias = Mapping
"""A unit of the index with `COLUMNS`."""
Wordings: TypeAlias = Sequence[KeptQuestion]
"""A question in all its wordings, the one first that was asked most often."""


def id_of(question: str) -> str:
    """What stands for a question where its words are not kept: case and blanks do not count."""
    return f"{ID_PREFIX}{fingerprint(folded(question))[:ID_DIGITS]}"


def test_set_of(config: Config) -> list[str]:
    """The questions that people gave the test set.

    Raises:
        QuestionsError: One of its files cannot be read.
    """
    sets = [each for each in config.question_files if not each.generated]
    return [question.text for each in sets for question in parse(each).questions]


def decided_ids(settings: Questions) -> set[str]:
    """Ids of all wordings of the questions that somebody decided on.

    Raises:
        QuestionsError: A file of people's cannot be read.
    """
    found = set(_ids_of_people(settings))
    file = settings.asked_file
    for _, line in lines_of(file, what="decided questions") if file.exists() else ():
        with suppress(LineError):
            ids = record_of(line).get("ids")
            found.update(map(str, ids) if isinstance(ids, list) else ())
    return found


def left_with_people(settings: Questions, questions: Iterable[str]) -> str:
    """A sentence that names people's own lines with these questions; empty where there are none.

    Raises:
        QuestionsError: The file of people cannot be read.
    """
    wanted = set(map(id_of, questions))
    found = [each for each in _ids_of_people(settings) if each in wanted]
    if not found:
        return ""
    return (
        f"{settings.people_file} has some of these questions, since people took them into the test "
        f"set, and is not changed: remove its lines {', '.join(found)}, and refresh."
    )


def open_questions(
    asked: Iterable[KeptQuestion],
    *,
    test_set: Sequence[str],
    decided: set[str],
    embed: Callable[[Sequence[str]], np.ndarray],
) -> list[Wordings]:
    """What is to be asked of a person, in this order.

    What was answered worst and what is farthest from the test set take turns.

    Args:
        asked: All questions, those first that were asked last.
        test_set: See `test_set_of`.
        decided: See `decided_ids`.
        embed: The model of the index: (n, d) unit vectors of n questions.
    """
    fresh, known = [], [*test_set]
    for each in asked:
        if id_of(each.text) not in decided:
            fresh.append(each)
        else:
            known.append(each.text)
    fresh = sorted(fresh[:MOST], key=lambda each: -each.times)
    if not fresh:
        return []
    texts = [*known, *(each.text for each in fresh)]
    compared = _compared(texts, embed(texts), known=len(known), test_set=len(test_set))
    groups: dict[int, list[KeptQuestion]] = {}
    nearest: dict[int, float] = {}
    for each, (owner, cosine) in zip(fresh, compared, strict=True):
        if owner >= len(known):
            groups.setdefault(owner, []).append(each)
            nearest.setdefault(owner, cosine)
    worst = sorted(groups, key=lambda owner: min(each.badness for each in groups[owner]))
    farthest = sorted(worst, key=nearest.__getitem__) if test_set else worst
    order = dict.fromkeys(chain.from_iterable(zip(worst, farthest, strict=True)))
    return [groups[owner] for owner in order]


def screens(
    index: VariantIndex, questions: Iterable[Wordings], config: Config
) -> Iterator[ToLabel]:
    """What is asked of a person; a question for which nothing is found is left for another time."""
    names = dict.fromkeys([index.settings.retriever, *config.evaluation.retrievers])
    usable = list(filter(index.usable, names))
    for wordings in questions:
        if units := _pool(index, wordings, usable):
            question = wordings[0].text
            items = _items(index, question, units, store=Store.of(config))
            screen = Screen(question, items, {"n": NONE}, can_tick=True)
            yield screen, partial(_keep, config.questions, wordings, units)


def _ids_of_people(settings: Questions) -> list[str]:
    file = settings.people_file
    if not file.exists():
        return []
    return [each.id for each in parse(QuestionSet(name=PEOPLE, path=file)).questions]


def _compared(
    texts: Sequence[str], vectors: np.ndarray, *, known: int, test_set: int
) -> Iterator[tuple[int, float]]:
    """What each text behind the `known` ones is like.

    Yields:
        The place of the first text that is near equal to it, which may be its own; and its largest
        cosine with the first `test_set` texts.
    """
    owners = list(range(known))
    named = [frozenset(terms(text)) for text in texts]
    for start in range(known, len(texts), BLOCK):
        cosines = vectors[start : start + BLOCK] @ vectors[: start + BLOCK].T
        for place, row in enumerate(cosines, start=start):
            near = np.flatnonzero(row[:place] >= NEAR)
            near = near[np.argsort(-row[near], kind="stable")[:NEIGHBOURS]].tolist()
            same = [owners[each] for each in near if _name_the_same(named[place], named[each])]
            owners.append(same[0] if same else place)
            yield owners[place], float(row[:test_set].max(initial=-1.0))


def _name_the_same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether each word of one is in the other in some form, and numbers and codes are equal."""
    if any(map(has_number, one ^ other)):
        return False
    return all(map(Vocabulary(other).share_of, one)) and all(map(Vocabulary(one).share_of, other))


def _pool(
    index: VariantIndex, wordings: Wordings, retrievers: Iterable[RetrieverName]
) -> list[Unit]:
    """The first units of all retrievers and those that people marked, in an order of its own."""
    question = wordings[0].text
    found = set(_right_sources(wordings))
    for name in retrievers:
        found.update(hit.unit_id for hit in index.search(question, retriever=name, top_k=DEPTH))
    units = index.read(sorted(found), COLUMNS).to_pylist() if found else []
    return sorted(units, key=lambda unit: fingerprint(question, unit["unit_id"]))


def _right_sources(wordings: Wordings) -> frozenset[str]:
    return frozenset().union(*(each.right_sources for each in wordings))


def _items(
    index: VariantIndex, question: str, units: Sequence[Unit], *, store: Store
) -> list[ScreenItem]:
    """The units as they are shown, with the passage that fits best, as where units are found."""
    unranked = ranking_of((unit["unit_id"], 0.0) for unit in units)
    hits = hits_of(unranked, units, around={}, families=index.families, stale={}, linked={})
    rows = rows_among(hits, store=store, complete_set=index.complete_set)
    passages = passages_of(question, hits, rows=rows, encoder=index.encoder)
    return [
        ScreenItem(_title(unit), passage.text, unit_text(unit))
        for unit, passage in zip(units, passages, strict=True)
    ]


def _title(unit: Unit) -> str:
    if unit["table"] is not None:
        return f"{unit['title']} ({unit['uri']}, row {unit['row_key']})"
    pages = ", ".join(f"p. {page}" for page in unit["pages"])
    return " - ".join(filter(None, (unit["uri"], pages, unit["section"])))


def unit_text(unit: Unit) -> str:
    """What stands at the source: of a chunk, the text without its header."""
    if unit["table"] is not None:
        return unit["text"]
    return schemas.slice_of(unit["text"], unit["char_start"], unit["char_end"])


def _keep(settings: Questions, wordings: Wordings, units: Sequence[Unit], decision: Label) -> None:
    """Write a decision down; the gold comes first, so that no tick is lost."""
    ids = [id_of(each.text) for each in wordings]
    if decision.ticked:
        ticked = [units[place] for place in decision.ticked]
        line = _line(ids[0], decision.question, ticked, marked=_right_sources(wordings))
        append(settings.people_file, line)
    append(settings.asked_file, {"decision": decision.name, "ids": ids})


def _line(
    name: str, question: str, ticked: Sequence[Unit], *, marked: frozenset[str]
) -> dict[str, object]:
    """A line of a question file: see `evaluation.questions`."""
    [language] = language_of_each(pa.array([question])).to_pylist()
    places = [(unit, page) for unit in ticked for page in unit["pages"] or [None]]
    return {
        "id": name,
        "question": question,
        "gold": list(dict.fromkeys(_gold(*place) for place in places)),
        "evidence": [
            {"doc_id": _document(unit), "page": page, "text": unit_text(unit)}
            for unit, page in places
            if unit["table"] is None
        ],
        "lang": language or language_of(question),
        "split": split_of(min(unit["document_id"] or unit["uri"] for unit in ticked)),
        "origin": "asked",
        "right_source": any(unit["unit_id"] in marked for unit in ticked),
    }


def _gold(unit: Unit, page: int | None) -> str:
    """The name of what a unit stands for at its source: a page of a document, or a row."""
    if unit["table"] is not None:
        table = unit["uri"].replace(":", "\\:")
        return f"row:{table}:{unit['row_key']}"
    return f"doc:{_document(unit)}" + ("" if page is None else f"#page={page}")


def _document(unit: Unit) -> str:
    return f"{unit['source']}/{unit['uri']}"
