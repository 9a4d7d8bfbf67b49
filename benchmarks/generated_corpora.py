"""Corpora of three kinds that the others are not, made by seed from what is installed or at hand.

`reference_manual`: 400 pages about functions of numpy, scipy, pandas and networkx, one each, out of
their docstrings. Their authors' one-line summaries are taken off the pages: 120 of these are the
questions. Pages are long, technical, and alike where functions are. What it cannot show: how people
ask, for a summary is a statement by whoever wrote the page; tables; a page that answers beside the
one that was meant, for many functions do nearly the same. Examples and cross-references are left
out. Other releases of the packages make another corpus.

`product_pages`: 300 data sheets of one template, differing in a few values, and their price list as
a table. 80 questions from plans name kind, use and certificate of one product in synonyms by hand,
never in the page's words. What it cannot show: search by names, numbers or the words that are
written, which is what most people do with data sheets. It leans to whatever knows synonyms.

`ticket_log`: 500 tickets of a help desk as rows of one table with a long text each, put together
from sentences by hand. The same fault comes back at many places and is cured in another way. 60
questions: a third in the ticket's words, a third in others, a third by the code of the fault. What
it cannot show: the variety of what real people type; all is in English and well spelt.
"""

import importlib
import inspect
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from itertools import cycle, product
from pathlib import Path
from string import Template
from typing import TypeAlias

from dataset_layout import Cell, Question, Table, write
from mixed_corpus import write_corpus

FRAGMENTS = Path(__file__).with_name("generated_fragments")
SEED = 2026
PACKAGES = (
    "numpy",
    "numpy.linalg",
    "scipy.cluster.hierarchy",
    "scipy.fft",
    "scipy.integrate",
    "scipy.interpolate",
    "scipy.linalg",
    "scipy.ndimage",
    "scipy.optimize",
    "scipy.signal",
    "scipy.sparse.linalg",
    "scipy.spatial.distance",
    "scipy.stats",
    "pandas",
    "networkx",
)
PAGES = 400
SHORTEST_PAGE = 400
"""Characters."""
FEWEST_WORDS = 5
"""Of a summary that is asked."""
PRODUCTS = 300
TICKETS = 500
LEFT_OUT = ("Examples", "See Also")
UNDERLINED = re.compile(r"^(?P<heading>\S.*)\n-{3,}$", re.MULTILINE)
OPENED = date(2025, 1, 7)

Plan: TypeAlias = Mapping[str, str]
"""What a question is put together from, with its gold and its answer."""


@dataclass(frozen=True, slots=True)
class Described:
    """A function with its docstring taken apart."""

    name: str
    summary: str
    page: str

    @property
    def short_name(self) -> str:
        return self.name.rpartition(".")[2]


def write_reference_manual(folder: Path) -> None:
    drawn = random.Random(SEED)
    functions = sorted(_described(), key=lambda each: each.name)
    functions = sorted(drawn.sample(functions, PAGES), key=lambda each: each.name)
    names = Counter(each.short_name for each in functions)
    summaries = Counter(each.summary for each in functions)
    askable = [
        each
        for each in functions
        if names[each.short_name] == 1 and summaries[each.summary] == 1 and _is_question(each)
    ]
    questions = [
        Question(
            question=each.summary,
            domain="doc",
            gold=[f"doc:{each.name}.md"],
            answer=each.name,
        )
        for each in drawn.sample(askable, 120)
    ]
    write(
        folder,
        documents={f"{each.name}.md": each.page for each in functions},
        tables=[],
        questions=_finished(questions, name="reference"),
    )


def write_product_pages(folder: Path) -> None:
    drawn = random.Random(SEED)
    fragments = _fragments("product_pages")
    parts = [fragments[name] for name in ("types", "applications", "certificates")]
    documents: dict[str, str] = {}
    prices: list[list[Cell]] = []
    plans: list[Plan] = []
    for number, chosen in enumerate(drawn.sample(list(product(*parts)), PRODUCTS), 1):
        kind, use, certificate = chosen
        model = f"{kind['series']}-{1000 + 7 * number}"
        values = {each["name"]: drawn.choice(each["values"]) for each in fragments["attributes"]}
        documents[f"{model}.md"] = Template(fragments["page"]).substitute(
            title=f"{kind['name']} {model} for {use['name']}",
            principle=kind["text"],
            use=use["text"],
            range=drawn.choice(kind["ranges"]),
            values="\n".join(f"| {name} | {value} |" for name, value in values.items()),
            approval=certificate["name"],
        )
        price, weeks = drawn.randrange(60, 900), drawn.randrange(1, 12)
        prices.append([model, kind["name"], use["name"], certificate["name"], price, weeks])
        attribute = drawn.choice(fragments["attributes"])
        plans.append(
            {
                "type": drawn.choice(kind["asked"]),
                "application": drawn.choice(use["asked"]),
                "certificate": drawn.choice(certificate["asked"]),
                "attribute": drawn.choice(attribute["asked"]),
                "doc": f"doc:{model}.md",
                "doc answer": values[attribute["name"]],
                "table": f"row:price_list:{number}",
                "table answer": str(price),
            }
        )
    drawn.shuffle(plans)
    forms = {domain: cycle(fragments["questions"][domain]) for domain in ("doc", "table")}
    questions = [
        Question(
            question=_sentence(next(forms[domain]).format(**plan)),
            domain=domain,
            gold=[plan[domain]],
            answer=plan[f"{domain} answer"],
        )
        for domain, plan in zip(["doc"] * 50 + ["table"] * 30, plans, strict=False)
    ]
    headings = {
        "model": "Model",
        "type": "Type",
        "use": "Application",
        "approval": "Approval",
        "price_eur": "List price (EUR)",
        "delivery_weeks": "Delivery time (weeks)",
    }
    write(
        folder,
        documents=documents,
        tables=[Table("price_list", "Price list 2026", headings, prices)],
        questions=_finished(questions, name="products"),
    )


def write_ticket_log(folder: Path) -> None:
    drawn = random.Random(SEED)
    fragments = _fragments("ticket_log")
    pairs = list(product(fragments["faults"], fragments["places"]))
    pairs += drawn.sample(pairs, TICKETS - len(pairs))  # the same fault at the same place again
    drawn.shuffle(pairs)
    seen = Counter((fault["code"], place["name"]) for fault, place in pairs)
    rows: list[list[Cell]] = []
    plans: list[Plan] = []
    for number, (fault, place) in enumerate(pairs, 1):
        fix = drawn.choice(fault["fixes"])
        time = f"{drawn.randrange(6, 18)}:{drawn.randrange(10, 60)}"
        text = [
            drawn.choice(fragments["openings"]).format(time=time, place=place["name"]),
            fault["symptom"],
            drawn.choice(fragments["tried"]),
            *drawn.sample(fragments["chatter"], 2),
            fix,
            drawn.choice(fragments["closings"]),
        ]
        day = (OPENED + timedelta(days=number * 2 // 3)).isoformat()
        priority = drawn.choice(["low", "normal", "high", None])
        told = [place["name"], fault["system"], fault["code"], priority, " ".join(text)]
        rows.append([day, *told])
        if seen[fault["code"], place["name"]] == 1:
            plans.append(
                {
                    "fault": fault["words"],
                    "place": place["name"],
                    "code": fault["code"],
                    "other fault": fault["asked"],
                    "other place": place["asked"],
                    "gold": f"row:tickets:{number}",
                    "answer": fix,
                }
            )
    drawn.shuffle(plans)
    forms = {kind: cycle(texts) for kind, texts in fragments["questions"].items()}
    questions = [
        Question(
            question=_sentence(next(forms[kind]).format_map(plan)),
            domain="table",
            gold=[plan["gold"]],
            answer=plan["answer"],
            kind=kind,
        )
        for kind, plan in zip(sorted([*forms] * 20), plans, strict=False)
    ]
    headings = {
        "opened": "Opened",
        "place": "Place",
        "system": "System",
        "code": "Code of the fault",
        "priority": "Priority",
        "log": "Log",
    }
    write(
        folder,
        documents={},
        tables=[Table("tickets", "Help desk tickets 2025", headings, rows)],
        questions=_finished(questions, name="tickets"),
    )


PLAIN_CORPORA = ("english_manual", "german_manual", "swedish_manual", "data_tables")
"""Corpora of `plain_corpora`; see its README.md."""
WRITERS: Mapping[str, Callable[[Path], None]] = {
    "mixed_languages": partial(write_corpus, Path(__file__).with_name("mixed_languages")),
    "reference_manual": write_reference_manual,
    "product_pages": write_product_pages,
    "ticket_log": write_ticket_log,
    **{
        name: partial(write_corpus, Path(__file__).with_name("plain_corpora") / name)
        for name in PLAIN_CORPORA
    },
}
"""Of every corpus that the benchmarks bring with them."""


def _described() -> Iterator[Described]:
    """All functions of `PACKAGES` with a docstring that is long enough, each once."""
    seen: set[int] = set()
    for package in PACKAGES:
        for name, held in sorted(vars(importlib.import_module(package)).items()):
            text = inspect.getdoc(held) if callable(held) else None
            if name.startswith("_") or inspect.isclass(held) or not text or id(held) in seen:
                continue
            seen.add(id(held))
            summary, _, rest = text.partition("\n\n")
            page = _page(f"{package}.{name}", rest)
            if f"{name}(" not in summary and len(page) > SHORTEST_PAGE:
                yield Described(f"{package}.{name}", " ".join(summary.split()), page)


def _page(name: str, text: str) -> str:
    """Markdown of a docstring without its summary, and without the sections in `LEFT_OUT`."""
    opening, *sections = re.split(r"^(?=\S.*\n-{3,}$)", text, flags=re.MULTILINE)
    kept = [part for part in sections if not part.startswith(LEFT_OUT)]
    return UNDERLINED.sub(r"## \g<heading>", "\n".join([f"# {name}\n", opening, *kept]))


def _is_question(each: Described) -> bool:
    """Whether the summary is a description, and tells neither the name nor what the page says."""
    asked, name, page = map(_letters, (each.summary, each.short_name, each.page))
    return len(each.summary.split()) >= FEWEST_WORDS and name not in asked and asked not in page


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text).casefold()


def _fragments(name: str) -> dict:
    return json.loads((FRAGMENTS / f"{name}.json").read_text("utf-8"))


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _finished(questions: Iterable[Question], *, name: str) -> Iterator[Question]:
    """Questions with ids, one half of them for tuning."""
    for number, (question, split) in enumerate(zip(questions, cycle(("dev", "test"))), 1):
        yield Question(id=f"{name}-{number:03d}", **question, lang="en", support=[], split=split)
