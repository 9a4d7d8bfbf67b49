"""Text that is data is refused with a remedy; whatever people write to be read is not."""

import base64
import io
import json
import site
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.sources.files import data_texts, detection
from rag_assets.sources.files.data_texts import KINDS
from rag_assets_testing.documents.data_named_text import (
    ACCESS,
    CODE,
    LOG,
    MULTIPART,
    NOISE,
    SQL,
    SYSLOG,
    XML,
    dumped,
    mail,
    mails,
    notebook,
    rows,
    uuencoded,
)
from rag_assets_testing.documents.making import SENTENCE

DEMO = Path(__file__).resolve().parents[4] / "shared/data/materials_demo"


def found(content: bytes | str, name: str = "notes.txt") -> detection.Detected:
    content = content.encode() if isinstance(content, str) else content
    return detection.examine(io.BytesIO(content), name=name, size=len(content))


RECEIVED = (
    "Received: from a.example.com (a.example.com [10.0.0.7])\n\tby b.example.com with ESMTP id 1;\n"
    "\tTue, 24 Nov 2026 08:01:02 +0100\nFrom: Anna <anna@example.com>\nSubject: plate 7\n\n"
) + SENTENCE


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (data_texts.MAIL, mail()),
        (data_texts.MAIL, mail(attachment=NOISE)),
        (data_texts.MAIL, mail(attachment=NOISE).replace(b"\n", b"\r\n")),
        (data_texts.MULTIPART, MULTIPART),
        (data_texts.MULTIPART, b"This is a multi-part message in MIME format.\n\n" + MULTIPART),
        (data_texts.ENCODED, base64.encodebytes(NOISE)),
        (data_texts.ENCODED, base64.encodebytes(NOISE * 9)),
        (data_texts.ENCODED, base64.b64encode(NOISE)),
        (data_texts.ENCODED, b"The plate, as a file:\n\n" + base64.encodebytes(NOISE)),
        (data_texts.ENCODED, NOISE.hex()),
        (data_texts.ENCODED, NOISE[:4_000].hex(" ", 2)),
        (data_texts.ENCODED, dumped(NOISE)),
        (data_texts.ENCODED, uuencoded(NOISE)),
        (data_texts.NOTEBOOK, notebook()),
        (data_texts.NOTEBOOK, notebook(picture=NOISE)),
        (data_texts.JSON, json.dumps([{"plate": number} for number in range(90)])),
        (data_texts.JSON, "".join(f'{{"plate": {number}, "ok": true}}\n' for number in range(90))),
        (data_texts.XML, XML),
        (data_texts.XML, '<?xml version="1.0"?>\n' + XML),
        (data_texts.TABLE, rows(",")),
        (data_texts.TABLE, rows(";").replace(".", ",")),
        (data_texts.TABLE, rows("\t")),
        (data_texts.TABLE, rows("   ")),
        (data_texts.TABLE, rows("\t", count=60_000)),
        (data_texts.TABLE, "".join(f'"{n}","a, b","{n}"\n' for n in range(300))),
        (data_texts.LOG, LOG),
        (data_texts.LOG, ACCESS),
        (data_texts.LOG, SYSLOG),
        (data_texts.LOG, "[INFO] Building plates 1.0.7 of 2026-11-24\n" * 80),
        (data_texts.LOG, "WARNING:root:plate 7 of 20 took 11 s\n" * 80),
        (data_texts.MAIL, RECEIVED),
        (data_texts.MAIL, f"From: a@b.de\nMessage-ID:\n <1@example.com>\n\n{SENTENCE}"),
        (data_texts.SQL, SQL),
        (data_texts.MINIFIED, CODE),
    ],
)
@pytest.mark.parametrize("name", ["notes.txt", "notes.md", "notes", "notes.rst"])
def test_data_is_refused_whatever_its_name(kind, content, name):
    finding = found(content, name)

    assert (finding.media_type, finding.status) == (kind, "unsupported")
    assert finding.reason == f"{name} is {KINDS[kind][0]}: {KINDS[kind][1]}"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_data_in_another_encoding_is_data(encoding):
    assert found(rows("\t").encode(encoding)).media_type == data_texts.TABLE


def test_a_mailbox_is_data(tmp_path):
    assert found(mails(tmp_path)).media_type == data_texts.MAIL


def test_a_web_archive_is_no_web_page():
    archive = (
        "From: <Saved by a browser>\nSubject: Plates\nMIME-Version: 1.0\n"
        'Content-Type: multipart/related;\n\ttype="text/html"; boundary="--x--"\n\n'
        "----x--\nContent-Type: text/html\n\n<html><body><p>Plates</p></body></html>\n"
    )
    finding = found(archive, "plates.html")
    assert (finding.media_type, finding.status) == (data_texts.WEB_ARCHIVE, "mislabelled")
    assert found(archive, "plates.mhtml").status == "unsupported"


MINUTES = f"""Minutes of the meeting on plates

From: Anna
To: the test group
Date: 24 November 2026
Subject: plate 7

{SENTENCE * 3}

From: Bo
To: Anna

{SENTENCE}
"""
SPECIFICATION = "\n\n".join(
    f"{part} Loads\n\n{SENTENCE}\n\n"
    + "\n".join(f"  {part}.{n}   {n * 1.5:.1f}   {n * 20}   {n * 7.25:.2f}" for n in range(1, 12))
    + f"\n\nNote: {SENTENCE}\n{SENTENCE}"
    for part in range(1, 30)
)
CHANGELOG = "# Changes\n\n" + "\n".join(
    f"2026-11-{day:02} Anna <anna@example.com>\n\n\t* plate.py (load): {SENTENCE}\n\t(test): New.\n"
    for day in range(1, 28)
)
DIARY = "\n".join(
    f"2026-11-{day:02} {hour:02}:15:00 furnace at {hour * 90} degrees, the sample looks dull"
    for day in range(1, 12)
    for hour in range(8, 18)
)
REFERENCES = "\n".join(
    f"[{n}] A. Author, B. Other, and C. Third, Fatigue of welded plates, part {n}, Int. J. Fatigue "
    f"{n} ({1990 + n}) {n * 10}-{n * 10 + 9}. https://doi.org/10.1016/j.ijfatigue.{n:04}.01.0{n:02}"
    for n in range(1, 150)
)
MEMO = (
    "To: the test group\nFrom: Anna\nDate: 3 March 2026\n{}: {}\nSubject: plate 7\n\n"
) + SENTENCE
LOGBOOK = "\n".join(
    f"2026-11-{day:02} {hour:02}:15:00 T={hour * 90} °C, p=2 bar: plate(7) looks dull, see f(x)"
    for day in range(1, 12)
    for hour in range(8, 18)
)
FORMULAS = {
    "zh": r"其中$\sigma_{max}=\frac{F}{A}$为最大应力(单位为MPa),$\epsilon_{i}$为应变;见式(1)。",
    "ja": r"ここで、$\sigma_{max}=\frac{F}{A}$は最大応力であり、き裂は板厚の半分まで進展した。",
    "de": r"Hochtemperaturwechselfestigkeit$\sigma_{max}=\frac{F}{A}$, Dehnung$\epsilon_{i}=1$; ",
}
LINKS = (
    "Der [Baustahl](/wiki/Baustahl) ist eine [Legierung](/wiki/Legierung_(Werkstoff)) aus "
    "[Eisen](/wiki/Eisen) und [Kohlenstoff](/wiki/Kohlenstoff) (siehe [Stahl](/wiki/St%C3%A4hle)). "
)
PICTURE = f"![A plot](data:image/png;base64,{base64.b64encode(NOISE).decode()})"
LARGE_PICTURE = f"![A plot](data:image/png;base64,{base64.b64encode(NOISE * 9).decode()})"


@pytest.mark.parametrize(
    "text",
    [
        SENTENCE,
        SENTENCE * 500,
        MINUTES,
        MINUTES.partition("\n\n")[2],
        SPECIFICATION,
        CHANGELOG,
        DIARY,
        REFERENCES,
        "\n".join(f"AB-{n:05}-{n % 7}" for n in range(3_000)),
        "\n".join(f"{n}" for n in range(100_000, 103_000)),
        "\n".join(f"AB-{n:05}, AB-{n + 1:05}, AB-{n + 2:05}, AB-{n + 3:05}," for n in range(900)),
        "\n".join(f"{n:05}\tbolt, M{n % 20}" for n in range(900)),
        "| Plate | Load | Width |\n| --- | --- | --- |\n" + "| 7 | 1.5 | 2.5 |\n" * 400,
        "Plate | Load | Width\n--- | --- | ---\n" + "7 | 1.5 | 2.5\n" * 400,
        f"---\ntitle: Plates\nfrom: Anna\ndate: 2026-11-24\n---\n\n# Plates\n\n{SENTENCE}",
        MEMO.format("Received", "5 March 2026"),
        MEMO.format("Received", "by post on 5 March 2026; answered on 7 March"),
        MEMO.format("Sender", "Anna AB, Box 7"),
        f"Date: 2020\nReceived: 12 January 2020; Accepted: 3 May 2020\n\n{SENTENCE}",
        LOGBOOK,
        "\n".join(f"WARNING: keep plate {n} away from flames at 300 °C" for n in range(80)),
        *("\n\n".join([formula * 14] * 12) for formula in FORMULAS.values()),
        "\n\n".join([LINKS * 12] * 12),
        f"Title: Plates\nAuthor: Anna\nDate: 2026\nContent-Type: text/x-rst\n\n{SENTENCE}",
        f"# Read me\n\n{SENTENCE}\n\n```json\n" + notebook() + f"\n```\n\n{SENTENCE}",
        f"# Read me\n\n{SENTENCE * 20}\n\n```\n" + dumped(NOISE[:500]) + "\n```\n",
        f"<div align=center>\n\n# Plates\n\n{SENTENCE}\n</div>",
        f"<!-- a note -->\n<details><summary>Plates</summary>{SENTENCE}</details>",
        f"[plates](https://example.com) and [loads](loads.md)\n\n{SENTENCE}",
        f"[1] {SENTENCE}",
        f"{{{SENTENCE}}}",
        f"# Plot\n\n{SENTENCE}\n\n{PICTURE}\n\n{SENTENCE}",
        f"# Plot\n\n{SENTENCE}\n\n{LARGE_PICTURE}\n\n{SENTENCE}",
        PICTURE,
        "Provningen av plåten gjordes i fyrpunktsböjning. Hållfasthetsprovningen följde.\n" * 200,
        "Die Dauerschwingfestigkeitsprüfung wurde durchgeführt; siehe Abschnitt 4.\n" * 200,
        "鋼板は四点曲げ試験で荷重を受けた。き裂は板厚の半分まで進展した。" * 900,
        "INSERT INTO is a statement of SQL. " * 90,
        "\n".join(f"00:{n // 60:02}:{n % 60:02} Anna: {SENTENCE}" for n in range(200)),
    ],
)
@pytest.mark.parametrize("name", ["notes.txt", "notes.md"])
def test_what_people_write_to_be_read_is_no_data(text, name):
    assert found(text, name).reason is None


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_prose_in_another_encoding_is_prose(encoding):
    text = "Provningen av plåten gjordes i fyrpunktsböjning vid 20 °C.\n" * 300
    assert found(text.encode(encoding)).reason is None


WORDS = st.text(st.characters(categories=["L", "M"]), min_size=1, max_size=24)
SENTENCES = st.builds(
    lambda words, mark: " ".join(word for pair in words for word in pair if word) + mark,
    st.lists(st.tuples(WORDS, st.none() | st.integers(0, 5_000).map(str)), min_size=2, max_size=20),
    st.sampled_from([".", "?", "!", ":", ";", "。", " -", ","]),
)


@given(st.lists(SENTENCES, min_size=1, max_size=40), st.sampled_from([" ", "\n", "\n\n"]))
def test_sentences_of_any_language_are_no_data(sentences, between):
    text = f"{between.join(sentences)}\n".encode()
    for content in (text, text * (200_000 // len(text))):
        file = io.BytesIO(content)
        assert data_texts.data_in(file, head=content[:8_192], size=len(content)) is None


@given(st.binary(min_size=1_000, max_size=3_000), st.integers(0, 50))
def test_encoded_bytes_are_data_unless_words_outweigh_them(content, sentences):
    encoded = base64.encodebytes(content + NOISE[:1_000]).decode()
    prose = SENTENCE * sentences
    is_data = found(f"{prose}\n\n{encoded}").media_type == data_texts.ENCODED
    if len(prose) < len(encoded) * 0.4:
        assert is_data
    if len(prose) > len(encoded) * 0.6:
        assert not is_data


def test_a_long_file_is_looked_at_in_part():
    class Counted(io.BytesIO):
        read_bytes = 0

        def read(self, size=-1):
            part = super().read(size)
            Counted.read_bytes += len(part)
            return part

    content = SENTENCE.encode() * 100_000
    assert data_texts.data_in(Counted(content), head=content[:8_192], size=len(content)) is None
    assert Counted.read_bytes <= data_texts.PART * data_texts.PARTS


@pytest.mark.parametrize(
    "content",
    [
        "<!-- a note -->\n" * 60 + "Plates",
        "<!-- a note -->" * 5_000,
        "<!--" * 30_000,
        "<" * 120_000,
        "--" + "a" * 120_000,
        "--" + "a-" * 60_000,
        "multi" * 24_000,
        "data:a/b;" * 13_000,
        "a.b-" * 30_000,
        "INFO " + "a.b-" * 30_000,
        "\n".join("INFO " + "a.b-" * 4_000 for _ in range(60)),
        "ab " * 40_000,
        "0x1," * 30_000,
        "1,2." * 30_000,
        "(" * 120_000,
        '"' * 120_000,
        "[" * 120_000,
        '{"a":' * 20_000,
        "\\" * 120_000,
        "From " + "Mon " * 30_000,
        "a:\n" * 40_000,
        "\n" * 120_000 + "x",
    ],
)
def test_no_text_takes_long_to_tell(content):
    started = time.process_time()
    found(content, "notes.md")
    assert time.process_time() - started < 1.0


@pytest.mark.skipif(not DEMO.exists(), reason="the corpus materials_demo is not here")
def test_no_text_of_the_corpus_is_data():
    texts = [path for path in DEMO.rglob("*") if path.suffix in (".md", ".txt")]
    refused = {
        path.name: reason
        for path in texts
        if (reason := found(path.read_bytes(), path.name).reason) is not None
    }
    assert len(texts) > 100
    assert refused == {}


def test_no_documentation_of_an_installed_package_is_data():
    """Of read-me files, licences and changes: their tests and data are another matter."""
    texts = {
        path
        for folder in site.getsitepackages()
        for pattern in ("*.md", "*.rst", "*.txt", "METADATA", "LICENSE*")
        for path in Path(folder).rglob(pattern)
        if path.is_file() and not {"tests", "data", "share"}.intersection(path.parts)
    }
    refused = {
        str(path): finding.reason
        for path in texts
        if (finding := found(path.read_bytes(), f"{path.name}.txt")).media_type in KINDS
    }
    assert refused == {}
