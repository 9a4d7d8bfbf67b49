"""What a language model writes around its sentences, made plain: Markdown, LaTeX, ways of citing.

Models cite as they learned to: `[Source 1]`, `[1, page 4]`, `(1)`, or in brackets of their own. All
of this becomes `[1]`, whose number is checked as any other; what is not understood stays as it is,
and cites nothing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from rag_assets.answering.quoting.pieces import BOLD

_NUMBERS = r"\d{1,3}(?:\s*(?:[,;&\u2013-]|and|och|und)\s*\d{1,3})*"
_CALLED = r"(?:sources?|units?|documents?|docs?|refs?\.?|k\u00e4ll(?:a|or)|quellen?)"
_OF_PAGE = r"(?:pp?|pages?|s|sid|sidan?|sections?|rows?|rad)\b"

_THOUGHTS = r"(?:think|thinking|thoughts?|reasoning)"
_THOUGHT = re.compile(rf"\A.*</{_THOUGHTS}>|\A\s*<{_THOUGHTS}>.*\Z", re.DOTALL | re.IGNORECASE)
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
"""Characters that steer a terminal or hide in a text; a line break and a tab are none."""
_BLANKS = re.compile(r"[^\S\n]+")
_TAGS = re.compile(
    r"</?(?:cite|sub|sup|b|i|em|strong|span|p|answer|response)\b[^<>]{0,80}>", re.IGNORECASE
)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)

_MARKS: Sequence[tuple[re.Pattern[str], str]] = (
    (re.compile(r"\u3010(\d{1,3})[^\u3010\u3011\n]{0,40}\u3011"), r"[\1]"),
    (re.compile(rf"\\\[({_NUMBERS})\\\]"), r"[\1]"),
    (re.compile(rf"[\[\uff3b]\s*({_NUMBERS})\s*[\]\uff3d]"), r"[\1]"),
    (re.compile(r"<sup>\s*\[?(\d{1,3})\]?\s*</sup>", re.IGNORECASE), r"[\1]"),
    (re.compile(rf"\[\[({_NUMBERS})\]\]"), r"[\1]"),
    (re.compile(r"\[(\^?\d{1,3})\]\([^()\s]{0,300}\)"), r"[\1]"),
    (re.compile(rf"\[(?:{_CALLED}\s*:?\s*)?#?({_NUMBERS})\]", re.IGNORECASE), r"[\1]"),
    (re.compile(rf"\({_CALLED}\s*:?\s*#?({_NUMBERS})\)", re.IGNORECASE), r"[\1]"),
    (re.compile(rf"\[(\d{{1,3}})\s*[,:]\s*{_OF_PAGE}[^\[\]\n]{{0,40}}\]", re.IGNORECASE), r"[\1]"),
)
_AROUND = re.compile(rf"\(\s*(?:{_CALLED}\s*:?\s*)?((?:\[{_NUMBERS}\][\s,;]*)+)\)", re.IGNORECASE)
_ACCORDING = re.compile(rf"\baccording to (?:source )?(\[{_NUMBERS}\]),?\s+", re.IGNORECASE)
_MARKS_ALONE = re.compile(rf"\s*(?:\[{_NUMBERS}\][ .]*)+")
_JOINED = re.compile(r"\s*(?:&|and|och|und)\s*", re.IGNORECASE)
_MARK = re.compile(rf"\[\^?{_NUMBERS}\]")
_ROUND = re.compile(r"\((\d{1,2})\)(?=\s*(?:[.!?]|$))", re.MULTILINE)
_RAISED = re.compile(r"(?<=[.!?])[\u00b9\u00b2\u00b3\u2070-\u2079]+")
_DIGITS = str.maketrans(
    "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079", "0123456789"
)
_LEADING = re.compile(rf"^(?:[-*]\s+)?(?=(\[{_NUMBERS}\])\s+[^\s\[])")
_LED = re.compile(rf"(\[{_NUMBERS}\])\s+([^\[\]]+)")

_FORMULA = re.compile(r"\$\$?([^$\n]{1,300})\$\$?|\\[(\[]([^\n]{1,300}?)\\[)\]]")
_NAMED = re.compile(r"\\(?:math|text)?(?:rm|bf|it|text|unit|operatorname)\s*\{([^{}]*)\}")
_SIGNS = (
    ("\\circ", "\u00b0"), ("\\degree", "\u00b0"), ("\\times", "\u00d7"), ("\\cdot", "\u00b7"),
    ("\\pm", "\u00b1"), ("\\approx", "\u2248"), ("\\leq", "\u2264"), ("\\le", "\u2264"),
    ("\\geq", "\u2265"), ("\\ge", "\u2265"), ("\\mu", "\u00b5"), ("\\%", "%"), ("\\,", " "),
    ("\\;", " "), ("\\ ", " "), ("~", " "), ("^\u00b0", "\u00b0"),
)  # fmt: skip

_ITEM = re.compile(r"\s*[-*\u2022]\s+")
_INTRODUCTION = re.compile(r"(?:^|(?<=[.!?\]])\s)\s*([^.!?\n]{1,300}):\s*$")
_POLITE = re.compile(
    r"(?:sure|certainly|of course|absolutely|great question|sj\u00e4lvklart)\b[^.:!?]{0,40}[!.]?"
    r"|(?:here (?:is|are)|here's|h\u00e4r \u00e4r)\b[^.:!?]{0,80}[.:]?"
    r"|(?:i hope this|let me know|feel free)\b[^.:!?]{0,80}[!.]?|(?:sources?|citations?)\s*:",
    re.IGNORECASE,
)
_EMPHASIS = re.compile(
    r"(?<![\w)\]])\*\*+(?=\S)|(?<=\S)\*\*+(?![\w(])|__"
    r"|(?<![\w*])[*_](?=\w)|(?<=[\w.!?%])[*_](?![\w*])|`"
)
"""Marks of Markdown; `10**6` has none."""
_NUMBER_OF_ITEM = re.compile(r"^\s*\(?\d{1,2}[.)]\s+")
_LABEL = re.compile(r"^\s*(?:(?:final )?answer|svar|antwort|response)\s*:\s*", re.IGNORECASE)
_QUOTATION = re.compile(r"</?source-[0-9a-f]{8}>")


def is_polite(sentence: str) -> bool:
    """Whether a sentence opens or ends an answer, and says nothing."""
    return _POLITE.fullmatch(sentence) is not None


def plain_answer(text: str, *, longest: int) -> str:
    """An answer as sentences and items of lists with `[1]` behind them.

    Args:
        text: As the model wrote it.
        longest: Characters that are read, of what is left without the model's thoughts.
    """
    text = _QUOTATION.sub("", _UNSEEN.sub("", _THOUGHT.sub("", text)[:longest]))
    text = _TAGS.sub("", _marked(_BLANKS.sub(" ", _BREAK.sub("\n", text))))
    text = _FORMULA.sub(_formula, text)
    lines = [_line(line) for line in _without_tables(text.split("\n"))]
    return "\n".join(_with_introductions(_led(_with_marks(lines))))


def _marked(text: str) -> str:
    """`text` with all that cites written as `[1, 2]`."""
    for pattern, mark in _MARKS:
        text = pattern.sub(mark, text)
    text = _AROUND.sub(r"\1", _ACCORDING.sub(r"\1 ", text))
    text = _RAISED.sub(lambda found: f" [{found[0].translate(_DIGITS)}]", text)
    if not _MARK.search(text):
        text = _ROUND.sub(r"[\1]", text)
    return _MARK.sub(lambda mark: _JOINED.sub(", ", mark[0]), text)


def _formula(match: re.Match[str]) -> str:
    """A formula in LaTeX as text; what stands between two signs of a dollar may be prices."""
    inner = match[1] or match[2] or ""
    if match[1] and not re.search(r"[\\^_]", inner):
        return match[0]
    inner = _NAMED.sub(r"\1", inner)
    for sign, plain in _SIGNS:
        inner = inner.replace(sign, plain)
    return inner.replace("{", "").replace("}", "").replace("^\u00b0", "\u00b0").strip()


def _line(line: str) -> str:
    if line.lstrip().startswith("```"):
        return ""
    plain = _NUMBER_OF_ITEM.sub("- ", line.lstrip().removeprefix("> "))
    return _LABEL.sub("", _EMPHASIS.sub("", BOLD.sub(r"\1", plain)))


def _without_tables(lines: Sequence[str]) -> Iterator[str]:
    """`lines`, each row of a table as an item `heading: value; heading: value`."""
    headings: Sequence[str] | None = None
    for place, line in enumerate(lines):
        if not line.lstrip().startswith("|"):
            headings = None
            yield line
        elif place + 1 < len(lines) and "|" in lines[place + 1] and _is_rule(lines[place + 1]):
            headings = _cells(line)
        elif not _is_rule(line):
            cells = _cells(line)
            named = headings if headings and len(headings) == len(cells) else [""] * len(cells)
            told = [
                f"{heading}: {cell}" if heading else cell
                for heading, cell in zip(named, cells, strict=True)
                if cell
            ]
            yield f"- {'; '.join(told)}"


def _is_rule(line: str) -> bool:
    return "-" in line and not line.strip(" |:-\t")


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _with_marks(lines: Iterable[str]) -> list[str]:
    """`lines`; one that holds marks alone goes to the end of the one before it."""
    found: list[str] = []
    last: int | None = None
    for line in lines:
        if last is not None and _MARKS_ALONE.fullmatch(line):
            found[last] += f" {line.strip()}"
            continue
        found.append(line)
        last = len(found) - 1 if line.strip() else last
    return found


def _led(lines: Sequence[str]) -> Iterator[str]:
    """`lines`; marks that lead all that is cited are put behind it.

    Where others stand behind what they prove, those that lead a line are a list of sources.
    """
    leading = [bool(_LEADING.match(line.strip())) for line in lines]
    behind = any(
        _MARK.search(line) for line, is_led in zip(lines, leading, strict=True) if not is_led
    )
    for line, is_led in zip(lines, leading, strict=True):
        yield _LED.sub(_behind, line) if is_led and not behind else line


def _with_introductions(lines: Iterable[str]) -> Iterator[str]:
    """`lines`, the items of a list each with what introduces it: `Never use it for:`, `- welding`.

    An item without it says something else, and would be checked by itself.
    """
    introduction = ""
    for line in lines:
        if not line.strip():
            yield line
        elif item := _ITEM.match(line):
            yield f"- {introduction} {line[item.end() :]}" if introduction else line
        else:
            found = _INTRODUCTION.search(_MARK.sub("", line))
            introduction = found[1].strip() if found and not is_polite(found[1]) else ""
            yield line


def _behind(match: re.Match[str]) -> str:
    said = match[2].rstrip()
    stop = said[-1:] if said[-1:] in ".!?" else ""
    return f"{said.removesuffix(stop)} {match[1]}{stop} "
