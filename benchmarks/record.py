"""Keep what a benchmark found: in `docs/benchmarks.json`, on the page and in the picture of it.

usage: benchmarks/refresh.py --runs 3 | benchmarks/record.py --arguments "--runs 3"

Reads what the benchmark prints, passes it on, and takes the closing JSON line. What is on the page
about other benchmarks stays as it was measured.
"""

import argparse
import ast
import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bounds import REPOSITORY

sys.path.insert(0, str(REPOSITORY))

from rag_assets.reports import plots

RECORDS = REPOSITORY / "docs" / "benchmarks.json"
PAGE = RECORDS.with_suffix(".md")
PICTURE = REPOSITORY / "docs" / "images" / "benchmarks.svg"
PACKAGES = ("dagster", "dlt", "lancedb", "duckdb", "pyarrow", "torch", "openvino")
SHOWN = {
    "refresh, nothing changed": ("refresh", "nothing changed: seconds / best peer"),
    "refresh, 1 % changed": ("refresh", "1 % changed: seconds / best peer"),
    "embedding a text": ("encoder", "256 tokens: times the default"),
}
"""What the picture shows: for each group the benchmark and its bound."""
HEAD = """\
# Benchmarks

Each table is what one command printed; run it to see it on your machine. The bound says how good a
value has to be. Where a miss is known, its reason stands beside it. Ratios are measured in one run
on one machine; seconds differ between machines.

A row that compares two ways holds by the lower end of the 95 % interval of their difference: only
that rules a larger loss out. Where it is not above 0, no gain is shown, which is said. Rows with
*about* are of runs that recorded the upper end: their lower end is taken to lie as far below the
difference, until the next run. A row that recorded nothing but an upper end shows nothing.

![Seconds in percent of the best other framework](images/benchmarks.svg)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arguments", default="", help="what the benchmark was called with")
    arguments = parser.parse_args().arguments
    found = None
    for line in sys.stdin:
        sys.stdout.write(line)
        if line.startswith('{"name":'):
            found = json.loads(line)
    if found is None:
        sys.exit("there is no closing JSON line: nothing was recorded")
    records = json.loads(RECORDS.read_text("utf-8")) if RECORDS.is_file() else {}
    records[found["name"]] = {
        "arguments": arguments,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": machine(),
        "versions": dict(versions()),
        "bounds": found["bounds"],
    }
    ordered = dict(sorted(records.items()))
    RECORDS.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", "utf-8")
    PAGE.write_text("\n".join([HEAD, *map(section, ordered, ordered.values())]), "utf-8")
    PICTURE.write_text(picture(ordered), "utf-8")


def machine() -> str:
    """Processor, its number of cores, and the widest vector instructions that matter here."""
    name, flags = platform.processor() or platform.machine(), ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        lines = (line.partition(":") for line in cpuinfo.read_text().splitlines())
        facts = {name.strip(): value.strip() for name, _, value in lines}
        name, flags = facts.get("model name", name), facts.get("flags", "")
    known = {"amx_bf16": "AMX", "avx512_bf16": "AVX512-BF16", "avx512f": "AVX-512", "avx2": "AVX2"}
    widest = next((shown for flag, shown in known.items() if flag in flags.split()), "")
    return ", ".join(filter(None, [name, f"{os.cpu_count()} cores", widest]))


def versions() -> Iterator[tuple[str, str]]:
    yield "Python", platform.python_version()
    for name in PACKAGES:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            continue


def section(name: str, record: Mapping) -> str:
    """What a benchmark found, as a part of the page."""
    source = (REPOSITORY / "benchmarks" / f"{name}.py").read_text("utf-8")
    about = (ast.get_docstring(ast.parse(source)) or "").splitlines()[0]
    used = ", ".join(f"{package} {number}" for package, number in record["versions"].items())
    rows = [
        f"| {bound['what']} | {bound['value']:,} | {bound['bound']} | {holds(bound)} |"
        for bound in record["bounds"]
    ]
    command = f"python benchmarks/{name}.py {record['arguments']}".strip()
    lines = [f"## {name}", "", about, "", f"`{command}`", ""]
    if reason := record.get("not run here"):
        return "\n".join([*lines, f"Not run here: {reason}.", ""])
    return "\n".join(
        [
            *lines,
            "| what | measured | bound | holds |",
            "| --- | ---: | ---: | --- |",
            *rows,
            "",
            f"{record['date']}; {record['machine']}; {used}",
            "",
        ]
    )


def holds(bound: Mapping) -> str:
    """Whether a bound holds, and why not where that is known."""
    note = f"; {bound['note']}" if bound.get("note") else ""
    if bound["ok"]:
        return f"yes{note}"
    known = f", known: {bound['reason']}" if bound.get("known") else ""
    return f"**no**{known}{note}"


def picture(records: Mapping[str, Mapping]) -> str:
    """Seconds in percent of what the best other framework, or the default, takes."""
    percents = {}
    for group, (name, what) in SHOWN.items():
        held = {bound["what"]: bound["value"] for bound in records.get(name, {}).get("bounds", ())}
        if what in held:
            percents[group] = 100 / held[what] if "times" in what else 100 * held[what]
    return plots.bars(
        {
            "best other framework": [plots.Bar(100.0) for _ in percents],
            "rag_assets": [plots.Bar(value) for value in percents.values()],
        },
        groups=list(percents),
        title="Seconds, in percent of the best other framework",
        y_label="percent",
    )


if __name__ == "__main__":
    main()
