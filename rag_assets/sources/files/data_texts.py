"""Text files that hold data rather than prose, told by their content, whatever they are called.

Mails, encoded bytes, notebooks, JSON, XML, long tables, logs and code without line breaks are text
to a program and nothing that a person reads: cut into units they would bury what people wrote. A
bounded part of each file is looked at. Whatever is in doubt is prose: a table inside a report, code
in a README, a list of part numbers or the quotation of a mail makes no file data.
"""

import codecs
import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import BinaryIO

import numpy as np

from rag_assets.media.encodings import utf16_of
from rag_assets.sources.files.mails import BEFORE, MAIL, MULTIPART, WEB_ARCHIVE, mail_of

PART = 16_384
"""The bytes of each part that is looked at; a multiple of two, as letters of UTF-16 are."""
PARTS = 8
"""Parts that are looked at of a long file; one that has no more is looked at as a whole."""
MOST_LINES = 1_000

ENCODED = "text/x-encoded"
NOTEBOOK = "application/x-ipynb+json"
JSON = "application/json"
XML = "application/xml"
TABLE = "text/csv"
LOG = "text/x-log"
SQL = "application/sql"
MINIFIED = "text/x-minified"

_OR_LEAVE_OUT = "or leave it out with sources.documents.exclude"
KINDS = {
    MAIL: ("a mail with its headers", f"save what people wrote as PDF or text, {_OR_LEAVE_OUT}"),
    MULTIPART: ("the source of a mail (MIME)", f"save what it holds as files, {_OR_LEAVE_OUT}"),
    WEB_ARCHIVE: ("a web archive (MHTML)", f"save the page as HTML or PDF, {_OR_LEAVE_OUT}"),
    ENCODED: (
        "bytes written as text (base64, hex or uuencode) for the most part",
        f"decode them, keep the words in a file of their own, {_OR_LEAVE_OUT}",
    ),
    NOTEBOOK: (
        "a Jupyter notebook",
        "export it (`jupyter nbconvert --to markdown`) to index what it says",
    ),
    JSON: ("a JSON file", f"save what people read in it as Markdown or text, {_OR_LEAVE_OUT}"),
    XML: ("an XML file", f"save it as HTML or PDF to index what it says, {_OR_LEAVE_OUT}"),
    TABLE: ("a table of data", "name it, as CSV, under sources.tables to index its rows"),
    LOG: ("the log of a program", f"write down what it shows, {_OR_LEAVE_OUT}"),
    SQL: ("a dump of a database", "name the database under sources.tables to index its rows"),
    MINIFIED: ("code without line breaks", f"index its documentation, {_OR_LEAVE_OUT}"),
}
"""What each kind is called, and what to do about a file of it."""

ENCODED_SHARE = 2 / 3
"""A larger share of encoded letters makes a file encoded bytes."""
MOST_BLANKS = 0.12
"""The largest share of blanks in code without line breaks, and in encoded bytes unless digits are
many."""
DIGITS = b"0123456789"
FEWEST_ENCODED = 600
"""Encoded letters; a key or a few checksums are less."""
FEWEST_ROWS = 100
"""A table has at least so many lines; a shorter one is part of a text."""
ROWS_SHARE = 0.9
"""The least share of the lines of a table that are rows: title, header and notes are few."""
NUMBERS_SHARE = 0.6
"""A line is a row if a larger share of its words are numbers."""
DIGITS_SHARE = 0.2
"""The least share of digits among the letters of a table of numbers, blanks included."""
MOST_SPACED = 0.2
"""The largest share of the commas of a CSV table that a blank follows; after one of prose there is
a blank."""
FEWEST_ENTRIES = 50
"""A log has at least so many lines."""
TIMES_SHARE = 0.03
"""The least share of digits among the letters of a log: its times have 14 of them."""
ENTRIES_SHARE = 0.5
"""The least share of the lines of a log that begin an entry: messages go on in further lines."""
DUMPED_SHARE = 0.8
"""The least share of the letters of a dump that belong to its rows."""
FEWEST_DUMPED = 20
TAGS_SHARE = 0.2
"""The least share of tags among the letters of an XML file."""
LONG_LINE = 400
"""Text may be code without line breaks if its lines have more letters on average."""
FEWEST_MINIFIED = 2_000
CODE_SHARE = 0.03
"""The least share of braces, `;` and `=` among the letters of code; brackets are those of links,
too."""
MOST_FOREIGN = 0.2
"""The largest share of bytes of code that are not ASCII; Chinese and Japanese prose has no blanks
either."""
MOST_BACKSLASHES = 0.01
"""The largest share of backslashes among the letters of code; formulas in LaTeX have more, and
braces too."""


@dataclass(frozen=True)
class _Sample:
    """What is looked at of a file."""

    parts: Sequence[bytes]
    """Parts from the beginning to the end of the file, in UTF-8; all of it if it is short."""
    is_whole: bool

    def text(self, number: int) -> str:
        """A part as letters; those that are not of UTF-8 are left out: no kind is told by them."""
        return self.parts[number].decode("utf-8", "ignore")

    @cached_property
    def counts(self) -> Sequence[int]:
        """How often each byte stands in it."""
        content = np.frombuffer(b"".join(self.parts), np.uint8)
        return np.bincount(content, minlength=256).tolist()

    @cached_property
    def size(self) -> int:
        """Bytes that are looked at."""
        return sum(map(len, self.parts))

    def count(self, letters: bytes) -> int:
        """How many bytes are one of these `letters`."""
        return sum(self.counts[letter] for letter in letters)

    @cached_property
    def breaks(self) -> int:
        """How many lines end, blank ones included."""
        return max(self.count(b"\n"), self.count(b"\r"))

    def share(self, letters: bytes) -> float:
        """The share of `letters` among all letters."""
        return self.count(letters) / max(1, self.size)

    @cached_property
    def lines(self) -> Sequence[str]:
        """Whole lines that are not blank, without the blanks around them."""
        return list(islice(self._lines(), MOST_LINES * PARTS))

    def _lines(self) -> Iterator[str]:
        for place in range(len(self.parts)):
            lines = self.text(place).splitlines()
            if not self.is_whole and len(lines) > 1:
                first, last = place == 0, place == len(self.parts) - 1
                lines = lines[0 if first else 1 : None if last else -1]
            yield from (line.strip() for line in lines if line and not line.isspace())

    @cached_property
    def some(self) -> Sequence[str]:
        """At most `MOST_LINES`, from all over the file."""
        return self.lines[:: max(1, -(-len(self.lines) // MOST_LINES))]

    @property
    def is_cut(self) -> bool:
        """Whether a line is as long as a part: nobody can tell what it begins with."""
        return any(len(line) >= PART // 2 for line in self.lines)


def data_in(file: BinaryIO, *, head: bytes, size: int) -> str | None:
    """Which of `KINDS` the text `file` is, which begins with `head`; None if it is prose.

    Raises:
        OSError: The file cannot be read.
    """
    sample = _sample_of(file, head, size)
    if kind := _by_its_start(sample):
        return kind
    if _is_encoded(sample) and not (sample.is_cut and _holds_data_url(file)):
        return ENCODED
    return next((kind for kind, is_of in _BY_LINES.items() if is_of(sample)), None)


def _sample_of(file: BinaryIO, head: bytes, size: int) -> _Sample:
    encoding = utf16_of(head)
    if encoding == "utf-16":
        encoding = "utf-16-le" if head.startswith(codecs.BOM_UTF16_LE) else "utf-16-be"
    places = [0]
    if size > PART * PARTS:
        places = [(size - PART) * number // (PARTS - 1) // 2 * 2 for number in range(PARTS)]
    parts = []
    for place in places:
        file.seek(place)
        part = file.read(PART if len(places) > 1 else PART * PARTS)
        parts.append(part.decode(encoding, "ignore").encode() if encoding else part)
    return _Sample(parts, is_whole=len(places) == 1)


# What a file begins with.

_NUMBER_OF_JSON = r"-?\d++(?:\.\d++)?(?:[eE][+-]?\d++)?"
_JSON = re.compile(
    rf'(?:\s++|[{{}}\[\],:]|"(?:[^"\\\n]|\\.)*+"|{_NUMBER_OF_JSON}|true|false|null)*+'
)
_KEY = re.compile(r'"\s*:')
_NOTEBOOK = re.compile(r'"(?:nbformat|cell_type)"\s*:')
_MOST_CUT = 64
"""The most letters of a number or a word that the end of a part may cut."""
_FEWEST_VALUES = 50
"""The fewest values of a list in JSON without names: a few numbers in brackets are none."""

_ROOT = re.compile(r"(?:\s|<!--.*?-->|<!DOCTYPE[^>]*>)*+<([A-Za-z_][\w.:-]*)[\s/>]", re.DOTALL)
_TAG = re.compile(r"<[^<>]{1,1000}>")
_OF_HTML = frozenset(
    re.findall(
        r"\w+",
        "a abbr address area article aside audio b base bdi bdo big blockquote body br button "
        "canvas caption center cite code col colgroup data datalist dd del details dfn dialog "
        "div dl dt em embed fieldset figcaption figure font footer form h1 h2 h3 h4 h5 h6 head "
        "header hr html i iframe img input ins kbd label legend li link main map mark menu meta "
        "meter nav noscript object ol optgroup option output p picture pre progress q s samp "
        "script section select small source span strike strong style sub summary sup table "
        "tbody td template textarea tfoot th thead time title tr track tt u ul var video wbr",
    )
)
"""Elements that Markdown may begin with."""


def _by_its_start(sample: _Sample) -> str | None:
    start = sample.text(0).lstrip(BEFORE)
    if mail := mail_of(start):
        return mail
    if start.startswith(("{", "[")) and _is_json(start, is_cut=not sample.is_whole):
        is_notebook = any(_NOTEBOOK.search(text) for text in (start, sample.text(-1)))
        return NOTEBOOK if is_notebook else JSON
    if start.startswith("<") and _is_xml(start, sample):
        return XML
    return None


def _is_json(start: str, *, is_cut: bool) -> bool:
    """Whether it is nothing but JSON, one value or several, as far as it goes."""
    found = _JSON.match(start)
    end = found.end() if found else 0
    rest = start[end:].strip()
    if rest and not (is_cut and (rest.startswith('"') or len(rest) <= _MOST_CUT)):
        return False
    return bool(_KEY.search(start, 0, end)) or start.count(",", 0, end) >= _FEWEST_VALUES


def _is_xml(start: str, sample: _Sample) -> bool:
    """Whether it says that it is XML, or is one element that is none of HTML."""
    if start.startswith("<?xml"):
        return True
    root = _ROOT.match(start)
    if root is None or root[1].lower() in _OF_HTML:
        return False
    if not sample.text(-1).rstrip().endswith(f"</{root[1]}>"):
        return False
    texts = list(map(sample.text, range(len(sample.parts))))
    tags = sum(len(tag) for text in texts for tag in _TAG.findall(text))
    return tags >= TAGS_SHARE * sum(map(len, texts))


# What its lines are.

_DATA_URL = re.compile(r"data:[\w.+-]+/[\w.+-]+(?:;[\w=.-]+)*;base64,[A-Za-z0-9+/=%]*")
_ENCODED_LINE = re.compile(
    r"[A-Za-z0-9+/]{60,}={0,2}"  # base64, and hex without blanks
    r"|M[ -`]{60}"  # uuencode
    r"|:[0-9A-F]{10,}"  # Intel HEX
    r"|(?=.*[a-fA-F].*[a-fA-F])(?:[0-9a-fA-F]{6,16}:?[ \t]+)?"
    r"(?:[0-9a-fA-F]{2,8}[ \t]+){7,}[0-9a-fA-F]{1,8}(?:[ \t].{0,24})?"  # hexdump, xxd
    r"|(?:0x[0-9a-fA-F]{1,8},?[ \t]*){8,}"  # in a program
)
_FEWEST_SIGNS = 10
"""Different ones in encoded lines: rules drawn of letters, and genes, have fewer."""

_NUMBER = re.compile(
    r"[-+]?(?:\d+(?:[.,]\d*)*|[.,]\d+)(?:[eEdD][-+]?\d+)?%?|[-+]?(?:nan|inf)|NaN|NA|-+"
)
_BETWEEN_CELLS = re.compile(r'[\s,;"]+')
_DELIMITERS = ("\t", ";", ",", "|")
_FEWEST_CELLS = 3
_QUOTED = re.compile(r'"[^"\n]*"')
_MARKDOWN_TABLE = re.compile(r"\||:?-+:?\s*\|")

_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|SEVERE|CRITICAL|FATAL)"
_FOR_PEOPLE = r"(?:NOTICE|WARNING)(?:: | - )"
"""How a line of safety instructions begins, too."""
_ENTRY = re.compile(
    rf"(?!{_FOR_PEOPLE})\W{{0,2}}{_LEVEL}\b[\]:|\s-]|(?:{_LEVEL}\W{{1,4}})?(?:[\[(<]\s*)?(?:"
    r"\d{4}[-/.]\d\d[-/.]\d\d[T _,]+\d\d:\d\d:\d\d"
    r"|\d\d[-/.]\d\d[-/.]\d{2,4}[T _,]+\d\d:\d\d:\d\d"
    r"|[A-Z][a-z]{2} +\d{1,2} (?:\d{4} )?\d\d:\d\d:\d\d"
    r"|[IWEF]\d{4} \d\d:\d\d:\d\d"
    r"|\S+ \S+ \S+ \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d)"
)
_OF_A_PROGRAM = re.compile(
    rf"\b{_LEVEL}\b|\[\d+\]|\b[a-z_]\w{{2,40}}=\S|\" \d{{3}} |\w\[\w{{1,20}}\]:|\b0x[0-9a-f]+"
    r"|\w\(\)"
)
"""What tells an entry of a log from a line of a diary or a chat; `T=450` is a value of a person."""
_DUMPED = re.compile(r"INSERT\s+INTO\b|\(.*\)[,;]$", re.IGNORECASE)


def _is_encoded(sample: _Sample) -> bool:
    if sample.share(b" ") > MOST_BLANKS and sample.share(DIGITS) < DIGITS_SHARE:
        return False
    encoded = total = 0
    signs: set[str] = set()
    for line in sample.lines:
        shown = _DATA_URL.sub("", line) if "base64," in line else line
        total += len(shown)
        if _ENCODED_LINE.fullmatch(shown):
            encoded += len(shown)
            signs.update(shown)
    is_most = encoded >= FEWEST_ENCODED and encoded >= ENCODED_SHARE * total
    return is_most and len(signs) >= _FEWEST_SIGNS


def _holds_data_url(file: BinaryIO) -> bool:
    """Whether encoded bytes may be those of a picture inside a text, which no reader reads."""
    wanted, tail = b";base64,", b""
    file.seek(0)
    while block := file.read(1 << 20):
        if wanted in tail + block:
            return True
        tail = block[-len(wanted) :]
    return False


def _is_table(sample: _Sample) -> bool:
    if sample.breaks < FEWEST_ROWS - 1:
        return False
    return _is_of_numbers(sample) or any(_is_delimited(sample, by) for by in _DELIMITERS)


def _is_of_numbers(sample: _Sample) -> bool:
    if sample.share(DIGITS) < DIGITS_SHARE or len(sample.lines) < FEWEST_ROWS:
        return False
    return sum(map(_has_numbers, sample.some)) >= ROWS_SHARE * len(sample.some)


def _has_numbers(line: str) -> bool:
    """Whether most words of a line are numbers, and more than one, or one with a fraction."""
    words = [word for word in _BETWEEN_CELLS.split(line) if word]
    numbers = [word for word in words if _NUMBER.fullmatch(word)]
    if len(words) == 1:
        return bool(numbers) and "." in line
    return len(numbers) > max(1, NUMBERS_SHARE * len(words))


def _is_delimited(sample: _Sample, by: str) -> bool:
    """Whether most lines are records of as many cells, three or more."""
    if sample.count(by.encode()) < (_FEWEST_CELLS - 1) * ROWS_SHARE * sample.breaks:
        return False
    if len(sample.lines) < FEWEST_ROWS:
        return False
    text = "\n".join(sample.some)
    marks = text.count(by)
    if by in ",;" and _QUOTED.sub("", text).count(f"{by} ") > MOST_SPACED * marks:
        return False
    if by == "|" and any(map(_MARKDOWN_TABLE.match, sample.some)):
        return False
    try:
        widths = Counter(len(row) for row in csv.reader(sample.some, delimiter=by))
    except csv.Error:
        return False
    cells, rows = widths.most_common(1)[0]
    return cells >= _FEWEST_CELLS and rows >= ROWS_SHARE * widths.total()


def _is_log(sample: _Sample) -> bool:
    if sample.breaks < FEWEST_ENTRIES - 1 or sample.share(DIGITS) < TIMES_SHARE:
        return False
    first = sample.lines[:FEWEST_ENTRIES]
    if len(first) < FEWEST_ENTRIES or not any(map(_ENTRY.match, first)):
        return False
    entries = [line for line in sample.some if _ENTRY.match(line)]
    if len(entries) < ENTRIES_SHARE * len(sample.some):
        return False
    return sum(bool(_OF_A_PROGRAM.search(line)) for line in entries) >= len(entries) / 2


def _is_dump(sample: _Sample) -> bool:
    if not any(word in part for part in sample.parts for word in (b"INSERT", b"insert")):
        return False
    dumped = [line for line in sample.lines if _DUMPED.match(line)]
    if len(dumped) < FEWEST_DUMPED or not any(line[:6].upper() == "INSERT" for line in dumped):
        return False
    return sum(map(len, dumped)) >= DUMPED_SHARE * sum(map(len, sample.lines))


def _is_minified(sample: _Sample) -> bool:
    if sample.size < max(FEWEST_MINIFIED, LONG_LINE * (sample.breaks + 1)):
        return False
    if sum(sample.counts[128:]) > MOST_FOREIGN * sample.size:
        return False
    if sample.share(b"\\") > MOST_BACKSLASHES:
        return False
    return sample.share(b"{};=") >= CODE_SHARE and sample.share(b" \t\n") <= MOST_BLANKS


_BY_LINES: dict[str, Callable[[_Sample], bool]] = {
    TABLE: _is_table,
    LOG: _is_log,
    SQL: _is_dump,
    MINIFIED: _is_minified,
}
