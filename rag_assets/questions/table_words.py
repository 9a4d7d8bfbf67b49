"""What a table and its columns are called in a question, and templates of questions.

A question is in one language (as in appendix D.2 of the thesis that the protocol is from): a
heading of another language is used in the words that the glossary has for it, or not at all. No
heading is inflected, but for the plural of English ones. All words are data: see `words/`.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from string import Formatter

from rag_assets.citations.values import Value
from rag_assets.config import GlossaryEntry
from rag_assets.identity import canonical_number
from rag_assets.questions.picking import in_order
from rag_assets.table_lookup.plans.plan import Condition
from rag_assets.table_lookup.tables.catalogue import ColumnInfo, TableInfo
from rag_assets.table_lookup.words.phrases import Language
from rag_assets.table_lookup.words.word_lists import LANGUAGES, WordLists, word_lists
from rag_assets.table_lookup.words.word_lists import words as words_of_list
from rag_assets.terms.formulas import symbols_by_name
from rag_assets.terms.lemmas import is_known

PACKAGE = "rag_assets.questions.words"
LONGEST_HEADING = 60
LONGEST_SYMBOL = 2
"""A symbol of up to so many letters keeps its capital: `Mo content`."""
RAW = "the heading is only the column's name: write it in words in the headings_file"
NO_NAME = "the heading names nothing that rows have: write a short name in the headings_file"
FOREIGN = "the heading is in another language: add its words in this language to the glossary"

_LETTERS = re.compile(r"[^\W\d_]+")
_REMARK = re.compile(r"\s*\([^()]*[=/,][^()]*\)$")
_LAST_PART = re.compile(r"(.+?),\s+([^,()]+)")
_DASHES = re.compile(r"\s+-+\s+")
_AT = re.compile(r"\s*@\s*")
_TO_QUOTE = re.compile(r"[,;:?()]|\band\b|\boch\b")


@dataclass(frozen=True)
class TableWords:
    """The words for one table in one language."""

    table: TableInfo
    language: Language
    glossary: Sequence[GlossaryEntry]

    @cached_property
    def headings(self) -> Mapping[str, str]:
        """The words for the columns that may be asked for, by the names of these."""
        return {name: said for name, (said, problem) in self._said.items() if not problem}

    @cached_property
    def unused(self) -> Mapping[str, str]:
        """Why the other columns that are shown may not, by their names."""
        return {name: problem for name, (_, problem) in self._said.items() if problem}

    @cached_property
    def title(self) -> str:
        """What the table is called; empty where there are no words for it."""
        return self._in_words(_DASHES.sub(", ", self.table.title), self.table.table)[0]

    def value(self, value: Value, column: ColumnInfo) -> str:
        """A cell as people write it, with its unit."""
        if not isinstance(value, (int, Decimal)):
            return str(value)
        words = _own(self.language).by_word
        digits = (canonical_number(value) or "").replace(".", words["signs"]["decimal"])
        unit = words["units"].get(column.unit or "", column.unit)
        return f"{digits} {unit}" if unit else digits

    def named(self, value: Value, label: ColumnInfo) -> str:
        """A row by the cell that names it: a number after its heading."""
        said = self.value(value, label)
        return f"{self.headings[label.name]} {said}" if label.is_numeric else said

    def kind_of_row(self, label: ColumnInfo) -> str:
        """What a row is, by the heading of the column that names it: `steel` of `steel name`."""
        heading = self.headings.get(label.name, "")
        words = heading.split()
        while words and words[-1].casefold() in in_list("naming"):
            words.pop()
        return "" if heading.split(" ")[0] in in_list("naming") else " ".join(words)

    def conditions(self, where: Sequence[Condition]) -> str:
        """Conditions after `with` or `have`: `density above 2.5 g/cm³ and supplier Northern`."""
        words, said = _own(self.language).by_word, []
        for each in where:
            column, [cell] = self.table.find(each.column), each.values
            assert column is not None, "the plan was validated"
            value = self.value(cell, column)
            if isinstance(cell, str) and _TO_QUOTE.search(value):
                value = f"“{value}”"
            form = words["comparisons"][each.op]
            said.append(form.format(heading=self.headings[each.column], value=value))
        return words["signs"]["and"].join(said)

    def question(
        self, kind: str, places: Mapping[str, str], *, about: bool, seed: Sequence[str | int]
    ) -> tuple[str, str] | None:
        """The question of a kind with these places filled, and the name of its template.

        Others follow from them: `one` or `many` is what is asked for, as it is singular or plural,
        and `labels` the plural. With `about` it ends with the title that tells its table from
        others, unless it says that anyhow. Where neither a title nor its rows have a name in this
        language, nobody could tell what is asked, and there is no question.
        """
        lists, given = _own(self.language), {name: text for name, text in places.items() if text}
        if about and not self.title and given.keys().isdisjoint(("label", "name", "first")):
            return None
        plural = lists.by_word["plural"]
        if asked := given.get("asked"):
            is_plural = re.search(plural["is"], _head(asked))
            given["many" if is_plural else "one"] = asked
        *before, last = given.get("label", "").split() or [""]
        if last.isalpha() and last == _head(given["label"]):
            forms = [re.sub(f"^{each}$", form, last) for each, form in plural.items()]
            found = next((each for each in (last, *forms) if re.search(plural["is"], each)), "")
            given |= {"labels": " ".join([*before, found])} if found else {}
        for rank, templates in lists.by_key[kind].items():
            usable = [each for each in templates if _places(each) <= {*given, "about"}]
            for template in in_order(usable, *seed)[:1]:
                text = template.format_map({**given, "about": ""})
                if about and self.title and self.title.casefold() not in text.casefold():
                    text = template.format_map({**given, "about": f" ({self.title})"})
                number = templates.index(template) + 1
                return text[0].upper() + text[1:], f"{self.language} {kind} {rank}.{number}"
        return None

    @cached_property
    def _said(self) -> Mapping[str, tuple[str, str]]:
        """For each column its words, and what is wrong with them."""
        said = {name: self._of_column(name, words) for name, words in self._plain.items()}
        often = Counter(words for words, _ in said.values())
        return {
            name: (words, problem or (NO_NAME if often[words] > 1 else ""))
            for name, (words, problem) in said.items()
        }

    @cached_property
    def _plain(self) -> Mapping[str, str]:
        """Headings without remarks that explain values; a last part is a remark.

        Where most headings begin with a capital, words that are no names lose it. An element with
        percents below it is its content.
        """
        shown = [each for each in self.table.columns if not each.is_hidden]
        are_titles = 2 * sum(each.heading[:1].isupper() for each in shown) > len(shown)
        plain = {}
        for each in shown:
            words = _AT.sub(" at ", _REMARK.sub("", each.heading)).strip(" *:#") or each.heading
            words = _LAST_PART.sub(r"\1 (\2)", words) if _LAST_PART.fullmatch(words) else words
            parts = words.split(" ")
            styled = parts if all(part[:1].isupper() for part in parts) else parts[:1]
            small = [_small(part) for part in styled] if are_titles else styled
            said = " ".join([*small, *parts[len(small) :]])
            if "%" in (each.unit or "") and said.lower() in symbols_by_name():
                said = _own(language_of(said) or "en").by_word["signs"]["content"].format(said)
            plain[each.name] = said
        return plain

    @cached_property
    def _language(self) -> Language | None:
        """The language of most headings."""
        spoken = Counter(filter(None, map(language_of, self._plain.values())))
        return spoken.most_common(1)[0][0] if spoken else None

    def _of_column(self, name: str, words: str) -> tuple[str, str]:
        tokens = _LETTERS.findall(words.lower()) or [""]
        is_long = len(words) > LONGEST_HEADING or words.endswith(".")
        is_part = tokens[0] in in_list("first_words") or tokens[-1] in in_list("last_words")
        if is_long or is_part:
            return "", NO_NAME
        return self._in_words(words, name)

    def _in_words(self, words: str, name: str) -> tuple[str, str]:
        """The words for what is called `name` at the source; or why there are none."""
        tokens = _LETTERS.findall(words.lower())
        long = {each for each in tokens if len(each) > LONGEST_SYMBOL}
        known = list(filter(_known, tokens))
        reads = bool(long) and 2 * len(known) >= len(tokens) and {*tokens} <= long.union(known)
        if not tokens or (_letters(name).startswith(_letters(words)) and not reads):
            return "", RAW
        spoken = language_of(words)
        is_shared = spoken is None and (
            self._language in (self.language, None) or {*tokens} <= in_list("of_both")
        )
        if spoken == self.language:
            return words, ""
        other = _translated(words, self.language, self.glossary) or (words if is_shared else "")
        return other, "" if other else FOREIGN


def language_of(words: str) -> Language | None:
    """The language of most words that only one has; None where they belong to both or to none."""
    counts: Counter[Language] = Counter()
    for word in _LETTERS.findall(words.lower()):
        of: list[Language] = [
            each
            for each in LANGUAGES
            if word in _own(each).words["of_language"].split()
            or (len(word) > LONGEST_SYMBOL and _known(word, each))
            or set(word) & set(_own(each).words["letters"])
        ]
        counts.update(of if len(of) == 1 else [])
    ranked = counts.most_common()
    return None if not ranked or len({*counts.values()}) < len(ranked) else ranked[0][0]


def _translated(words: str, language: Language, glossary: Sequence[GlossaryEntry]) -> str | None:
    """The first expression in a language that the glossary has for the same.

    Of a term the glossary may say in which it is; of others it is told by their words.
    """
    for entry in glossary:
        same = [entry.term, *entry.synonyms]
        spoken = [entry.language or language_of(entry.term), *map(language_of, entry.synonyms)]
        if words.casefold() in map(str.casefold, same) and language in spoken:
            return same[spoken.index(language)]
    return None


def _small(word: str) -> str:
    """A word that is no name or symbol without its capital."""
    small, is_title = word.lower(), word[:1].isupper() and word[1:].islower()
    is_word = len(word) > LONGEST_SYMBOL and all(map(_known, _LETTERS.findall(small)))
    return small if is_title and is_word and small not in in_list("names") else word


def _head(heading: str) -> str:
    """The word that a heading is about: `cycles` of `cycles to failure`."""
    words = heading.split(" (")[0].split()
    ends = (
        place for place, word in enumerate(words) if place and word in in_list("after_the_head")
    )
    return words[next(ends, len(words)) - 1]


def _own(language: Language) -> WordLists:
    return word_lists(language, PACKAGE)


def in_list(name: str) -> frozenset[str]:
    """The words of a list, of all languages."""
    return words_of_list(name, PACKAGE)


def _known(word: str, *languages: Language) -> bool:
    """Whether a dictionary has it, or, for any language, letters that no name at a source has."""
    is_written = not (languages or word.isascii())
    return is_written or is_known(word, languages=languages or LANGUAGES)


def _letters(text: str) -> str:
    return "".join(re.findall(r"[^\W_]+", text.lower()))


def _places(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}
