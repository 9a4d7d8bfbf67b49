"""Old and new versions of one document: linked right, never linked wrongly, never in the way.

usage: families.py [--archives FOLDER] [--queries 60]

Twenty manuals of Python packages in three releases each are fetched with `pip download` (sources as
their projects released them) and laid down in five ways in which people keep versions. They are
built with the standards of the demo, with 20 series as people name and mark them, and with 120
pairs of documents with like names which are no versions: 60 written before the rule was, and 60, as
the series, by a hand that had not seen it (`other_hand`). A series is linked right if all of its
releases are one family with nothing else in it, and only the newest is current. Then words of
each superseded document are searched for with each retriever: no unit of a superseded one may be
returned, and none may be missing in a search among all versions.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bounds import REPOSITORY, Bound, at_least, equal, finish

from rag_assets import config as configuration
from rag_assets.config import Config
from rag_assets.config.addresses import elements_table, families_table
from rag_assets.documents.families.shown import DocumentMember, documents_of
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.opening import open_index
from rag_assets.retrieval.search import VariantIndex
from rag_assets.store import Store
from rag_assets_testing.faults import pipeline

HERE = Path(__file__).parent
PAIRS = (HERE / "families_unlike.json", HERE / "other_hand" / "families_unlike.json")
BY_HAND = HERE / "other_hand" / "families_series.json"
STANDARDS = REPOSITORY / "data" / "documents" / "standards"
LONGEST = 12_000
"""Characters of a manual that are kept: the rule reads first pages only."""
RETRIEVERS = ("baseline", "bm25", "hybrid", "hybrid_late_fusion", "best")
WORDS_A_QUERY = 12


@dataclass(frozen=True, slots=True)
class Series:
    """One manual in several releases, the oldest first."""

    package: str
    releases: Sequence[str]
    manual: str
    """Its path in the archive."""


SERIES = (
    Series("Flask", ("2.0.3", "2.1.3", "2.2.2"), "docs/cli.rst"),
    Series("Jinja2", ("3.0.3", "3.1.1", "3.1.2"), "docs/api.rst"),
    Series("Markdown", ("3.3.4", "3.3.7", "3.4.1"), "docs/extensions/footnotes.md"),
    Series("Pint", ("0.17", "0.18", "0.19.2"), "docs/defining-quantities.rst"),
    Series("PyVISA", ("1.11.3", "1.12.0", "1.13.0"), "docs/source/faq/faq.rst"),
    Series("click", ("8.0.4", "8.1.0", "8.1.3"), "docs/options.rst"),
    Series("coverage", ("5.5", "6.0.2", "6.5.0"), "doc/config.rst"),
    Series("lmfit", ("1.0.1", "1.0.2", "1.0.3"), "doc/confidence.rst"),
    Series("pexpect", ("4.6.0", "4.7.0", "4.8.0"), "doc/overview.rst"),
    Series("psutil", ("5.7.3", "5.8.0", "5.9.5"), "docs/index.rst"),
    Series("lmfit", ("1.0.1", "1.0.2", "1.0.3"), "doc/model.rst"),
    Series("pyserial", ("3.2", "3.4", "3.5"), "documentation/pyserial_api.rst"),
    Series("sqlparse", ("0.3.1", "0.4.1", "0.4.2"), "docs/source/intro.rst"),
    Series("uncertainties", ("3.1.5", "3.1.6", "3.1.7"), "doc/user_guide.rst"),
    Series("networkx", ("2.6.3", "2.7.1", "2.8.8"), "doc/tutorial.rst"),
    Series("networkx", ("2.6.3", "2.7.1", "2.8.8"), "README.rst"),
    Series("Werkzeug", ("2.0.3", "2.1.2", "2.2.2"), "docs/routing.rst"),
    Series("Pygments", ("2.10.0", "2.11.2", "2.12.0"), "doc/docs/lexerdevelopment.rst"),
    Series("coverage", ("5.5", "6.0.2", "6.5.0"), "doc/faq.rst"),
    Series("tabulate", ("0.8.9", "0.8.10", "0.9.0"), "README.md"),
)

Kept = Callable[[Series, str], str]
WAYS: Sequence[Kept] = (
    lambda series, release: f"{series.package}-{release}/{series.manual}",
    lambda series, release: f"manuals/{named(series)}_v{release}{suffix(series)}",
    lambda series, release: f"{series.package}/v{release}/{Path(series.manual).name}",
    lambda series, release: f"manuals/{named(series)}-{release}{suffix(series)}",
    lambda series, release: (
        f"{'' if release == series.releases[-1] else 'archive/'}"
        f"{named(series)} rev {release}{suffix(series)}"
    ),
)
"""How people keep releases: as unpacked, with a `v`, in a folder each, bare, or the old ones in an
archive."""


def named(series: Series) -> str:
    return f"{series.package.lower()}_{Path(series.manual).stem}"


def suffix(series: Series) -> str:
    return Path(series.manual).suffix


def archive_of(package: str, release: str, *, archives: Path) -> Path:
    """The source archive of a release, fetched unless it is there."""
    pattern = f"{package}-{release}.*"
    if not list(archives.glob(pattern)):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        wanted = ["--no-binary", ":all:", "--dest", str(archives), f"{package}=={release}"]
        done = subprocess.run([*command, *wanted], check=False, capture_output=True, text=True)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            sys.exit(f"skipped: {package} {release} cannot be fetched with pip ({last})")
    return next(iter(archives.glob(pattern)))


def text_of(archive: Path, path: str) -> str:
    """The text of the file that ends with `path` below the first folder of an archive."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as held:
            name = next(each for each in held.namelist() if each.partition("/")[2] == path)
            return held.read(name).decode("utf-8", "replace")
    with tarfile.open(archive) as held:
        name = next(each for each in held.getnames() if each.partition("/")[2] == path)
        file = held.extractfile(name)
        assert file is not None, f"{name} is a file"
        return file.read().decode("utf-8", "replace")


def lay_down(folder: Path, *, archives: Path) -> Mapping[str, list[str]]:
    """Write all documents; returns the paths of each series, the oldest first."""
    written: defaultdict[str, list[str]] = defaultdict(list)
    for place, series in enumerate(SERIES):
        texts: set[str] = set()
        for release in series.releases:
            archive = archive_of(series.package, release, archives=archives)
            text = text_of(archive, series.manual)[:LONGEST]
            if text in texts:
                continue  # nothing changed: that is a copy, not a version
            texts.add(text)
            path = WAYS[place % len(WAYS)](series, release)
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, "utf-8")
            written[f"{series.package} {series.manual}"].append(path)
    (folder / "standards").mkdir()
    for standard in sorted(STANDARDS.glob("*.pdf")):
        shutil.copy(standard, folder / "standards" / standard.name)
    written["demo standard"] = [
        f"standards/{file.name}" for file in sorted(STANDARDS.glob("NHS-3101-*.pdf"))
    ]
    return written


def series_by_hand(folder: Path) -> Mapping[str, list[str]]:
    """Write the series of `BY_HAND`, each below a folder; the paths of each, the oldest first."""
    written: dict[str, list[str]] = {}
    for number, series in enumerate(json.loads(BY_HAND.read_text("utf-8"))):
        paths = []
        for document in sorted(series["documents"], key=lambda each: each["order"]):
            path = f"series-{number:02d}/{document['uri']}"
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(document["text"], "utf-8")
            paths.append(path)
        written[series["why"]] = paths
    return written


def unlike_pairs(folder: Path) -> list[tuple[str, str, str]]:
    """Write the pairs that are no versions, each below a folder; why, and both paths."""
    found = []
    pairs = [pair for file in PAIRS for pair in json.loads(file.read_text("utf-8"))]
    for number, pair in enumerate(pairs):
        paths = []
        for side in ("first", "second"):
            path = f"unlike-{number:03d}/{pair[side]['uri']}"
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(pair[side]["text"], "utf-8")
            paths.append(path)
        found.append((pair["why"], paths[0], paths[1]))
    return found


def is_linked_right(paths: Sequence[str], members: Mapping[str, DocumentMember]) -> bool:
    """Whether these are one family with nothing else in it, and only the newest is current."""
    held = [members[path] for path in paths]
    family = held[0].family
    everyone = {each.uri for each in members.values() if each.family == family}
    statuses = [each.status for each in held]
    right = ["superseded"] * (len(held) - 1) + ["current"]
    return family is not None and everyone == {*paths} and statuses == right


def _linked_right(series: Mapping[str, list[str]], members: Mapping[str, DocumentMember]) -> float:
    """Share of `series` that are linked right; the others are printed."""
    wrong = [name for name, paths in series.items() if not is_linked_right(paths, members)]
    for name in wrong:
        print(f"  not linked right: {name}")
        for path in series[name]:
            each = members[path]
            print(f"    {path}: {each.status}, {each.family}, {each.evidence}")
    return 1 - len(wrong) / len(series)


def linked(
    series: Mapping[str, list[str]],
    by_hand: Mapping[str, list[str]],
    pairs: Sequence[tuple[str, str, str]],
    members: Mapping[str, DocumentMember],
) -> Iterator[Bound]:
    share = _linked_right(series, members)
    yield at_least(f"series linked right ({len(series)})", share, 0.95)
    share = _linked_right(by_hand, members)
    print(
        f"of {len(by_hand)} series with the marks that people make up, {share:.2f} are linked right"
    )
    wrong = proposed = 0
    for why, one, other in pairs:
        both = [members[one], members[other]]
        is_one = both[0].family is not None and both[0].family == both[1].family
        is_proposal = any(each.status == "proposed" for each in both)
        wrong += is_one and not is_proposal
        proposed += is_one and is_proposal
        if is_one:
            print(f"  {'proposed' if is_proposal else 'LINKED'} ({why}): {one} and {other}")
    print(f"{proposed} of {len(pairs)} unlike pairs are proposed to be confirmed")
    yield equal("pairs of like names", len(pairs), 120)
    yield equal("unlike pairs linked without a proposal", wrong, 0)


def queries_of(
    store: Store, config: Config, members: Sequence[DocumentMember], *, most: int
) -> list[tuple[str, str]]:
    """Words of superseded documents, each with the document's path."""
    superseded = [each for each in members if each.status == "superseded"]
    table = elements_table(config, config.variant("default").parser)
    found: list[tuple[str, str]] = []
    for each in superseded:
        texts = store.read_keys(
            table, column="document_id", keys=[each.document_id], columns=["text"]
        )["text"].to_pylist()
        words = " ".join(texts).split()
        step = max(len(words) // max(most // len(superseded), 1), WORDS_A_QUERY)
        found += [
            (" ".join(words[start : start + WORDS_A_QUERY]), each.uri)
            for start in range(0, len(words) - WORDS_A_QUERY, step)
        ]
    return found[:most]


def searched(index: VariantIndex, queries: Sequence[tuple[str, str]]) -> Iterator[Bound]:
    superseded = {uri for _, uri in index.families.superseded}
    returned = short = found = 0
    for retriever in RETRIEVERS:
        for query, uri in queries:
            hits = index.search(query, retriever=retriever)
            returned += sum(hit.uri in superseded for hit in hits)
            every = index.search(query, retriever=retriever, filters=Filters(versions="all"))
            short += len(hits) < len(every)
            found += any(hit.uri == uri for hit in every)
    asked = len(RETRIEVERS) * len(queries)
    print(f"{asked} searches; among all versions {found / asked:.2f} find the superseded document")
    yield equal("units of superseded documents returned by current_only", returned, 0)
    yield equal("searches with fewer hits than among all versions", short, 0)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--archives", type=Path, help="folder that keeps what was fetched")
    options.add_argument("--queries", type=int, default=60, help="searches by each retriever")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        archives = (arguments.archives or home / "archives").absolute()
        archives.mkdir(parents=True, exist_ok=True)
        documents = home / "documents"
        series = lay_down(documents, archives=archives)
        by_hand = series_by_hand(documents)
        pairs = unlike_pairs(documents)
        file = home / "rag_assets.yaml"
        file.write_text(
            json.dumps({"state_dir": "state", "sources": {"documents": "documents"}}), "utf-8"
        )
        config = configuration.load(file)
        pipeline.refresh(config, log=print)
        store = Store.of(config)
        parser = config.variant("default").parser
        members = documents_of(store, families_table(config, parser))
        bounds = [*linked(series, by_hand, pairs, {each.uri: each for each in members})]
        queries = queries_of(store, config, members, most=arguments.queries)
        bounds += searched(open_index(store, config, "default"), queries)
    finish("families", bounds)


if __name__ == "__main__":
    main()
