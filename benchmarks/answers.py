"""Answers without a language model: computed rightly, shown where found, or told to be absent?

usage: answers.py [--state FOLDER] [--splits dev test] [--only PART ...]

Parts:
    shared        the questions of materials_demo and ottqa, with `ask` and the default retriever
    third         questions of a third hand to documents and tables (`other_hand/third`)
    fourth        questions of a fourth hand to documents of two corpora, in three languages, which
                  are kept in the history alone (`git show 1d48c520:benchmarks/other_hand/fourth`)
    unanswerable  questions without an answer, of all hands

What was found is read as people read it: where the first three hits hold the gold passage, the
lines that are printed must hold it too, and the passage that is marked must touch it as often as
the sentence that the encoder alone finds nearest. Of tables, the cell that is asked for is looked
for in these lines. Gold without a quote is the answer's words in the gold document.

A question without an answer may be neither computed nor written, and a line must name what is
missing; few others may bear such a line, where the first hits hold the gold. The weight of words
was chosen on dev and on the first corpus of the fourth hand; the bounds are held on test, on the
third hand and on both corpora of the fourth. With --state the indexes are kept and found again.
"""

import argparse
import ast
import json
import subprocess
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from statistics import mean
from typing import cast

from bounds import REPOSITORY, Bound, at_least, at_most, dataset, equal, finish, rag_assets
from lookup import OTHER_HAND, database_config, read_lines, trade_config

from rag_assets import config as configuration
from rag_assets.answering.answer import Answer
from rag_assets.answering.assistant import Assistant
from rag_assets.answering.quoting.finding import UNITS
from rag_assets.answering.quoting.pieces import pieces_of, shown
from rag_assets.citations.kinds import Cell, Computed, Span
from rag_assets.config import QuestionSet
from rag_assets.evaluation import questions as question_sets
from rag_assets.evaluation.gold import DocumentGold, DocumentKey
from rag_assets.evaluation.indexed_gold import read_indexed_gold
from rag_assets.evaluation.questions import Question
from rag_assets.laboratory.answer_evaluation.bench import GoldPlaces, places_of
from rag_assets.retrieval.hits import Hit
from rag_assets.retrieval.search import VariantIndex
from rag_assets.serving.answer_text import answer_text
from rag_assets.store import Store
from rag_assets.terms.words import normalized

PARTS = ("shared", "third", "fourth", "unanswerable")
DATASETS = ("materials_demo", "ottqa")
THIRD = OTHER_HAND / "third"
DATABASES = {
    "kestrel_purchasing": OTHER_HAND,
    "lacklab": OTHER_HAND,
    "granberga_skog": OTHER_HAND / "second",
    "strandline_fleet": OTHER_HAND / "second",
    "hogklev_rope": THIRD,
}
FOURTH_COMMIT, FOURTH = "1d48c520", "benchmarks/other_hand/fourth"
VARIANT = "default"
OF_WORDS = 0.9
"""Share of the words of a gold passage that must be printed."""
OF_HITS, CELLS, RIGHT = 0.95, 0.9, 0.95
UNNAMED, NAMED = 0.1, 0.05
FIRST, MARKED = 0.85, 0.7
"""Of the fourth hand: gold in the unit that is shown first, and touched by what is marked."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One question that has an answer."""

    group: str
    outcome: str
    is_hit: bool
    """Whether one of the first hits holds the gold."""
    is_shown: bool
    """Whether the lines that are printed hold it."""
    is_marked: bool
    """Whether a marked passage touches it."""
    is_nearest: bool
    """Whether the nearest sentence by the encoder alone does."""
    is_right: bool
    """Of what was computed: whether the answer is told."""
    is_named: bool
    """Whether a line says that something is missing."""


class Corpus:
    """An index that is asked, with its tables."""

    def __init__(self, file: Path, *, state: Path) -> None:
        """Refresh and open what the config `file` names, with its state in `state`."""
        where = {"RAG_ASSETS__STATE_DIR": str(state / "state")}
        refreshed = rag_assets("refresh", "--json", config=file, environment=where)
        if refreshed.code not in (0, 3):
            raise SystemExit(f"the refresh failed: {refreshed.output}")
        self.config = configuration.load(file).model_copy(update={"state_dir": state / "state"})
        self.store = Store.of(self.config)
        self.assistant = Assistant(self.store, self.config, VARIANT)

    @property
    def index(self) -> VariantIndex:
        return self.assistant.index

    def ask(self, question: str) -> Answer:
        return self.assistant.ask(question)

    def questions(self, file: Path, documents: Path | None) -> Iterator[tuple[Question, str]]:
        """The questions of a file with their answers in words."""
        parsed = question_sets.parse(QuestionSet(path=file, documents=documents))
        table = question_sets.questions_table(list(parsed.rows.values()))
        for question in question_sets.questions_of(table):
            yield question, parsed.rows[question.question_id]["answer"] or ""

    def documents_of(self, questions: Sequence[Question]) -> Mapping[str, Sequence[DocumentKey]]:
        return read_indexed_gold(
            self.store,
            self.config,
            variant=VARIANT,
            joint=self.index.complete_set.joint,
            gold=[piece for question in questions for piece in question.gold],
        ).documents


class Corpora:
    """The corpora by name, each built when it is first asked for."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._opened: dict[str, Corpus] = {}

    def __getitem__(self, name: str) -> Corpus:
        if name not in self._opened:
            self._opened[name] = Corpus(self._file(name), state=self._root / name)
        return self._opened[name]

    def _file(self, name: str) -> Path:
        state = self._root / name
        if name in DATABASES:
            place = DATABASES[name] / "databases" / name
            return database_config(place, file=place / f"{name}.sqlite", state=state)
        if name in DATASETS:
            return trade_config(name, state=state)
        return REPOSITORY / "rag_assets.yaml"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--state", type=Path, help="folder to keep indexes in")
    options.add_argument("--splits", nargs="+", default=["dev", "test"], choices=["dev", "test"])
    options.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    arguments = options.parse_args()
    bounds: list[Bound] = []
    with tempfile.TemporaryDirectory() as temporary:
        corpora = Corpora((arguments.state or Path(temporary)).absolute())
        if "shared" in arguments.only:
            for split in arguments.splits:
                measured = [each for name in DATASETS for each in shared(corpora, name, split)]
                of_split = [*compared(measured, split)]
            bounds += of_split
        if "third" in arguments.only:
            bounds += compared([*third(corpora)], "third")
        if "fourth" in arguments.only:
            bounds += fourth((arguments.state or Path(temporary)).absolute() / "fourth")
        if "unanswerable" in arguments.only:
            bounds += absent(corpora)
    finish("answers", bounds)


def shared(corpora: Corpora, name: str, split: str) -> Iterator[Measured]:
    """The questions of a shared dataset."""
    data, corpus = dataset(name), corpora[name]
    found = corpus.questions(data / "questions.jsonl", data / "documents.jsonl")
    asked = [each for each in found if each[0].split == split]
    documents = corpus.documents_of([question for question, _ in asked])
    for question, answer in asked:
        group = "tables" if question.domain == "table" else f"{name} documents"
        yield measured_of(corpus, question, answer, group=group, documents=documents)


def third(corpora: Corpora) -> Iterator[Measured]:
    """The questions of the third hand: to documents by their gold, to tables by their values."""
    by_corpus: dict[str, list[Mapping[str, object]]] = {}
    for line in read_lines(THIRD / "documents.jsonl"):
        by_corpus.setdefault(str(line["corpus"]), []).append(line)
    with tempfile.TemporaryDirectory() as folder:
        for name, lines in by_corpus.items():
            file = Path(folder) / f"{name}.jsonl"
            file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
            documents = dataset(name) / "documents.jsonl" if name in DATASETS else None
            asked = [*corpora[name].questions(file, documents)]
            places = corpora[name].documents_of([question for question, _ in asked])
            for question, answer in asked:
                yield measured_of(
                    corpora[name], question, answer, group="documents", documents=places
                )
    for line in read_lines(THIRD / "tables.jsonl"):
        answer = corpora[str(line["corpus"])].ask(str(line["question"]))
        is_told = tells(answer, line["answer"])
        yield Measured(
            "questions with SQL",
            answer.outcome,
            is_hit=False,
            is_shown=is_told,
            is_marked=False,
            is_nearest=False,
            is_right=is_told,
            is_named=bool(answer.missing),
        )


def fourth(home: Path) -> Iterator[Bound]:
    """The documents of the fourth hand: what stands first, what is marked, what is off-topic."""
    command = ["git", "archive", FOURTH_COMMIT, FOURTH]
    kept = subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=False)
    if kept.returncode:
        raise SystemExit(f"skipped: the history has no {FOURTH} (clone it whole): {kept.stderr}")
    with tarfile.open(fileobj=BytesIO(kept.stdout)) as files:
        files.extractall(home, filter="data")
    first, marked = [], []
    for part in ("A", "B"):
        folder = home / FOURTH / part
        file = folder / "rag_assets.yaml"
        file.write_text("defaults: 3\nsources: {documents: documents}\n", "utf-8")
        corpus, off_topic = Corpus(file, state=home / part), Counter[str]()
        own_first, own_marked = [], []
        for line in read_lines(folder / "questions.jsonl"):
            question = str(line["question"])
            if line["kind"] == "none":
                off_topic[corpus.ask(question).outcome] += 1
            if line["kind"] != "document":
                continue
            gold = cast("Mapping[str, str]", line["gold"])
            spans = [each for each in corpus.ask(question).citations if isinstance(each, Span)]
            hits = corpus.index.search(question, top_k=UNITS).hits
            held = [
                [*places_of(gold["quote"], hit.text)] if hit.uri == gold["document"] else []
                for hit in hits
            ]
            own_first.append(bool(held and held[0]))
            own_marked.append(
                any(
                    span.unit_id == hit.unit_id and span.start < end and start < span.end
                    for hit, places in zip(hits, held, strict=True)
                    for start, end in places
                    for span in spans
                )
            )
        print(f"fourth {part} ({len(own_first)}): gold in the first unit {mean(own_first):.3f}, ")
        print(f"  marked {mean(own_marked):.3f}; without an answer: {dict(off_topic)}", flush=True)
        first += own_first
        marked += own_marked
    yield at_least("fourth documents: gold in the unit that is shown first", mean(first), FIRST)
    yield at_least("fourth documents: marked touches the gold", mean(marked), MARKED)


def measured_of(
    corpus: Corpus,
    question: Question,
    told: str,
    *,
    group: str,
    documents: Mapping[str, Sequence[DocumentKey]],
) -> Measured:
    """One question, answered and read; `told` is its answer in words."""
    answer = corpus.ask(question.text)
    hits = corpus.index.search(question.text, top_k=UNITS).hits
    printed = normalized(answer_text(answer))
    if question.domain == "table":
        rows = GoldPlaces(documents, {})
        is_hit = any(
            rows.cites(gold, [cell_of(hit)])
            for gold in question.gold
            for hit in hits
            if hit.domain == "table"
        )
        is_told = is_cell_told(told, answer_text(answer))
        return Measured(
            group,
            answer.outcome,
            is_hit=is_hit,
            is_shown=is_told,
            is_marked=False,
            is_nearest=False,
            is_right=is_told or any(rows.cites(each, answer.citations) for each in question.gold),
            is_named=bool(answer.missing),
        )
    gold = [
        (hit, start, end)
        for hit in hits
        if hit.domain == "document"
        for start, end in gold_in(hit, question, told, documents)
    ]
    marked = [each for each in answer.citations if isinstance(each, Span)]
    nearest = [nearest_by_encoder(corpus.index, question.text, hit) for hit, _, _ in gold]
    return Measured(
        group,
        answer.outcome,
        is_hit=bool(gold),
        is_shown=any(is_printed(hit.text[start:end], printed) for hit, start, end in gold),
        is_marked=any(
            hit.unit_id == span.unit_id and span.start < end and start < span.end
            for hit, start, end in gold
            for span in marked
        ),
        is_nearest=any(
            first < end and start < last
            for (_, start, end), places in zip(gold, nearest, strict=True)
            for first, last in places
        ),
        is_right=is_printed(told, printed),
        is_named=bool(answer.missing),
    )


def is_cell_told(told: str, text: str) -> bool:
    """Whether a value of an answer by SQL, or a short one in words, stands in a text."""
    try:
        rows = ast.literal_eval(told)
    except (SyntaxError, ValueError):
        return normalized(told) in normalized(text)
    words = {word.strip(".,;:*()") for word in text.split()}
    values = [value for value in _flat(rows) if value is not None]
    return any(
        any(_same(value, word) for word in words) or normalized(str(value)) in normalized(text)
        for value in values
    )


def gold_in(
    hit: Hit, question: Question, told: str, documents: Mapping[str, Sequence[DocumentKey]]
) -> Iterator[tuple[int, int]]:
    """Where the gold of a question stands in a hit; of gold without a quote, its answer."""
    for gold in question.gold:
        if isinstance(gold, DocumentGold) and (hit.source, hit.uri) in documents.get(gold.uri, ()):
            yield from places_of(gold.quote or told, hit.text)


def is_printed(passage: str, printed: str) -> bool:
    """Whether nearly all words of a passage stand in what is printed."""
    words = [word for each in passage.split() if (word := normalized(each))]
    return bool(words) and sum(word in printed for word in words) >= OF_WORDS * len(words)


def nearest_by_encoder(index: VariantIndex, question: str, hit: Hit) -> Sequence[tuple[int, int]]:
    """The characters of the piece of a hit whose vector is nearest to the question's."""
    pieces = pieces_of(hit.text)
    if not pieces:
        return [(0, len(hit.text))]
    texts = [shown(piece, hit.text) for piece in pieces]
    [asked] = index.encoder.embed_queries([question])
    vectors = index.encoder.embed_passages(texts).vectors
    return pieces[int((vectors @ asked).argmax())].ranges


def cell_of(hit: Hit) -> Cell:
    return Cell(
        *(hit.unit_id, hit.text_hash, hit.source, hit.table or "", hit.row_key or ""), "", "", None
    )


def tells(answer: Answer, expected: object) -> bool:
    """Whether each value of an answer by SQL is told, or is a cell or a result that is cited."""
    values = _flat(expected)
    cells = [
        cell.value
        for each in answer.citations
        for cell in ((each,) if isinstance(each, Cell) else _inputs(each))
    ]
    results = [each.result for each in answer.citations if isinstance(each, Computed)]
    words = " ".join(sentence.text for sentence in answer.sentences).casefold()
    return bool(values) and all(
        str(value).casefold() in words or any(_same(value, each) for each in (*cells, *results))
        for value in values
    )


def _inputs(citation: object) -> Sequence[Cell]:
    return citation.inputs if isinstance(citation, Computed) else ()


def _flat(value: object) -> list[object]:
    if isinstance(value, list):
        return [each for part in value for each in _flat(part)]
    return [value]


def _same(one: object, other: object) -> bool:
    try:
        return abs(float(str(one)) - float(str(other))) <= 1e-6 * max(1.0, abs(float(str(one))))
    except ValueError:
        return str(one).casefold() == str(other).casefold()


def compared(measured: Sequence[Measured], name: str) -> Iterator[Bound]:
    """What each group of questions came to, and the bounds."""
    for group in dict.fromkeys(each.group for each in measured):
        rows = [each for each in measured if each.group == group]
        hit = [each for each in rows if each.is_hit]
        shares = {
            f"hit@{UNITS}": share(rows, "is_hit"),
            "shown of hits": share(hit, "is_shown"),
            "marked touches": share(hit, "is_marked"),
            "nearest by the encoder": share(hit, "is_nearest"),
            "told to be missing": share(rows, "is_named"),
            "the same of hits": share(hit, "is_named"),
        }
        outcomes = dict(Counter(each.outcome for each in rows))
        print(f"{name} {group} ({len(rows)}): {json.dumps(outcomes)}")
        print("  " + ", ".join(f"{what} {value:.3f}" for what, value in shares.items()), flush=True)
        if "documents" in group:
            found = [each for each in hit if each.outcome == "found"]
            yield at_least(f"{name} {group}: shown, of hits", share(found, "is_shown"), OF_HITS)
            yield at_least(
                f"{name} {group}: marked touches the gold, less the encoder's nearest sentence",
                share(hit, "is_marked") - share(hit, "is_nearest"),
                0,
            )
        elif hit:
            yield at_least(f"{name} {group}: asked cell shown", share(hit, "is_shown"), CELLS)
    computed = [each for each in measured if each.outcome == "computed"]
    yield at_least(
        f"{name}: right, of {len(computed)} computed", share(computed, "is_right"), RIGHT
    )
    hit = [each for each in measured if each.is_hit or each.group == "questions with SQL"]
    yield at_most(f"{name}: told to be missing, of answerable", share(hit, "is_named"), NAMED)


def share(rows: Sequence[Measured], what: str) -> float:
    return sum(getattr(each, what) for each in rows) / max(len(rows), 1)


def absent(corpora: Corpora) -> Iterator[Bound]:
    """Questions without an answer: what became of them, by set."""
    asked = [
        *(("other hand", "materials_demo", each) for each in _refused(OTHER_HAND)),
        *(("second hand", "materials_demo", each) for each in _refused(OTHER_HAND / "second")),
        *(
            (name, name, each)
            for name, folder in DATABASES.items()
            if folder != THIRD
            for each in read_lines(folder / "databases" / name / "questions.jsonl")
            if each.get("sql") is None
        ),
        *(("third hand", str(e["corpus"]), e) for e in read_lines(THIRD / "unanswerable.jsonl")),
    ]
    answers = [(part, line, corpora[name].ask(str(line["question"]))) for part, name, line in asked]
    for part in dict.fromkeys(part for part, _, _ in answers):
        of_part = [answer for own, _, answer in answers if own == part]
        outcomes = dict(Counter(answer.outcome for answer in of_part))
        unnamed = sum(answer.outcome == "found" and not answer.reason for answer in of_part)
        print(f"{part} ({len(of_part)}): {json.dumps(outcomes)}, {unnamed} without a reason")
    told = [answer for _, _, answer in answers if answer.outcome in ("computed", "written")]
    for answer in told:
        print(f"  {answer.outcome}: {answer.question} -> {answer.sentences[0].text}")
    unnamed = [
        answer for _, _, answer in answers if answer.outcome == "found" and not answer.reason
    ]
    yield equal(f"computed or written, of {len(answers)} without an answer", len(told), 0)
    yield at_most("found without a word of what is missing", len(unnamed) / len(answers), UNNAMED)


def _refused(folder: Path) -> Sequence[Mapping[str, object]]:
    return read_lines(folder / "computed_refused.jsonl")


if __name__ == "__main__":
    main()
