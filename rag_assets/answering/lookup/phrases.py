"""The words of sentences about rows, in English and Swedish; no word of a table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Language: TypeAlias = Literal["en", "sv"]


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Templates of questions that can be read; `{where}` begins with a space, or is empty."""

    operations: Mapping[str, str]
    """By the operation that is asked for."""
    count: str
    within: str
    counted_within: str
    where: str
    equals: str
    conjunction: str


@dataclass(frozen=True, slots=True)
class Phrases:
    """Templates of one language; `{where}` begins with a space, or is empty."""

    decimal: str
    """The decimal sign."""
    where: str
    conjunction: str
    comparisons: Mapping[str, str]
    """By `plan.COMPARISONS`."""
    row: str
    count: str
    count_column: str
    superlatives: Mapping[str, str]
    """`max` and `min`."""
    total: Mapping[str, str]
    """`mean`, `median` and `sum`."""
    range: str
    difference: str
    change: str
    """Of `change` and `percent`."""
    distinct: str
    groups: str
    """What `distinct` counts, where not all of it is told."""
    unread: str
    many: str
    more: str
    nothing: str
    nearest: str
    others: str
    suggestions: Suggestions


ENGLISH = Phrases(
    decimal=".",
    where=" where {conditions}",
    conjunction="and",
    comparisons={
        "=": "{heading} is {value}",
        "!=": "{heading} is not {value}",
        "<": "{heading} is below {value}",
        "<=": "{heading} is at most {value}",
        ">": "{heading} is above {value}",
        ">=": "{heading} is at least {value}",
        "between": "{heading} is between {low} and {value}",
        "contains": "{heading} contains {value}",
        "in": "{heading} is one of {value}",
        "empty": "{heading} is empty",
        "not_empty": "{heading} is given",
    },
    row="row {key}",
    count="{title} has {count} rows{where}.",
    count_column="{title} has {count} rows with {heading}{where}.",
    superlatives={
        "max": "The highest {heading}{where} is {value} ({names}), of {count} cells compared.",
        "min": "The lowest {heading}{where} is {value} ({names}), of {count} cells compared.",
    },
    total={
        "mean": "The mean {heading}{where} is {value}, over {count} cells.",
        "median": "The median {heading}{where} is {value}, over {count} cells.",
        "sum": "The sum of {heading}{where} is {value}, over {count} cells.",
    },
    range="{heading}{where} goes from {low} to {high}, a range of {value} over {count} cells.",
    difference="{heading} differs by {value} between {names}.",
    change="The change from {other} to {heading} is {value}, from {low} to {high} ({names}).",
    distinct="{title} has {count} different values of {heading}{where}.",
    groups="{title} has {count} different values of {heading}{where}; the first {shown} follow.",
    unread="{count} cells of {heading} are no plain numbers and were left out.",
    many="{title} has {count} rows{where}: {names}.",
    more="{names} and {count} more",
    nothing="No row of {title} was found{where}; {searched} rows were searched.",
    nearest="Nearest in {title} is {heading} {values}; asked for: {asked}.",
    others="{names} and {last}",
    suggestions=Suggestions(
        operations={
            "max": "Which {thing} has the highest {heading}{where}?",
            "min": "Which {thing} has the lowest {heading}{where}?",
            "mean": "What is the average {heading}{where}?",
            "median": "What is the median {heading}{where}?",
            "sum": "What is the total {heading}{where}?",
            "range": "What is the range of {heading}{where}?",
            "distinct": "How many different {heading} are there{where}?",
        },
        count="How many rows of {title} are there{where}?",
        within="Which {thing} has a {heading} {limit}{where}?",
        counted_within="How many rows of {title} have a {heading} {limit}{where}?",
        where="where",
        equals="is",
        conjunction="and",
    ),
)

SWEDISH = Phrases(
    decimal=",",
    where=" där {conditions}",
    conjunction="och",
    comparisons={
        "=": "{heading} är {value}",
        "!=": "{heading} inte är {value}",
        "<": "{heading} är under {value}",
        "<=": "{heading} är högst {value}",
        ">": "{heading} är över {value}",
        ">=": "{heading} är minst {value}",
        "between": "{heading} är mellan {low} och {value}",
        "contains": "{heading} innehåller {value}",
        "in": "{heading} är någon av {value}",
        "empty": "{heading} saknas",
        "not_empty": "{heading} är angiven",
    },
    row="rad {key}",
    count="{title} har {count} rader{where}.",
    count_column="{title} har {count} rader med {heading}{where}.",
    superlatives={
        "max": "Högsta {heading}{where} är {value} ({names}), av {count} jämförda celler.",
        "min": "Lägsta {heading}{where} är {value} ({names}), av {count} jämförda celler.",
    },
    total={
        "mean": "Medelvärdet av {heading}{where} är {value}, över {count} celler.",
        "median": "Medianen av {heading}{where} är {value}, över {count} celler.",
        "sum": "Summan av {heading}{where} är {value}, över {count} celler.",
    },
    range="{heading}{where} går från {low} till {high}: en spännvidd på {value} över {count} "
    "celler.",
    difference="{heading} skiljer sig med {value} mellan {names}.",
    change="Ändringen från {other} till {heading} är {value}, från {low} till {high} ({names}).",
    distinct="{title} har {count} olika värden i {heading}{where}.",
    groups="{title} har {count} olika värden i {heading}{where}; de {shown} första följer.",
    unread="{count} celler i {heading} är inte rena tal och räknades inte med.",
    many="{title} har {count} rader{where}: {names}.",
    more="{names} och {count} till",
    nothing="Ingen rad i {title} hittades{where}; {searched} rader genomsöktes.",
    nearest="Närmast i {title} är {heading} {values}; efterfrågat: {asked}.",
    others="{names} och {last}",
    suggestions=Suggestions(
        operations={
            "max": "Vilken {thing} har högst {heading}{where}?",
            "min": "Vilken {thing} har lägst {heading}{where}?",
            "mean": "Vad är medelvärdet av {heading}{where}?",
            "median": "Vad är medianen av {heading}{where}?",
            "sum": "Vad är summan av {heading}{where}?",
            "range": "Vad är spridningen av {heading}{where}?",
            "distinct": "Hur många olika {heading} finns det{where}?",
        },
        count="Hur många rader i {title} finns det{where}?",
        within="Vilken {thing} har {heading} {limit}{where}?",
        counted_within="Hur många rader i {title} har {heading} {limit}{where}?",
        where="där",
        equals="är",
        conjunction="och",
    ),
)

PHRASES: Mapping[Language, Phrases] = {"en": ENGLISH, "sv": SWEDISH}

_SWEDISH_WORDS = (
    "och att det som en ett av är för med till inte har hur vilken vilket vilka vad vem när där "
    "från mellan eller alla många mest högsta lägsta störst minst minsta största finns värdet"
)
_ENGLISH_WORDS = (
    "the of and is are what which how many much does do has have in with for from between all "
    "most highest lowest largest smallest average mean at least than there"
)


def language_of(question: str) -> Language:
    """Swedish where a question has more of its common words than of English ones."""
    words = question.casefold().replace("?", " ").split()
    swedish = set(_SWEDISH_WORDS.split())
    english = set(_ENGLISH_WORDS.split())
    of_swedish = sum(word in swedish or bool(set(word) & set("åäö")) for word in words)
    return "sv" if of_swedish > sum(word in english for word in words) else "en"
