"""Questions to tables without a language model: what is accepted, what of it is right, what is not.

usage: lookup.py [--questions FOLDER] [--split dev|test] [--state FOLDER] [--only PART ...]
       lookup.py --questions benchmarks/other_hand/third --only third

Parts:
    computed   questions with SQL and questions that must be refused, by another hand that saw the
               tables only (`computed.jsonl`, `computed_refused.jsonl`); hostile plans and texts
    databases  databases by another hand, read through a config and a refresh (`databases/NAME/`:
               NAME.sqlite, columns.json with a description for each column, questions.jsonl)
    third      plain questions of a third hand with their answers (`tables.jsonl`), questions that
               have none (`unanswerable.jsonl`), and loosely worded operations (`operations.jsonl`)
    ranking    the arm `lookup` in the default retriever, on the questions of the shared datasets

A question is accepted if it is answered. An answer is right if its value is that of the SQL (within
1e-6, or at the digits given), or if the rows named are those of the SQL; for `computed` also only
if all input rows are cited. Questions are fitted on `dev` and reported on `test`. With --state the
indexes are kept and found again.
"""

import argparse
import csv
import json
import re
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path

import yaml
from bounds import Bound, at_least, at_most, dataset, equal, finish, rag_assets, within
from lookup_hostile import hostile
from lookup_ranking import ranking
from retrieval import write_config

from rag_assets import config as configuration
from rag_assets.citations.kinds import Cell, Computed, Rows
from rag_assets.citations.sentences import Sentence
from rag_assets.store import Store
from rag_assets.store.complete_sets import set_of
from rag_assets.table_lookup.by_model.planner import Planner
from rag_assets.table_lookup.looking_up import LookedUp, look_up
from rag_assets.table_lookup.plans.running import cells_of, run_plan
from rag_assets.table_lookup.sentences.naming import naming_column
from rag_assets.table_lookup.tables.catalogue import Catalogue, catalogue_of
from rag_assets.terms.units import converted

OTHER_HAND = Path(__file__).with_name("other_hand")
PARTS = ("computed", "databases", "third", "ranking")
PROJECT = OTHER_HAND.parents[1] / "rag_assets.yaml"
ACCEPTED = 0.6
RIGHT = 0.95
RIGHT_ELSEWHERE = 0.9
SLOWEST = 0.1
"""CPU seconds for one question, in the mean, once the catalogue is built."""
TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question."""

    question: Mapping[str, object]
    is_accepted: bool
    is_right: bool = False
    has_all_rows: bool = False
    reason: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--questions", type=Path, default=OTHER_HAND, help="folder of the questions"
    )
    parser.add_argument("--split", choices=("dev", "test"), default="test")
    parser.add_argument("--state", type=Path, help="folder to keep indexes in")
    parser.add_argument(
        "--only", nargs="+", choices=PARTS, default=("computed", "databases", "ranking")
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = (arguments.state or Path(temporary)).absolute()
        bounds: list[Bound] = []
        if "computed" in arguments.only:
            bounds += computed(arguments.questions, split=arguments.split, state=root)
        if "databases" in arguments.only:
            bounds += databases(arguments.questions / "databases", state=root)
        if "third" in arguments.only:
            bounds += third(arguments.questions, state=root)
        if "ranking" in arguments.only:
            bounds += ranking(root, split=arguments.split)
    finish("lookup", bounds)


def read_lines(path: Path, *, split: str | None = None) -> list[Mapping[str, object]]:
    """The records of a JSONL file; of one split, if it is given and the records name one."""
    if not path.is_file():
        raise SystemExit(f"skipped: there is no {path} (name its folder with --questions)")
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return [each for each in records if split is None or each.get("split", split) == split]


def catalogue_at(config: Path) -> Catalogue:
    """The catalogue of the default variant of a config, after a refresh."""
    done = rag_assets("refresh", "--json", config=config)
    if done.code not in (0, 3):
        raise SystemExit(f"the refresh failed: {done.output}")
    read = configuration.load(config)
    store = Store.of(read)
    found = catalogue_of(store, set_of(store, read, next(iter(read.variants))))
    print(f"{len(found.tables)} tables, {sum(table.rows for table in found.tables)} rows")
    return found


def computed(folder: Path, *, split: str, state: Path) -> Iterator[Bound]:
    """The questions with SQL over the tables of the demo corpus, and those to be refused."""
    questions = read_lines(folder / "computed.jsonl", split=split)
    refused = read_lines(folder / "computed_refused.jsonl", split=split)
    data = dataset("materials_demo")
    catalogue = catalogue_at(write_config(data, state=state / "materials_demo"))
    database = sqlite3.connect(f"file:{data / 'tables.sqlite'}?mode=ro", uri=True)
    look_up("how many rows are there?", catalogue)
    outcomes = [judged(each, catalogue, database) for each in questions]
    report(f"computed ({split})", outcomes)
    accepted = [each for each in outcomes if each.is_accepted]
    wrong = [
        each for each in refused if look_up(str(each["question"]), catalogue).outcome == "answered"
    ]
    for each in wrong:
        print(f"  ANSWERED, should be refused ({each.get('why')}): {each['question']}")
    started = time.process_time()
    again = [said(look_up(str(each["question"]), catalogue)) for each in questions]
    seconds = (time.process_time() - started) / max(len(questions), 1)
    once = [said(look_up(str(each["question"]), catalogue)) for each in questions]
    yield at_least(f"computed: accepted of {len(outcomes)}", share(outcomes, accepted), ACCEPTED)
    right = [each for each in accepted if each.is_right and each.has_all_rows]
    yield within(
        f"computed: right with all rows cited, of {len(accepted)}", share(accepted, right), RIGHT, 1
    )
    yield equal(f"computed: answered of {len(refused)} to be refused", len(wrong), 0)
    yield equal("computed: answers that differ in a second run", _differing(once, again), 0)
    yield at_most("computed: CPU seconds for a question", seconds, SLOWEST)
    yield from hostile(catalogue)


def _differing(first: Sequence[str], second: Sequence[str]) -> int:
    return sum(a != b for a, b in zip(first, second, strict=True))


def said(found: LookedUp) -> str:
    """All that an answer says, as text that can be compared."""
    return json.dumps(asdict(found), ensure_ascii=False, sort_keys=True, default=str)


def databases(folder: Path, *, state: Path) -> Iterator[Bound]:
    """Databases of other fields, each with its own headings."""
    found = sorted(each for each in folder.glob("*") if each.is_dir()) if folder.is_dir() else []
    if not found:
        raise SystemExit(f"skipped: there is no database below {folder} (see --questions)")
    for place in found:
        file = place / f"{place.name}.sqlite"
        catalogue = catalogue_at(database_config(place, file=file, state=state / place.name))
        database = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
        questions = read_lines(place / "questions.jsonl")
        outcomes = [judged(each, catalogue, database) for each in questions]
        report(place.name, outcomes)
        accepted = [each for each in outcomes if each.is_accepted]
        right = [each for each in accepted if each.is_right]
        print(f"{place.name}: {len(accepted)} of {len(outcomes)} accepted")
        yield within(
            f"{place.name}: right of {len(accepted)} accepted (of {len(outcomes)})",
            share(accepted, right),
            RIGHT_ELSEWHERE,
            1,
        )


def third(folder: Path, *, state: Path) -> Iterator[Bound]:
    """The questions of a third hand, on four corpora: accepted, right, and to be refused."""
    asked = read_lines(folder / "tables.jsonl")
    held = {name: _corpus(name, folder, state=state) for name in {str(q["corpus"]) for q in asked}}
    found = [(each, look_up(str(each["question"]), held[str(each["corpus"])])) for each in asked]
    accepted = [(each, one) for each, one in found if one.outcome == "answered"]
    right = [
        one for each, one in accepted if _is_answer(one, each["answer"], held[str(each["corpus"])])
    ]
    answered = [
        each["question"]
        for each in read_lines(folder / "unanswerable.jsonl")
        if look_up(str(each["question"]), held[str(each["corpus"])]).outcome == "answered"
    ]
    refused = [
        one
        for each in read_lines(folder / "operations.jsonl")
        for one in [look_up(str(each["question"]), held[str(each["corpus"])])]
        if one.outcome != "answered"
    ]
    working = [each for each in refused if each.suggestion]
    yield at_least(f"third: accepted of {len(asked)}", share(asked, accepted), 0.5)
    yield within(f"third: right of {len(accepted)} accepted", share(accepted, right), RIGHT, 1)
    yield equal("third: answered of 40 without an answer", len(answered), 0)
    yield at_least(
        f"third: {len(refused)} refused operations that say what works", len(working), 30
    )


def _corpus(name: str, folder: Path, *, state: Path) -> Catalogue:
    if name == "demo":
        config = yaml.safe_load(PROJECT.read_text("utf-8"))
        config["state_dir"] = str(state / "demo")
        path = PROJECT.with_name("rag_assets.benchmark.yaml")
        path.write_text(yaml.safe_dump(config, sort_keys=False), "utf-8")
        try:
            return catalogue_at(path)
        finally:
            path.unlink()
    place = folder / "databases" / name
    if place.is_dir():
        file = place / f"{name}.sqlite"
        return catalogue_at(database_config(place, file=file, state=state / name))
    return catalogue_at(write_config(dataset(name), state=state / name))


def _is_answer(found: LookedUp, answer: object, catalogue: Catalogue) -> bool:
    """Whether an answer gives a cell or the one row, or all of a list, each row in one sentence.

    Of a list of cells, some column of the rows that are selected has these and no others.
    """
    told = [sentence.text for sentence in found.sentences]
    if not isinstance(answer, list):
        is_row = found.plan is not None and run_plan(found.plan, catalogue).row_keys == [answer]
        return is_row or any(_says(text, answer) for text in told)
    rows = [row if isinstance(row, list) else [row] for row in answer]
    if found.plan is not None and found.plan.operation == "rows":
        ran = run_plan(found.plan, catalogue)
        wanted = {_plain(row[0]) for row in rows}
        names = [column.name for column in ran.table.columns]
        return wanted == set(ran.row_keys) or any(
            {_plain(cell) for cell in cells_of(ran, catalogue, name) if cell is not None} == wanted
            for name in names
        )
    return all(any(all(_says(text, cell) for cell in row) for text in told) for row in rows)


def _says(text: str, value: object) -> bool:
    numbers = re.findall(r"-?\d+(?:[.,]\d+)?", text)
    return str(value) in text or any(_same(each.replace(",", "."), value) for each in numbers)


def database_config(place: Path, *, file: Path, state: Path) -> Path:
    """A config for one SQLite file, with the headings of its `columns.json`."""
    state.mkdir(parents=True, exist_ok=True)
    headings = state / "headings.csv"
    with headings.open("w", newline="", encoding="utf-8") as target:
        rows = csv.writer(target)
        rows.writerow(["table", "column", "heading", "unit"])
        rows.writerows(described(json.loads((place / "columns.json").read_text("utf-8"))))
    (state / "documents").mkdir(exist_ok=True)
    config = {
        "state_dir": str(state / "state"),
        "sources": {
            "documents": str(state / "documents"),
            "tables": {"url": f"sqlite:///{file.absolute()}", "headings_file": str(headings)},
        },
    }
    path = state / "rag_assets.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False), "utf-8")
    return path


def described(columns: object, table: str = "") -> Iterator[tuple[str, str, str, str]]:
    """Table, column, heading and unit of each column, however `columns.json` nests them."""
    if isinstance(columns, list):
        for each in columns:
            yield from described(each, table)
    elif isinstance(columns, dict):
        name = columns.get("column") or columns.get("name")
        words = next(
            (columns[key] for key in ("description", "heading", "comment") if columns.get(key)),
            None,
        )
        if "columns" in columns:
            own = columns.get("table") or columns.get("name") or table
            yield from _of_table(columns["columns"], str(own))
        elif isinstance(name, str) and (words is None or isinstance(words, str)):
            own = str(columns.get("table") or table)
            yield own, name, words or "", str(columns.get("unit") or "")
        else:
            for key, value in columns.items():
                yield from _of_table(value, table if table else f"{table or key}")


def _of_table(columns: object, table: str) -> Iterator[tuple[str, str, str, str]]:
    if isinstance(columns, dict) and "columns" not in columns:
        for name, value in columns.items():
            if isinstance(value, str):
                yield table, name, value, ""
            elif isinstance(value, dict):
                yield from described({"column": name, **value}, table)
    else:
        yield from described(columns, table)


def judged(
    question: Mapping[str, object],
    catalogue: Catalogue,
    database: sqlite3.Connection,
    planner: Planner | None = None,
) -> Outcome:
    """Whether a question was answered, and rightly."""
    found = look_up(str(question["question"]), catalogue, planner=planner)
    if found.outcome != "answered":
        return Outcome(question, is_accepted=False, reason=f"{found.outcome}: {found.reason}")
    if question.get("sql") is None:
        return Outcome(question, is_accepted=True, reason=f"to be refused, read as {found.reason}")
    expected = [row[0] for row in database.execute(str(question["sql"])).fetchall()]
    if question.get("kind") == "list" or len(expected) != 1:
        right = _lists_all(found, expected, catalogue)
    elif question.get("kind") == "which":
        right = _names_all(found, expected)
    else:
        right = _is_value(found, question, expected[0])
    return Outcome(
        question,
        is_accepted=True,
        is_right=right,
        has_all_rows=_cites_all(found, question, database),
        reason=f"read as {found.reason}; said {' '.join(each.text for each in found.sentences)}",
    )


def _is_value(found: LookedUp, question: Mapping[str, object], expected: object) -> bool:
    computed_ones = [
        citation
        for sentence in found.sentences
        for citation in sentence.citations
        if isinstance(citation, Computed)
    ]
    unit = question.get("unit")
    if not computed_ones:
        cells = [cell.value for cell in _cells(found.sentences)]
        return any(_same(value, expected) for value in cells)
    result = computed_ones[0].result
    is_signless = computed_ones[0].operation == "difference"
    if _same(result, expected, signless=is_signless):
        return True
    own = computed_ones[0].unit
    if not (isinstance(result, (int, Decimal)) and isinstance(unit, str) and own is not None):
        return False
    changed = converted(result, own, unit)
    return changed is not None and _same(changed, expected, signless=is_signless)


def _same(value: object, expected: object, *, signless: bool = False) -> bool:
    try:
        first, second = float(str(value)), float(str(expected))
    except ValueError:
        return str(value).casefold() == str(expected).casefold()
    if signless:
        first, second = abs(first), abs(second)
    digits = len(str(expected).partition(".")[2])
    return abs(first - second) <= TOLERANCE * max(1.0, abs(second)) or (
        digits > 0 and round(first, digits) == second
    )


def _lists_all(found: LookedUp, expected: Sequence[object], catalogue: Catalogue) -> bool:
    """Whether a wanted column of the rows that are cited has the expected values, and no other."""
    if found.plan is None or found.plan.operation != "rows":
        return False
    ran = run_plan(found.plan, catalogue)
    wanted = {_plain(value) for value in expected}
    columns = ran.plan.columns or tuple(each.column for each in ran.plan.where)
    naming = naming_column(ran.table)
    columns += (naming.name,) if naming else ()
    if wanted == {str(key) for key in ran.row_keys}:
        return True
    return any(
        {_plain(cell) for cell in cells_of(ran, catalogue, name) if cell is not None} == wanted
        for name in columns
    )


def _plain(value: object) -> str:
    return f"{float(value):g}" if isinstance(value, (int, float, Decimal)) else str(value)


def _names_all(found: LookedUp, expected: Sequence[object]) -> bool:
    """Whether each identifying value is told, or is a cell or the key of the rows cited."""
    told = " ".join(sentence.text for sentence in found.sentences)
    cells = {str(cell.value) for cell in _cells(found.sentences)}
    if found.plan is not None and found.plan.operation == "rows":
        cells |= {cell.row_key for cell in _cells(found.sentences)}
    numbers = {f"{float(cell):g}" for cell in cells if cell.replace(".", "", 1).isdigit()}
    return bool(expected) and all(
        str(value) in cells or str(value) in told or str(value) in numbers for value in expected
    )


def _cells(sentences: Sequence[Sentence]) -> Iterator[Cell]:
    for sentence in sentences:
        for citation in sentence.citations:
            if isinstance(citation, Cell):
                yield citation
            elif isinstance(citation, Computed):
                yield from citation.inputs


def _cites_all(
    found: LookedUp, question: Mapping[str, object], database: sqlite3.Connection
) -> bool:
    """Whether the rows that are cited are those of the SQL; of which questions, the answer's."""
    sql = question.get("answer_rows_sql") or question.get("rows_sql")
    if sql is None:
        return True
    wanted = {str(row[0]) for row in database.execute(str(sql)).fetchall()}
    cited: set[str] = set()
    counts: list[int] = []
    for sentence in found.sentences:
        for citation in sentence.citations:
            if isinstance(citation, Cell):
                cited.add(citation.row_key)
            elif isinstance(citation, Rows):
                cited |= set(citation.row_keys)
                counts.append(citation.count)
            elif isinstance(citation, Computed):
                cited |= set(citation.rows.row_keys)
                counts.append(citation.rows.count)
    is_cut = any(count > len(cited) for count in counts)
    return cited <= wanted and len(wanted) in counts if is_cut else wanted <= cited


def share(of: Sequence[object], part: Sequence[object]) -> float:
    """`part` of `of`; 0 of nothing."""
    return len(part) / len(of) if of else 0.0


def report(name: str, outcomes: Sequence[Outcome]) -> None:
    """Print what went wrong, and how each kind of question fared."""
    kinds: dict[str, list[Outcome]] = {}
    for each in outcomes:
        kinds.setdefault(str(each.question.get("kind", "all")), []).append(each)
    print(f"\n{name}: {len(outcomes)} questions\n{'kind':14} {'n':>4} accepted right")
    for kind, group in sorted(kinds.items()):
        taken = [each for each in group if each.is_accepted]
        right = [each for each in taken if each.is_right and each.has_all_rows]
        print(f"{kind:14} {len(group):>4} {len(taken):>8} {len(right):>5}")
    for each in outcomes:
        if each.is_accepted and not (each.is_right and each.has_all_rows):
            why = "wrong" if not each.is_right else "rows not all cited"
            print(f"  {why}: {each.question['question']}\n    {each.reason}")


if __name__ == "__main__":
    main()
