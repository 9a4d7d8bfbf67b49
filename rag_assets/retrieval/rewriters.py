"""Rewriters: reformulations of a query, which are searched as well.

A rewriter takes queries and returns a reformulation of each that differs from the query. The rules
here need no model; a file gives what a model or a person wrote; `model_rewriter` asks a language
model.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Protocol

from rag_assets.config import QueryFusion
from rag_assets.process.errors import UnanswerableError
from rag_assets.retrieval.filters import encodable
from rag_assets.retrieval.glossary import Glossary

ASKING_WORDS = """
how what when where which who whose why is are was were do does did can could should would will
much many list name give tell me please find show explain describe
hur vad när var vilken vilket vilka vem vems varför är kan ska bör finns ange visa beskriv förklara
hitta
"""
FILLING_WORDS = """
a an and as at be been being by for from had has have in into it its of on or that the their there
these this those to with used about between
att av de den det en ett från för har i med och om på som till vid detta denna dessa mellan eller
"""
ASKING = frozenset(ASKING_WORDS.split())
FILLING = frozenset(FILLING_WORDS.split())
WORD = re.compile(r"[^\s?!,;:]+")
CLAUSES = re.compile(r"[,;:?!]|\.\s")


class RewritesError(UnanswerableError, ValueError):
    """A file of rewrites cannot be used; the message names it and says why."""


class MissingRewriteError(RewritesError):
    """A file of rewrites has none for a query."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What came of rewriting a query."""

    texts: Sequence[str] = ()
    """The reformulation of the query; none where there is none that differs from it."""
    failure: str = ""
    """Why there are none, where a language model failed."""
    kept_seconds: float = 0.0
    """What the call of a language model took when it was made, if its answer was kept."""


class Rewriter(Protocol):
    """The signature of every rewriter."""

    def __call__(self, queries: Sequence[str], /) -> list[Rewritten]:
        """The reformulation of each of `queries`, in their order."""
        ...


def rewriter_of(settings: QueryFusion, *, glossary: Glossary | None = None) -> Rewriter:
    """The rewriter that `settings` describe, if it needs no model.

    The rules know the expressions of `glossary`.

    Raises:
        RewritesError: Its file cannot be read.
    """
    rewrite = FileRewriter(settings.path) if settings.path else partial(by_rules, glossary=glossary)

    def rewritten(queries: Sequence[str], /) -> list[Rewritten]:
        return [Rewritten(rewrite(query)[:1]) for query in queries]

    return rewritten


def by_rules(query: str, /, *, glossary: Glossary | None = None) -> list[str]:
    """The query's keywords, its statement form and its longest clause, without duplicates.

    Where `glossary` knows other expressions for those of the query, its keywords in these come
    first. English and Swedish question words and fillers are known; words of other languages stay.
    """
    rules: tuple[Callable[[str], str], ...] = (_keywords, _statement, _longest_clause)
    other = glossary.rephrased(query) if glossary else None
    first = [_keywords(other)] if other else []
    return distinct([*first, *(rule(query) for rule in rules)], query=query)


class FileRewriter:
    """Rewrites from a JSONL file: `{"query": "...", "rewrites": ["...", ...]}` a line."""

    def __init__(self, path: Path) -> None:
        """Read `path`.

        Raises:
            RewritesError: There is no such file, or a line is not of that form.
        """
        try:
            state = path.stat()
        except OSError as error:
            raise _unreadable(path, error) from error
        self._path = path
        self._rewrites = _read(path, state.st_mtime_ns, state.st_size)

    def __call__(self, query: str, /) -> list[str]:
        """The reformulations of `query`, as the file has them.

        Raises:
            MissingRewriteError: The file has no line for `query`.
        """
        if query not in self._rewrites:
            raise MissingRewriteError(
                f"{self._path} has no rewrites of {query!r}: add a line for it, or set "
                "query_fusion.rewriter to rules"
            )
        return distinct(self._rewrites[query], query=query)


def text_of(path: Path) -> str:
    """The content of a file of rewrites.

    Raises:
        RewritesError: There is no such file, or it is not in UTF-8.
    """
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise _unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise RewritesError(f"the file of rewrites {path} is not UTF-8: {error}") from error


def _unreadable(path: Path, error: OSError) -> RewritesError:
    return RewritesError(f"there is no file of rewrites {path}: {error.strerror}")


@lru_cache(maxsize=4)
def _read(path: Path, _modified: int, _size: int) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    # not `splitlines`: it would also cut at line breaks of Unicode inside a JSON text
    lines = text_of(path).removeprefix("\ufeff").split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            query, rewrites = entry["query"], entry["rewrites"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise RewritesError(
                f"{path}, line {number}: not of the form "
                '{"query": "...", "rewrites": ["...", ...]}'
            ) from error
        if not isinstance(query, str) or not _are_texts(rewrites):
            raise RewritesError(f"{path}, line {number}: query and rewrites must be text")
        found[query] = [encodable(rewrite) for rewrite in rewrites]
    return found


def _are_texts(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def distinct(found: Sequence[str], *, query: str) -> list[str]:
    """The texts that differ in more than case and blanks from `query` and from each other."""
    kept: dict[str, str] = {}
    for text in found:
        words = " ".join(text.split())
        if words and words.casefold() != " ".join(query.split()).casefold():
            kept.setdefault(words.casefold(), words)
    return list(kept.values())


def _keywords(query: str) -> str:
    return " ".join(
        word for word in WORD.findall(query) if word.strip(".").casefold() not in ASKING | FILLING
    )


def _statement(query: str) -> str:
    """The query without the question words at its start."""
    words = WORD.findall(query)
    while words and words[0].casefold() in ASKING:
        words = words[1:]
    return " ".join(words).rstrip(".")


def _longest_clause(query: str) -> str:
    return max(CLAUSES.split(query), key=len, default="").strip()
