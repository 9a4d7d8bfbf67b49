"""Numbers as a spreadsheet shows them by their number format (ECMA-376 part 1, section 18.8.31).

    00000              123     00123
    #,##0.00 "SEK"    1250     1,250.00 SEK
    #,##0_);(#,##0)  -1250     (1,250)
    0.0%             .1534     15.3%

The point and the comma of a format are shown as they are, whatever the country of the reader.
Blanks that only align a number are left out. Dates and times are not written here.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from operator import eq, ge, gt, le, lt, ne
from typing import NamedTuple

GENERAL = "General"
_SECTION = re.compile(r'(?:"[^"]*"|\\.|[_*].|\[[^\]]*\]|[^;"\\\[])*', re.DOTALL)
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|_(?P<space>.)|\*(?P<fill>.)|\[(?P<bracket>[^\]]*)\]'
    r"|(?P<general>General)|(?P<exponent>[Ee][+-][0#?]+)|(?P<sign>[0#?.,%/@])|(?P<plain>.)",
    re.DOTALL,
)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)(-?[\d.]+)")
_CURRENCY = re.compile(r"\$([^-]*)(?:-.*)?")
_COMPARED: Mapping[str, Callable[[Decimal, Decimal], bool]] = dict(
    zip(("<", "<=", ">", ">=", "=", "<>"), (lt, le, gt, ge, eq, ne), strict=True)
)
_CODE = re.compile(r"[A-Z]{3}|[$€£¥]|kr\.?")
"""A currency that stands before its number."""
_UNIT = re.compile(r"[^\W\d][^\[\]\"]{0,23}|[°%‰²³µμΩ$€£¥][^\[\]\"]{0,23}")
_MOST_DIGITS = 400


class _Token(NamedTuple):
    kind: str
    """`text`, `currency`, or what stands for a part of the number: `sign`, `exponent`, `general`"""
    text: str


class _Section(NamedTuple):
    tokens: tuple[_Token, ...]
    compares: str
    """An operator, empty without a condition."""
    bound: Decimal


def shown(value: float, form: str) -> str:
    """A number as a sheet shows it."""
    sections = _sections(form)
    number = Decimal(repr(value))
    if not number.is_finite():
        return str(value)
    place = _chosen(sections, number)
    if place is None:
        return ""
    section = sections[place]
    is_signed = number < 0 and (place == 0 or bool(section.compares and place != 1))
    text = _written(section.tokens, abs(number))
    text = " ".join(text.split())
    return f"-{text}" if is_signed and re.search(r"[1-9]", text) else text


def unit_of(form: str) -> str | None:
    """The unit or currency that a format shows beside a number; None where it shows none.

    A number that is shown as a multiple (percent, thousands) is in another unit than it is stored.
    """
    tokens = _sections(form)[0].tokens
    places = [place for place, each in enumerate(tokens) if each.kind not in ("text", "currency")]
    signs = "".join(each.text for each in tokens if each.kind == "sign")
    if not places or re.search(r"[%/@]|[0#?],+(?:\.|$)", signs):
        return None
    before, after = tokens[: places[0]], tokens[places[-1] + 1 :]
    prefix, suffix = (_texts(side).strip() for side in (before, after))
    if suffix and _UNIT.fullmatch(suffix):
        return suffix
    is_currency = any(each.kind == "currency" for each in before) or _CODE.fullmatch(prefix)
    return prefix if prefix and is_currency else None


@lru_cache(maxsize=4_096)
def _sections(form: str) -> tuple[_Section, ...]:
    parts, end = [], 0
    while end <= len(form):
        match = _SECTION.match(form, end)
        parts.append(match.group() if match else "")
        end += len(parts[-1]) + 1
    return tuple(map(_section, parts))


def _section(part: str) -> _Section:
    tokens, compares, bound = [], "", Decimal(0)
    for match in _TOKEN.finditer(part):
        kind, text = match.lastgroup, match[match.lastgroup or 0]
        if kind == "bracket" and (condition := _CONDITION.fullmatch(text)):
            compares, bound = condition[1], Decimal(condition[2])
        elif kind == "bracket" and (currency := _CURRENCY.fullmatch(text)):
            tokens.append(_Token("currency", currency[1]))
        elif kind in ("sign", "exponent", "general"):
            tokens.append(_Token(kind, text))
        elif kind not in ("bracket", "fill"):
            tokens.append(_Token("text", " " if kind == "space" else text))
    return _Section(tuple(tokens), compares, bound)


def _chosen(sections: Sequence[_Section], number: Decimal) -> int | None:
    """The section of a number, the last of four being that of texts."""
    of_numbers = sections[:3]
    if any(each.compares for each in of_numbers):
        for place, each in enumerate(of_numbers):
            if not each.compares or _COMPARED[each.compares](number, each.bound):
                return place
        return None
    if number > 0 or len(of_numbers) == 1:
        return 0
    return 1 if number < 0 else len(of_numbers) - 1 if len(of_numbers) == 3 else 0


def _written(tokens: Sequence[_Token], number: Decimal) -> str:
    """A positive number by the tokens of its section."""
    signs = [each for each in tokens if each.kind == "sign"]
    if any(each.kind == "general" or each.text == "@" for each in tokens if each.kind != "text"):
        general = f"{number:.10g}" if number != number.to_integral() else f"{number:f}"
        named = ("general", "sign")
        return "".join(general if each.kind in named else each.text for each in tokens)
    with localcontext(prec=_MOST_DIGITS):
        number = number.scaleb(2 * sum(each.text == "%" for each in signs))
        if any(each.text == "/" for each in signs):
            return _as_fraction(tokens, number)
        return _as_decimal(tokens, number)


def _as_decimal(tokens: Sequence[_Token], number: Decimal) -> str:
    point = next((at for at, each in enumerate(tokens) if each == ("sign", ".")), len(tokens))
    whole, part = tokens[:point], tokens[point:]
    digits = [at for at, each in enumerate(whole) if _is_digit(each)]
    commas = [at for at, each in enumerate(whole) if each == ("sign", ",")]
    last = digits[-1] if digits else -1
    is_grouped = any(digits[0] < at < last for at in commas) if digits else False
    commas += [at for at, each in enumerate(tokens) if at > point and each == ("sign", ",")]
    number = number.scaleb(-3 * sum(at > last for at in commas) if digits else 0)
    exponent = next((each.text for each in tokens if each.kind == "exponent"), "")
    power = 0
    if exponent:
        power = number.adjusted() if number else 0
        power -= power % max(len(digits), 1) if len(digits) > 1 else 0
        number = number.scaleb(-power)
    decimals = sum(map(_is_digit, part))
    rounded = number.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    if exponent and len(digits) < 2 and rounded >= 10:
        rounded, power = (rounded / 10).quantize(Decimal(1).scaleb(-decimals)), power + 1
    before, _, after = f"{rounded:f}".partition(".")
    written = _whole(whole, before.lstrip("0"), is_grouped=is_grouped)
    return written + _part(part, after, power=power)


def _is_digit(token: _Token) -> bool:
    return token.kind == "sign" and token.text in "0#?"


def _whole(tokens: Sequence[_Token], digits: str, *, is_grouped: bool) -> str:
    """The part before the point: from the right each place takes a digit, the first the others."""
    left = sum(map(_is_digit, tokens))
    written: list[str] = []
    count = 0
    for token in reversed(tokens):
        if not _is_digit(token):
            if token.kind != "sign" or token.text == "%":
                written.append(token.text)
            continue
        left -= 1
        taken = digits if left == 0 else digits[-1:]
        digits = "" if left == 0 else digits[:-1]
        for digit in reversed(taken or {"0": "0", "?": " "}.get(token.text, "")):
            if is_grouped and count and count % 3 == 0:
                written.append(",")
            written.append(digit)
            count += 1
    return "".join(reversed(written))


def _part(tokens: Sequence[_Token], digits: str, *, power: int) -> str:
    """The point and all that follows it."""
    used = len(digits.rstrip("0"))
    written: list[str] = []
    places = iter(range(len(digits)))
    for token in tokens:
        if _is_digit(token):
            place = next(places)
            is_shown = place < used or token.text == "0"
            written.append(digits[place] if is_shown else " " if token.text == "?" else "")
        elif token.kind == "exponent":
            sign = "-" if power < 0 else "+" if token.text[1] == "+" else ""
            written.append(f"{token.text[0]}{sign}{abs(power):0{len(token.text) - 2}d}")
        elif token != ("sign", ","):
            written.append(token.text)
    return "".join(written)


def _as_fraction(tokens: Sequence[_Token], number: Decimal) -> str:
    """`1 1/4`: what stands before and after the number is kept, and its parts have one blank."""
    signs = [at for at, each in enumerate(tokens) if each.kind == "sign" or each.text.isdigit()]
    pattern = "".join(each.text for each in tokens[signs[0] : signs[-1] + 1])
    above, _, below = pattern.rpartition("/")
    below = below.strip()
    is_mixed = " " in above.strip()
    exact = Fraction(number)
    if below.isdigit() and int(below):
        parts, of = round(exact * int(below)), int(below)
    else:
        near = exact.limit_denominator(10 ** max(len(below), 1) - 1)
        parts, of = near.numerator, near.denominator
    whole, rest = divmod(parts, of) if is_mixed else (0, parts)
    texts = [str(whole)] * bool(whole or (is_mixed and not rest))
    texts += [f"{rest}/{of}"] * bool(rest or not is_mixed)
    return _texts(tokens[: signs[0]]) + " ".join(texts) + _texts(tokens[signs[-1] + 1 :])


def _texts(tokens: Sequence[_Token]) -> str:
    return "".join(each.text for each in tokens)
