"""Whether a sentence is just what its citations say, in the words that are used for them here.

A sentence of ours is made from its citations by the templates of `phrases`. So its numbers, names
and conditions can be put into the templates again: where one gives the sentence, every word of it
is cited. Any other sentence is for `answering.checks.support`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from string import Formatter

from rag_assets.citations.kinds import MOST_INPUTS, Absence, Cell, Citation, Computed, Rows
from rag_assets.citations.values import Value
from rag_assets.table_lookup.plans.plan import OF_TWO_COLUMNS
from rag_assets.table_lookup.sentences.naming import LONGEST_NAME
from rag_assets.table_lookup.sentences.phrasing import NAMES_SHOWN
from rag_assets.table_lookup.sentences.writing import measured, number, result_of
from rag_assets.table_lookup.words.phrases import PHRASES, Count, Phrases


def is_told(sentence: str, citations: Sequence[Citation]) -> bool:
    """Whether `sentence` says just what `citations` say, in English or Swedish."""
    cells = [each for each in citations if isinstance(each, Cell)]
    absent = next((each for each in citations if isinstance(each, Absence)), None)
    first = citations[0] if citations else None
    for phrases in PHRASES.values():
        match first:
            case Cell():
                patterns = _of_row(cells, phrases) if len(cells) == len(citations) else iter(())
            case Computed():
                patterns = _of_computed(first, cells, phrases)
            case Rows():
                patterns = _of_rows(first, cells, absent, phrases)
            case Absence():
                patterns = iter((_of_absence(first, phrases),))
            case _:
                return False
        if any(re.fullmatch(pattern, sentence) for pattern in patterns):
            return True
    return False


def _of_row(cells: Sequence[Cell], phrases: Phrases) -> Iterator[str]:
    """`name: heading value; heading value.`, and the form of quoted rows without a name."""
    if len({(cell.source, cell.table, cell.row_key) for cell in cells}) > 1:
        return
    facts = [_measured(cell, phrases) for cell in cells]
    yield "; ".join(
        re.escape(f"{cell.heading}: ") + fact for cell, fact in zip(cells, facts, strict=True)
    ) + re.escape(".")
    told = [re.escape(f"{cell.heading} ") + fact for cell, fact in zip(cells, facts, strict=True)]
    for place, cell in enumerate(cells):
        others = [*told[:place], *told[place + 1 :]]
        for those in filter(None, (others, told)):
            yield _name(cell, phrases) + ": " + "; ".join(those) + re.escape(".")


def _of_rows(
    rows: Rows, cells: Sequence[Cell], absent: Absence | None, phrases: Phrases
) -> Iterator[str]:
    given = {"title": rows.title, "where": rows.where, "count": Count(rows.count)}
    if absent is not None and cells:
        values = [_measured(cell, phrases) for cell in cells]
        yield _filled(
            phrases.nearest,
            {**given, "heading": cells[0].heading},
            {"values": _listed(values, phrases), "asked": _one_of(absent, phrases)},
        )
    if not rows.title:
        return
    shown = _names(rows.row_keys[:NAMES_SHOWN], cells, phrases)
    names = _listed(shown, phrases, more=rows.count - len(shown))
    yield _filled(phrases.many, given, {"names": names})


def _of_computed(citation: Computed, cells: Sequence[Cell], phrases: Phrases) -> Iterator[str]:
    operation = citation.operation
    result = citation.result
    given = {
        "title": citation.rows.title,
        "where": citation.rows.where,
        "heading": citation.heading,
        "count": Count(citation.count),
        "value": result_of(citation, phrases=phrases),
    }
    if operation == "distinct":
        for template in (phrases.distinct, phrases.groups):
            yield _filled(template, {**given, "count": _counted(result)}, {"shown": r"\d+"})
    elif operation in OF_TWO_COLUMNS:
        before, after = citation.inputs
        told = {"low": _measured(before, phrases), "high": _measured(after, phrases)}
        names = _listed(_names([after.row_key], cells, phrases), phrases)
        yield _filled(phrases.change, {**given, "other": before.heading}, {**told, "names": names})
    elif operation == "count":
        yield _filled(
            phrases.count_column if citation.heading else phrases.count,
            {**given, "count": _counted(result)},
        )
    elif operation in phrases.superlatives:
        keys = [cell.row_key for cell in citation.inputs if cell.value == result]
        shown = _names(keys[:NAMES_SHOWN], cells, phrases)
        more = None if citation.count > MOST_INPUTS else len(keys) - len(shown)
        names = _listed(shown, phrases, more=more)
        yield _filled(phrases.superlatives[operation], given, {"names": names})
    elif operation in phrases.total:
        yield _filled(phrases.total[operation], given)
    elif operation == "range":
        numbers = [cell.value for cell in citation.inputs if isinstance(cell.value, (int, Decimal))]
        if numbers:
            low = measured(min(numbers), None, phrases=phrases)
            high = measured(max(numbers), citation.unit, phrases=phrases)
            yield _filled(phrases.range, {**given, "low": low, "high": high})
    else:
        names = _names([cell.row_key for cell in citation.inputs], cells, phrases)
        both = [
            rf"{name} \({_measured(cell, phrases)}\)"
            for name, cell in zip(names, citation.inputs, strict=True)
        ]
        yield _filled(phrases.difference, given, {"names": _listed(both, phrases)})
    if citation.unread:
        yield _filled(phrases.unread, {**given, "count": Count(citation.unread)})


def _of_absence(absent: Absence, phrases: Phrases) -> str:
    where = f" {absent.looked_for}" if absent.looked_for else ""
    given = {"title": absent.title, "where": where, "searched": Count(absent.searched)}
    return _filled(phrases.nothing, given)


def _one_of(absent: Absence, phrases: Phrases) -> str:
    """A pattern for each condition that no row meets: `grade is X` of `where grade is X`."""
    beginning = phrases.where.format(conditions="").strip()
    conditions = absent.looked_for.removeprefix(beginning).strip()
    parts = conditions.split(f" {phrases.conjunction} ")
    spans = (
        f" {phrases.conjunction} ".join(parts[start:end])
        for start in range(len(parts))
        for end in range(start + 1, len(parts) + 1)
    )
    return f"(?:{'|'.join(map(re.escape, spans))})"


def _filled(
    template: str, given: Mapping[str, str | Count], patterns: Mapping[str, str] | None = None
) -> str:
    """`template` as a pattern; what is `given` stands there word for word."""
    known = patterns or {}

    def said(field: str, forms: str) -> str:
        return known[field] if field in known else re.escape(format(given[field], forms))

    return "".join(
        re.escape(text) + (said(field, forms or "") if field else "")
        for text, field, forms, _ in Formatter().parse(template)
    )


def _counted(result: Value) -> Count:
    return Count(result if isinstance(result, int) else 0)


def _measured(cell: Cell, phrases: Phrases) -> str:
    return re.escape(measured(cell.value, cell.unit, phrases=phrases))


def _names(keys: Sequence[str], cells: Sequence[Cell], phrases: Phrases) -> list[str]:
    """A pattern for the name of each row, by the cells that name some of them."""
    named = {cell.row_key: cell for cell in cells}
    return [
        _name(named[key], phrases) if key in named else re.escape(phrases.row.format(key=key))
        for key in keys
    ]


def _name(cell: Cell, phrases: Phrases) -> str:
    """What a row may be called by a cell of it: see `naming`."""
    by_key = phrases.row.format(key=cell.row_key)
    if isinstance(cell.value, (int, Decimal)) and not isinstance(cell.value, bool):
        named = re.escape(f"{cell.heading} {number(cell.value, phrases=phrases)}")
        return f"(?:{named}|{re.escape(by_key)})"
    text = str(cell.value)
    short = text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]}..."
    return f"(?:{re.escape(short)}(?:, {re.escape(by_key)})?|{re.escape(by_key)})"


def _listed(patterns: Sequence[str], phrases: Phrases, *, more: int | None = 0) -> str:
    """Patterns in a row, as `naming.listed` writes them; of None it is not known how many more."""
    if more or more is None:
        count = r"\d+" if more is None else f"{more}"
        said = _filled(phrases.more, {}, {"names": ", ".join(patterns), "count": count})
        if more is not None:
            return said
        return f"(?:{said}|{_listed(patterns, phrases)})"
    if len(patterns) < 2:
        return "".join(patterns)
    return _filled(phrases.others, {}, {"names": ", ".join(patterns[:-1]), "last": patterns[-1]})
