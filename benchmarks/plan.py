"""A plan over 300,000 units of which 1 % changed: what it costs, and whether it comes true.

usage: plan.py [--units 300000] [--plans 20]

Markdown documents of many lengths and ten CSV files are indexed, with a hash in place of the
model. Then documents are edited, added, renamed and deleted and rows changed, 1 % of each; a plan
is made in a process of its own, as `rag-assets refresh --dry-run` makes it, and a refresh follows:
20 times.
Files, documents and rows are to be exact. What a plan estimates of changed documents is shown
beside what came of it, with the tokens of new texts as the tokenizer itself counts them.
"""

import argparse
import csv
import json
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import corpus
from bounds import at_least, at_most, equal, finish

if TYPE_CHECKING:
    from rag_assets.change.sync import Report
    from rag_assets.workers import Task

CONFIG = """\
state_dir: state
sources:
  documents: documents
  tables: [{name: lists, url: lists}]
chunkings:
  small: {strategy: headers, size: 64, overlap: 8}
variants:
  default: {chunking: small, model: minilm}
"""
TABLES = 10
SHARE_OF_ROWS = 1 / 5
CHARACTERS_A_UNIT = 150
CHANGED_SHARE = 0.01
MOST_SECONDS = 3
ESTIMATES = ("added", "texts", "tokens")


@dataclass(frozen=True, slots=True)
class Round:
    """One plan and the refresh that followed."""

    seconds: float
    """CPU time of the whole process that planned, imports included."""
    files: bool
    documents: bool
    rows: bool
    ratios: dict[str, float]
    """What was estimated, divided by what came of it."""


class Project:
    """Documents and tables that change from round to round."""

    def __init__(self, home: Path, *, units: int) -> None:
        self.home = home
        self._drawn = random.Random(20)
        self._made = 0
        (home / "rag_assets.yaml").write_text(CONFIG)
        (home / "documents").mkdir()
        (home / "lists").mkdir()
        rows = int(units * SHARE_OF_ROWS)
        characters = (units - rows) * CHARACTERS_A_UNIT
        self._stock = corpus.markdown(characters + characters // 3, longest_section=3_000)
        written = 0
        while written < characters:
            written += self._add()
        self._tables = [
            [[n, f"part {n}", self._drawn.randint(1, 10**6), f"site {n % 97}"] for n in part]
            for part in (range(place, rows, TABLES) for place in range(TABLES))
        ]
        for place in range(TABLES):
            self._write_table(place)

    def change(self) -> None:
        """Change one in a hundred documents and rows."""
        files = sorted((self.home / "documents").iterdir())
        for path in self._drawn.sample(files, int(len(files) * CHANGED_SHARE)):
            kind = self._drawn.random()
            if kind < 0.8:
                path.write_text(self._edited(path.read_text("utf-8")), "utf-8")
            elif kind < 0.9:
                self._add()
            elif kind < 0.95:
                path.rename(path.with_name(f"moved-{path.name}"))
            else:
                path.unlink()
        for place in self._drawn.sample(range(TABLES), 2):
            rows = self._tables[place]
            for row in self._drawn.sample(rows, len(rows) // 20):
                row[2] = self._drawn.randint(1, 10**6)
            self._write_table(place)

    def _add(self) -> int:
        """A document of up to ten sections, many short ones and few long ones."""
        whole = self._stock[self._made % len(self._stock)]
        sections = whole.split("\n\n## ")
        kept = min(len(sections), 1 + int(self._drawn.expovariate(1 / 4)))
        text = "\n\n## ".join([f"# Document {self._made}", *sections[1 : kept + 1]])
        (self.home / "documents" / f"{self._made:06d}.md").write_text(text, "utf-8")
        self._made += 1
        return len(text)

    def _edited(self, text: str) -> str:
        """One to four paragraphs are changed, added or taken out."""
        paragraphs = text.split("\n\n")
        for _ in range(self._drawn.randint(1, 4)):
            place = self._drawn.randrange(1, len(paragraphs)) if len(paragraphs) > 1 else 0
            other = self._drawn.choice(self._stock).split("\n\n")
            kind = self._drawn.random()
            if kind < 0.5:
                paragraphs[place] = f"Revised {self._drawn.randint(1, 10**6)}. {paragraphs[place]}"
            elif kind < 0.8:
                paragraphs.insert(place, self._drawn.choice(other))
            elif len(paragraphs) > 3:
                del paragraphs[place]
        return "\n\n".join(paragraphs)

    def _write_table(self, place: int) -> None:
        with (self.home / "lists" / f"list{place}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "name", "amount", "site"])
            writer.writerows(self._tables[place])


def planned(home: Path) -> dict[str, Any]:
    """A plan made in this process, as the command makes it."""
    from rag_assets import config
    from rag_assets.index import encoders
    from rag_assets.index.encoders import IndexEncoder
    from rag_assets.operations.plan.costs import costs_of
    from rag_assets.operations.plan.planning import plan_of
    from rag_assets.operations.plan.reasons import reasons_of
    from rag_assets.serving.plan_text import record_of
    from rag_assets.store import Store

    hashing = IndexEncoder("hashing", "hashing/cpu/sha256/fp32", 32, 256, 1, task=_embeds_nothing)
    with patch.object(encoders, "known_encoder", lambda *_, **__: hashing):
        settings = config.load(home / "rag_assets.yaml")
        store = Store.of(settings)
        plan = plan_of(store, settings, variant="default")
        costs = costs_of(store, settings, plan)
        record = record_of(plan, reasons=reasons_of(store, settings, plan), costs=costs)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {**record, "cpu": sum(each.ru_utime + each.ru_stime for each in used)}


def _embeds_nothing(_key: str, _texts: Sequence[str], /) -> "Task":
    raise AssertionError("a plan embeds nothing")


class Refreshes:
    """Refreshes of the project in this process, and what each did."""

    def __init__(self, home: Path) -> None:
        from tokenizers import Tokenizer

        from rag_assets import config
        from rag_assets.documents.chunks.tokens import tokenizer_file

        self._config = config.load(home / "rag_assets.yaml")
        model = self._config.models[self._config.variant("default").document_model]
        self._tokenizer = Tokenizer.from_file(str(tokenizer_file(model.path)))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._texts: set[str] | None = None
        """Hashes of the texts of chunks after the last refresh; None before the first."""

    def run(self) -> dict[str, Any]:
        """Refresh; files, rows and chunks that changed, and texts and tokens that were embedded."""
        from rag_assets_testing.faults.hashing import hashing
        from rag_assets_testing.faults.pipeline import refresh

        with hashing():
            reports = {each.target.partition("__")[0]: each for each in refresh(self._config)}
        found = self._new_texts()
        chunks = reports["documents"]
        return {
            "files": _counts(reports["document_files"]),
            "rows": _counts(reports["table_rows"]),
            "documents": _counts(reports["chunks"]),
            "added": chunks.added,
            "texts": len(found),
            "tokens": sum(len(each.ids) for each in self._tokenizer.encode_batch(found)),
            "units": reports["joint"].rows,
        }

    def _new_texts(self) -> list[str]:
        """The texts of chunks that were not there before this refresh."""
        from rag_assets.store import Store

        store, name = Store.of(self._config), self._config.tables_of("default").documents
        rows = store.read(name, columns=["text_hash"])["text_hash"]
        now = set(rows.to_pylist())
        new = set() if self._texts is None else now - self._texts
        self._texts = now
        found = store.read_keys(
            name, column="text_hash", keys=sorted(new), columns=["text_hash", "text"]
        )
        pairs = zip(*(found[column].to_pylist() for column in found.column_names), strict=True)
        return list(dict(pairs).values())


def _counts(report: "Report") -> list[int]:
    return [report.added, report.changed, report.removed]


def compared(plan: Mapping[str, Any], done: Mapping[str, Any]) -> Round:
    """A plan held against the refresh that followed."""
    assets = plan["assets"]
    vectors = assets["chunk_vectors"]
    return Round(
        seconds=plan["cpu"],
        files=_of(assets["document_files"]) == done["files"],
        documents=_of(assets["chunks"]) == done["documents"],
        rows=_of(assets["table_rows"]) == done["rows"],
        ratios={name: _about(vectors[name]) / done[name] for name in ESTIMATES if done[name]},
    )


def _about(told: Any) -> float:
    return told["estimate"] if isinstance(told, Mapping) else told


def _of(asset: Mapping[str, Any]) -> list[float]:
    return [asset[name] for name in ("added", "changed", "removed")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, default=300_000)
    parser.add_argument("--plans", type=int, default=20)
    parser.add_argument("--home", type=Path, help="make a plan of this project, and nothing else")
    asked = parser.parse_args()
    if asked.home:
        print(json.dumps(planned(asked.home)))
        return
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        project = Project(home, units=asked.units)
        refreshes = Refreshes(home)
        units = refreshes.run()["units"]
        print(f"{units:,} units are indexed", flush=True)
        rounds = []
        for number in range(asked.plans):
            project.change()
            plan = _in_a_process(home)
            rounds.append(compared(plan, refreshes.run()))
            print(number + 1, rounds[-1], flush=True)
    seconds = sorted(each.seconds for each in rounds)
    finish(
        "plan",
        [
            at_least("units", units, 0.95 * asked.units),
            at_most("CPU seconds of a plan, median", seconds[len(seconds) // 2], MOST_SECONDS),
            equal(
                "plans whose files are those of the run", sum(r.files for r in rounds), len(rounds)
            ),
            equal(
                "plans whose rows are those of the run", sum(r.rows for r in rounds), len(rounds)
            ),
            equal(
                "plans whose documents are those of the run",
                sum(r.documents for r in rounds),
                len(rounds),
            ),
        ],
    )


def _in_a_process(home: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--home", str(home)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
