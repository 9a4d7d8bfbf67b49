"""Questions that are made from tables: whether each asks what its plan selects, in people's words.

usage: table_questions.py [--show 10] [--state FOLDER]

Tables of the shared dataset materials_demo and of the demo project (questions in English and
Swedish, half of each) and of ottqa (in English) are landed, without an index, and questions made
from them. Each plan must be valid. Its rows are held against those that a program of a few lines
finds in the source itself, a SQLite file or a CSV file, with neither SQL of the product nor its
catalogue. No name of a column may stand in a question, and no two may have the same result.

What the product's own lookup makes of each question, with all tables of the corpus at hand, is
printed and not bound: a question that it answers is an easy one.
"""

import argparse
import csv
import re
import sqlite3
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path

from bounds import Bound, at_least, dataset, equal, finish
from retrieval import write_config

from rag_assets import config as configuration
from rag_assets.config import Config, GlossarySettings, resolve_package_path
from rag_assets.evaluation.gold import RowGold
from rag_assets.questions.draft import QuestionDraft
from rag_assets.questions.from_tables import contents_at, table_inputs, tables_made
from rag_assets.retrieval.glossary import read_glossary
from rag_assets.sources.exports import refresh_exports
from rag_assets.store import Store
from rag_assets.table_lookup.plans.plan import Condition, LookupPlan, PlanError, validated
from rag_assets.table_lookup.plans.running import run_plan
from rag_assets.table_lookup.plans.sandbox import SandboxError
from rag_assets.table_lookup.question.understanding import Understood, understand
from rag_assets.table_lookup.tables.catalogue import Catalogue
from rag_assets.tables.table_rows import refresh_rows

PROJECT = Path(__file__).resolve().parents[1] / "rag_assets.yaml"
SWEDISH = Path(__file__).with_name("swedish_headings.csv")
CORPORA: Mapping[str, tuple[int, int, Sequence[str]]] = {
    "materials_demo": (100, 75, ("en", "sv")),
    "demo": (85, 75, ("en", "sv")),
    "ottqa": (75, 60, ("en",)),
}
"""Questions that are asked for, those that there must be at least (a table may have nothing more to
ask), and their languages."""
SHOWN = 10
READINGS = ("as meant", "otherwise", "not")
LEAST_OF_A_LANGUAGE = 0.4
Cell = str | int | float | None


@dataclass(frozen=True)
class Corpus:
    """What was made from the tables of a corpus."""

    config: Config
    store: Store
    drafts: Sequence[QuestionDraft]
    catalogue: Catalogue


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--show", type=int, default=SHOWN, help="examples of each language")
    parser.add_argument("--state", type=Path, help="folder to keep the landed tables in")
    arguments = parser.parse_args()
    bounds: list[Bound] = []
    with tempfile.TemporaryDirectory() as temporary:
        root = (arguments.state or Path(temporary)).absolute()
        for name, (asked, least, languages) in CORPORA.items():
            corpus = made(name, root / name, asked=asked, languages=languages)
            show(name, corpus, most=arguments.show)
            bounds += judged(name, corpus, least=least, languages=languages)
    finish("table_questions", bounds)


def made(name: str, state: Path, *, asked: int, languages: Sequence[str]) -> Corpus:
    """Land the tables of a corpus, and make questions from them."""
    given = PROJECT if name == "demo" else write_config(dataset(name), state=state)
    read = configuration.load(given)
    files = [SWEDISH, *(read.glossary.files if read.glossary else [])]
    questions = read.questions.model_copy(update={"from_tables": asked, "languages": languages})
    changes = {
        "state_dir": state / "state",
        "questions": questions,
        "glossary": GlossarySettings(files=files if "sv" in languages else []),
    }
    config = read.model_copy(update=changes)
    store = Store.of(config)
    for source in config.sources.tables:
        for each in refresh_exports(store, source, log=lambda _: None, allow_shrink=False):
            if each.report.failures:
                raise SystemExit(f"{source.name}: {each.report.failures[0].reason}")
    refresh_rows(store, sources=config.table_sources, log=lambda _: None)
    keys = table_inputs(store, config)["key"].to_pylist()
    started = time.process_time()
    results = [*tables_made(store, config, keys)]
    seconds = time.process_time() - started
    drafts = [each for result in results for each in result.drafts]
    kept = [each for each in drafts if not each.left_out]
    print(f"\n{name}: {len(kept)} questions from {len(keys)} tables in {seconds:.1f} CPU s")
    for reason, count in Counter(each.left_out for each in drafts if each.left_out).items():
        print(f"  left out of {count} tables: {reason}")
    contents = {tuple(key.split("/", 1)): contents_at(store, key) for key in keys}
    glossary = read_glossary(config)
    catalogue = Catalogue(data_version="", load=lambda: (contents, ()), glossary=glossary)
    return Corpus(config, store, kept, catalogue)


def show(name: str, corpus: Corpus, *, most: int) -> None:
    """Examples of each language, of all kinds in turn, and what lookups make of all questions."""
    drafts = corpus.drafts
    seen: Counter[tuple[str, str]] = Counter()
    ranked = []
    for each in drafts:
        ranked.append((seen[each.language, each.kind], len(ranked), each))
        seen[each.language, each.kind] += 1
    for language in sorted({each.language for each in drafts}):
        own = [each for *_, each in sorted(ranked, key=lambda one: one[:2])]
        for each in [one for one in own if one.language == language][:most]:
            print(f"  {each.kind:14} {each.question}  [{each.answer}]")
    readings = [_reading(each, corpus.catalogue) for each in drafts]
    for language, kind in sorted(seen):
        own = Counter(
            reading
            for each, reading in zip(drafts, readings, strict=True)
            if (each.language, each.kind) == (language, kind)
        )
        print(f"  {name} {language} {kind}: lookups read {_counted(own)}")
    print(f"  {name}: of {len(drafts)} questions lookups read {_counted(Counter(readings))}")


def _counted(readings: Counter[str]) -> str:
    return ", ".join(f"{readings[each]} {each}" for each in READINGS)


def judged(name: str, corpus: Corpus, *, least: int, languages: Sequence[str]) -> Iterator[Bound]:
    """What each question must fulfil."""
    drafts = corpus.drafts
    sources = {each.name: Source(corpus.config, each.name) for each in corpus.config.sources.tables}
    invalid, differing, named = [], [], []
    for each in drafts:
        plan = each.plan
        assert plan is not None
        try:
            validated(plan, corpus.catalogue)
        except PlanError as error:
            invalid.append(f"{each.question}: {error}")
            continue
        expected = sources[plan.source].rows_of(plan)
        gold = set(_keys(each))
        if gold != set(expected) or not _is_answer(each, sources[plan.source]):
            differing.append(f"{each.question}: {sorted(gold)}, source: {sorted(expected)}")
        if raw := _raw_names(each, corpus.catalogue):
            named.append(f"{each.question}: {raw}")
    results = Counter(
        (
            each.plan.source,
            each.plan.table,
            frozenset(each.gold),
            each.plan.columns,
            each.plan.operation,
        )
        for each in drafts
        if each.plan
    )
    for problem in (*invalid, *differing, *named):
        print(f"  PROBLEM {problem}")
    yield at_least(f"{name}: questions", len(drafts), least)
    yield equal(f"{name}: plans that are not valid", len(invalid), 0)
    yield equal(f"{name}: gold or answers unlike the source's", len(differing), 0)
    yield equal(f"{name}: questions with the name of a column", len(named), 0)
    yield equal(f"{name}: equal results", sum(count - 1 for count in results.values()), 0)
    most = max((len(each.gold) for each in drafts), default=0)
    yield equal(f"{name}: gold beyond the cap", max(0, most - corpus.config.questions.rows), 0)
    for language in languages if len(languages) > 1 else ():
        own = sum(each.language == language for each in drafts) / max(len(drafts), 1)
        yield at_least(f"{name}: share in {language}", own, LEAST_OF_A_LANGUAGE)


class Source:
    """The rows of a source, read by Python alone."""

    def __init__(self, config: Config, name: str) -> None:
        self._settings = next(each for each in config.sources.tables if each.name == name)
        assert self._settings.url is not None, "no dlt source is read here"
        place = self._settings.url.get_secret_value().removeprefix("sqlite:///")
        self._path = resolve_package_path(place) if place.startswith("package:") else Path(place)
        self._tables: dict[str, Mapping[str, Mapping[str, Cell]]] = {}

    def table(self, name: str) -> Mapping[str, Mapping[str, Cell]]:
        """The rows of a table by their keys."""
        if name not in self._tables:
            self._tables[name] = self._read(name)
        return self._tables[name]

    def rows_of(self, plan: LookupPlan) -> Sequence[str]:
        """Keys of the rows that a plan selects."""
        rows = self.table(plan.table)
        found = [key for key, row in rows.items() if all(_holds(row, one) for one in plan.where)]
        if plan.order_by is None:
            return found
        numbers = {
            key: number
            for key in found
            if (number := _number(rows[key][plan.order_by])) is not None
        }
        ends = sorted(numbers.values(), reverse=plan.descending)[: plan.limit or len(numbers)]
        return [key for key, number in numbers.items() if number in ends]

    def _read(self, name: str) -> Mapping[str, Mapping[str, Cell]]:
        spec = next((each for each in self._settings.tables if each.name == name), None)
        key = list(spec.key or []) if spec else []
        if self._path.is_dir():
            with (self._path / f"{name}.csv").open(encoding="utf-8-sig", newline="") as file:
                rows: list[Mapping[str, Cell]] = [*csv.DictReader(file)]
        else:
            database = sqlite3.connect(f"file:{self._path}?mode=ro", uri=True)
            database.row_factory = sqlite3.Row
            rows = [dict(row) for row in database.execute(f'SELECT * FROM "{name}"')]
            own = database.execute(f'PRAGMA table_info("{name}")').fetchall()
            key = key or [each["name"] for each in own if each["pk"]]
        return {"|".join(str(row[part]) for part in key): row for row in rows}


def _keys(draft: QuestionDraft) -> Sequence[str]:
    return [each.row_key for each in draft.gold if isinstance(each, RowGold)]


def _holds(row: Mapping[str, Cell], condition: Condition) -> bool:
    cell = row[condition.column]
    if cell is None or not str(cell).strip():
        return False
    if isinstance(condition.values[0], str):
        return _plain(cell) in map(_plain, condition.values)
    number = _number(cell)
    if number is None:
        return False
    values = [Decimal(value) for value in condition.values]
    match condition.op:
        case ">":
            return number > values[0]
        case ">=":
            return number >= values[0]
        case "<":
            return number < values[0]
        case "<=":
            return number <= values[0]
        case _:
            return number in values


def _plain(text: object) -> str:
    return " ".join(unicodedata.normalize("NFKC", str(text)).casefold().split())


def _number(cell: Cell) -> Decimal | None:
    text = str(cell)
    grouped = re.fullmatch(r"\d{1,3}(,\d{3})+", text)
    try:
        number = Decimal(text.replace(",", "") if grouped else text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _is_answer(draft: QuestionDraft, source: Source) -> bool:
    """Whether the answer is the number of rows, or the cell of the one row that was asked for."""
    plan, answer = draft.plan, draft.answer or ""
    assert plan is not None
    if plan.operation == "count":
        return answer == str(len(draft.gold))
    if draft.kind != "look_up":
        return answer.count("; ") >= len(draft.gold) - 1
    cell = source.table(plan.table)[_keys(draft)[0]][plan.columns[0]]
    said = _number(
        answer.split(" ")[0].replace(",", ".") if draft.language == "sv" else answer.split(" ")[0]
    )
    return _plain(cell) == _plain(answer) or (said is not None and said == _number(cell))


def _raw_names(draft: QuestionDraft, catalogue: Catalogue) -> Sequence[str]:
    """Names of columns that stand in a question, unless a heading or a value has the same word."""
    plan = draft.plan
    assert plan is not None
    table = catalogue.find(plan.source, plan.table)
    assert table is not None
    values = [str(value) for each in plan.where for value in each.values]
    headings = (f"{each.heading} {each.unit or ''}" for each in table.columns)
    plain = " ".join([table.title, *values, *headings])
    words = set(re.findall(r"\w+", plain.casefold()))
    said = re.findall(r"\w+", draft.question.casefold())
    return [each.name for each in table.columns if each.name.casefold() in set(said) - words]


def _reading(draft: QuestionDraft, catalogue: Catalogue) -> str:
    """What the product's rules make of a question, among all tables."""
    read, plan = understand(draft.question, catalogue), draft.plan
    if not isinstance(read, Understood) or plan is None:
        return "not"
    return "as meant" if _gives_the_same(read.plan, plan, catalogue) else "otherwise"


def _gives_the_same(read: LookupPlan, meant: LookupPlan, catalogue: Catalogue) -> bool:
    """Whether a plan as it was read selects the rows of the one that was meant, and shows as much.

    Their order is not compared, nor what is shown beside the last column, which is asked for.
    """
    if read.operation in ("max", "min"):
        is_max, by = read.operation == "max", read.column
        read = replace(read, operation="rows", column=None, order_by=by, descending=is_max, limit=1)
    try:
        first, second = run_plan(read, catalogue), run_plan(meant, catalogue)
    except (PlanError, SandboxError):
        return False
    shown = {*read.columns, *(each.column for each in read.where), read.order_by, read.column}
    return (
        (read.source, read.table) == (meant.source, meant.table)
        and set(first.row_keys) == set(second.row_keys)
        and first.value == second.value
        and set(meant.columns[-1:]) <= shown
    )


if __name__ == "__main__":
    main()
