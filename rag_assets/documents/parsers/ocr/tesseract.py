"""Pages as pictures through Tesseract (Apache), a program that is installed on the machine."""

import csv
import io
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from statistics import median

from rag_assets.documents.elements.element import Element, to_json
from rag_assets.documents.parsers.description import Parser, version_here
from rag_assets.documents.parsers.ocr import scanned_pages
from rag_assets.workers import Json

ASK_SECONDS = 5.0
WORD_LEVEL = "5"
WIDEST_GAP = 1.5
"""Between two words of a line, in heights of a word."""

CODES = {
    "cs": "ces",
    "da": "dan",
    "de": "deu",
    "en": "eng",
    "es": "spa",
    "fi": "fin",
    "fr": "fra",
    "it": "ita",
    "nl": "nld",
    "no": "nor",
    "pl": "pol",
    "pt": "por",
    "sv": "swe",
}
"""Tesseract's names of languages; any other is passed on as it is."""


@dataclass(frozen=True)
class Tesseract(Parser):
    """The parser, with its program and languages."""

    command: str = "tesseract"
    languages: tuple[str, ...] = ("en",)

    @cached_property
    def version(self) -> str:
        """Everything that decides its output: our revision, program, languages and PDF renderer."""
        program = f"{self.name} r{self.revision} {_version(self.command)}"
        return f"{program} {_codes(self.languages)} pypdfium2 {version_here('pypdfium2')}"

    def missing(self) -> str | None:
        """Why it cannot be used here, or None."""
        if shutil.which(self.command) is None:
            return f"there is no program {self.command}"
        lacking = sorted(set(_codes(self.languages).split("+")) - _languages(self.command))
        return f"it has no data of the language {lacking[0]}" if lacking else None


def parser(*, command: str, languages: Sequence[str]) -> Tesseract:
    """Tesseract as the config has it; `languages` are ISO 639-1 codes or its own names."""
    return Tesseract(
        name="tesseract",
        module=__name__,
        revision=2,
        distribution=None,
        install=f"apt install tesseract-ocr tesseract-ocr-{_codes(languages[:1])}",
        options={"command": command, "languages": list(languages)},
        command=command,
        languages=tuple(languages),
    )


def parse(path: str, pages: list[int] | None, *, command: str, languages: list[str]) -> Json:
    """Elements of the given pages: see the package's docstring."""
    found: list[Element] = []
    for page in scanned_pages.rendered(path, pages):
        table = _read(page, command=command, languages=languages)
        found.extend(scanned_pages.elements(list(_lines(table)), page))
    return to_json(found)


def _read(page: scanned_pages.Page, *, command: str, languages: Sequence[str]) -> str:
    from PIL import Image

    picture = io.BytesIO()
    Image.fromarray(page.pixels[:, :, ::-1]).save(picture, "PPM")
    done = subprocess.run(
        [command, "stdin", "stdout", "-l", _codes(languages), "--dpi", "200", "tsv"],
        input=picture.getvalue(),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        words = " ".join(done.stderr.decode("utf-8", "replace").split())
        raise RuntimeError(f"{command} ended with {done.returncode}: {words[-300:]}")
    return done.stdout.decode("utf-8", "replace")


def _lines(table: str) -> Iterator[scanned_pages.Line]:
    """Words of Tesseract's table (TSV), line by line."""
    lines: dict[tuple[str, ...], list[scanned_pages.Line]] = {}
    for row in csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE):
        if row["level"] == WORD_LEVEL and (row["text"] or "").strip():
            key = (row["block_num"], row["par_num"], row["line_num"])
            x0, y0 = float(row["left"]), float(row["top"])
            box = (x0, y0, x0 + float(row["width"]), y0 + float(row["height"]))
            word = scanned_pages.Line(row["text"], box, max(float(row["conf"]), 0.0) / 100)
            lines.setdefault(key, []).append(word)
    for words in (part for line in lines.values() for part in _parts(line)):
        x0, y0, x1, y1 = zip(*(word.box for word in words), strict=True)
        letters = sum(len(word.text) for word in words)
        across = words[-1].box[0] - words[0].box[0]
        sinks = words[-1].box[3] - words[0].box[3]
        yield scanned_pages.Line(
            " ".join(word.text for word in words),
            (min(x0), min(y0), max(x1), max(y1)),
            sum(word.confidence * len(word.text) for word in words) / letters,
            sinks / across if across > abs(sinks) * 10 else 0.0,
        )


def _parts(words: Sequence[scanned_pages.Line]) -> Iterator[list[scanned_pages.Line]]:
    """A line cut at wide gaps: Tesseract may take two columns for one."""
    widest = WIDEST_GAP * median(word.box[3] - word.box[1] for word in words)
    part = [words[0]]
    for before, word in pairwise(words):
        if word.box[0] - before.box[2] > widest:
            yield part
            part = []
        part.append(word)
    yield part


def _codes(languages: Sequence[str]) -> str:
    return "+".join(CODES.get(language, language) for language in languages)


@cache
def _version(command: str) -> str:
    return (_output_of(command, "--version").splitlines() or ["absent"])[0]


@cache
def _languages(command: str) -> frozenset[str]:
    return frozenset(_output_of(command, "--list-langs").split())


def _output_of(command: str, option: str) -> str:
    try:
        done = subprocess.run(
            [command, option], capture_output=True, timeout=ASK_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return (done.stdout or done.stderr).decode("utf-8", "replace")
