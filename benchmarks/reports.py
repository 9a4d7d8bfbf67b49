"""Reports: do sub-questions find at least the pages that one broad query finds?

usage: reports.py [--state FOLDER] [--prompts FILE]

Writes a report on each of ten prompts on the OpenFOAM guides of materials_demo, whose sections,
pages and facts were written by another hand (`other_hand/report_prompts.json`), in two ways that
differ in what is searched alone (P4, tables 2, 3 and 8): the whole prompt once (35 candidates, 20
units), and its sub-questions by rules (15 candidates, the best 3 of each first), which the whole
prompt fills up to 20 units. Shows for both
which pages, sections and facts are found and told, with intervals over prompts, and holds the
bound: recall of pages among 20 units is not below that of the broad query. The rules were developed
on other prompts on other documents: `report_prompts.json`, to be seen with --prompts. With --state
the index is kept and found again.
"""

import argparse
import tempfile
from pathlib import Path

from bounds import REPOSITORY, at_least, at_most, dataset, finish, rag_assets
from retrieval import write_config

from rag_assets import config as configuration
from rag_assets.answering.measuring.report_design import comparison_rows
from rag_assets.answering.measuring.report_prompts import ReportPrompt, read_report_prompts
from rag_assets.answering.measuring.report_retrieval import ReportComparison, compare_retrieval
from rag_assets.retrieval.opening import open_index
from rag_assets.store import Store
from rag_assets.table_lookup.arm import arms_of

PROMPTS = REPOSITORY / "benchmarks" / "other_hand" / "report_prompts.json"
DATASET = "materials_demo"
VARIANT = "default"
SAMPLES = 10_000
RECALL = "page recall@20"
MOST_PARTS = 5


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--state", type=Path, help="folder to keep the index in")
    options.add_argument("--prompts", type=Path, default=PROMPTS, help="other prompts")
    arguments = options.parse_args()
    prompts = read_report_prompts(arguments.prompts)
    with tempfile.TemporaryDirectory() as temporary:
        root = (arguments.state or Path(temporary)).absolute()
        found = compared(prompts, state=root / DATASET)
    show(found)
    broad, parts = found.means(RECALL)
    finish(
        "reports",
        [
            at_least("page recall@20 of sub-questions less that of one query", parts - broad, 0),
            at_most("sub-questions of a prompt", max(found.parts), MOST_PARTS),
        ],
    )


def compared(prompts: list[ReportPrompt], *, state: Path) -> ReportComparison:
    """Both ways on the index of materials_demo."""
    data = dataset(DATASET)
    file = write_config(data, state=state)
    refreshed = rag_assets("refresh", "--json", config=file)
    if refreshed.code not in (0, 3):
        raise SystemExit(f"the refresh failed: {refreshed.output}")
    config = configuration.load(file)
    store = Store.of(config)
    index = open_index(store, config, VARIANT, arms=arms_of(store, config))
    return compare_retrieval(
        index, prompts, store=store, config=config, progress=lambda line: print(line, flush=True)
    )


def show(found: ReportComparison) -> None:
    """The prompts with their recall, then the means of all measures."""
    place = [*found.measures].index(RECALL)
    print(f"\n{RECALL} of each prompt: one query, sub-questions")
    for row, prompt in enumerate(found.prompts):
        broad, parts = found.broad[row, place], found.decomposed[row, place]
        print(f"{prompt.id:12} {broad:.3f} {parts:.3f}  ({found.parts[row]} sub-questions)")
    print()
    for row in comparison_rows(found, found.measures, samples=SAMPLES):
        print("  ".join(f"{value:28}" for value in row.values()).rstrip())
    print()


if __name__ == "__main__":
    main()
