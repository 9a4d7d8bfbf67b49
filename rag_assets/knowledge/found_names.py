"""Entities and relations that a language model finds in the texts of documents (P3, 2.3 to 2.5).

The paper has trained models link spans of a text with entries of Wikipedia, and classify relations
between these. Here the language model that `links.language_model` names says which things a chunk
names, what they are called in full, and what the chunk states of them. Each comes with a
quotation: what does not stand in the text in whole words, by letters and digits, is dropped. An
entity is a name that the unit mentions; a relation makes its document one that is about its
subject, and what it says of that is in this unit.

A text is read once, however many documents and tables hold it: what was found in it is kept beside
the names of its unit, under a hash of text, model and prompt, and copied from there.
"""

import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from rag_assets.change.quarantine import Failure
from rag_assets.config import FOUND_KINDS, Config, FoundKind
from rag_assets.identity import fingerprint
from rag_assets.knowledge.mentions import UnitName
from rag_assets.models.hosted import asked_side_by_side
from rag_assets.models.language.calls import Completion, Message, Request
from rag_assets.models.language.many_asked import ManyAsked, blame_of
from rag_assets.models.language.opening import open_entry
from rag_assets.models.language.prompts import Prompt, read_prompt
from rag_assets.schemas import READ_BY, UNIT_LINKS_PREFIX
from rag_assets.store import Store
from rag_assets.terms.names import name_of
from rag_assets.terms.words import place_of
from rag_assets.workers import Json

PACKAGE = "rag_assets.knowledge"
READING = 1
"""Raised when the same answers of a model give other names."""
UNITS_A_BATCH = 64
"""Texts that are read before what was found in them is committed."""
MOST_OF_A_KIND = 40
ANSWER_TOKENS = 2_000
_TEXT: Json = {"type": "string", "maxLength": 300}
FIELDS: Mapping[str, tuple[str, ...]] = {
    "entities": ("name", "quotation"),
    "relations": ("subject", "relation", "object", "quotation"),
}
"""What a model says of each entity and of each relation."""
_OBJECT: Mapping[str, Json] = {"type": "object", "additionalProperties": False}
SCHEMA: Mapping[str, Json] = {
    **_OBJECT,
    "required": [*FIELDS],
    "properties": {
        kind: {
            "type": "array",
            "maxItems": MOST_OF_A_KIND,
            "items": {
                **_OBJECT,
                "required": [*names],
                "properties": dict.fromkeys(names, _TEXT),
            },
        }
        for kind, names in FIELDS.items()
    },
}
Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class FoundNames:
    """What was found in some units."""

    names: Mapping[str, Sequence[UnitName]]
    """The entities and relations of each unit."""
    marks: Mapping[str, str]
    """Of the units that were read, what their names rest on: see `NameFinder.mark`."""
    failed: Sequence[Failure] = field(default=())
    """Units that the model gave nothing for."""


@dataclass(frozen=True, slots=True)
class NameFinder:
    """The language model that reads units, asked by one pass of a table."""

    asked: ManyAsked
    store: Store
    model: str
    """Its name at the server."""
    prompt: Prompt
    tables: Sequence[str]
    """The tables that hold what was found before, retired ones included."""

    def mark(self, text: str) -> str:
        """What decides what is found in a text."""
        return fingerprint(READING, self.model, self.prompt.hash, text)

    def read(self, units: Sequence[Row]) -> FoundNames:
        """The entities and relations in `units`, of sources that the model may see.

        Args:
            units: Chunks, with `unit_id`, `source`, `uri`, `section` and `text`.
        """
        client = self.asked.client
        seen = [unit for unit in units if client.may_see([str(unit["source"])])]
        marks = {str(unit["unit_id"]): self.mark(str(unit["text"])) for unit in seen}
        known = self._known({*marks.values()})
        names: dict[str, Sequence[UnitName]] = {
            unit: known[mark] for unit, mark in marks.items() if mark in known
        }
        new = [unit for unit in seen if unit["unit_id"] not in names]
        at_once = client.settings.concurrency
        answers = asked_side_by_side(self._asked, new, at_once=at_once)
        failed = []
        for unit, answer in zip(new, answers, strict=True):
            key, text = str(unit["unit_id"]), str(unit["text"])
            if answer.outcome == "done" and isinstance(answer.parsed, dict):
                names[key] = list(names_said(answer.parsed, text))
                continue
            is_of_input, reason = blame_of(answer)
            blame = "input" if is_of_input else "environment"
            failed.append(Failure(key, reason, str(unit["uri"]), blame))
        return FoundNames(names, {key: marks[key] for key in names}, failed)

    def _asked(self, unit: Row) -> Completion:
        given = {"section": str(unit["section"]), "passage": str(unit["text"])}
        content = json.dumps(given, ensure_ascii=False)
        messages = (Message("system", self.prompt.text), Message("user", content))
        sources = frozenset({str(unit["source"])})
        return self.asked.complete(Request(messages, ANSWER_TOKENS, SCHEMA, sources))

    def _known(self, marks: set[str]) -> dict[str, Sequence[UnitName]]:
        """What was found before in texts with these marks."""
        found: dict[str, Sequence[UnitName]] = {}
        for table in self.tables if marks else ():
            rows = self.store.read_keys(
                table, column=READ_BY, keys=sorted(marks), columns=[READ_BY, "mentions"]
            )
            for mark, mentions in zip(*(each.to_pylist() for each in rows.columns), strict=True):
                every = (UnitName(**each) for each in mentions)
                found[mark] = [each for each in every if each.kind in FOUND_KINDS]
        return found


def names_said(said: Mapping[str, Json], text: str) -> Iterator[UnitName]:
    """The entities and relations of an answer whose quotations stand in `text`."""
    for kind, fields in FIELDS.items():
        listed = said[kind]
        for each in listed if isinstance(listed, list) else ():
            given = {name: str(each[name]) for name in fields} if isinstance(each, dict) else {}
            if given and (held := place_of(given["quotation"], text, in_whole_words=True)):
                yield from _named(given, text[held.start : held.stop], f"{held.start}-{held.stop}")


def _named(given: Mapping[str, str], quotation: str, place: str) -> Iterator[UnitName]:
    """The names of one entity, or of the subject and the object of one relation."""
    kind: FoundKind = "relation" if "subject" in given else "entity"
    if kind == "relation":
        yield UnitName(kind, name_of(given["subject"]), quotation, place, defines=True)
    named = given.get("name") or given["object"]
    yield UnitName("entity", name_of(named), quotation, place, defines=False)


@contextmanager
def opened_finder(
    store: Store, config: Config, *, log: Callable[[str], None], retry: bool
) -> Generator[NameFinder | None]:
    """Who reads the texts of documents; None where `links.language_model` names nobody.

    Args:
        store: Holds what was read before.
        config: Names the model.
        log: Receives which tables are damaged, so that they are not used.
        retry: Whether to ask again too what was answered before, and is of no use.
    """
    if (named := config.linking_model) is None:
        yield None
        return
    name, settings = named
    stock = store.stock(UNIT_LINKS_PREFIX, log=log)
    tables = [each for each in stock if READ_BY in store.schema(each).names]
    with open_entry(name, settings, state=store.root) as client:
        asked = ManyAsked(client, things="texts", retry=retry)
        yield NameFinder(asked, store, settings.model, entities_prompt(), tables)


def entities_prompt() -> Prompt:
    """What a model is asked of a text."""
    return read_prompt(PACKAGE, "entities")
