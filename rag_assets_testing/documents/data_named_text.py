"""Text that is data: mails, encoded bytes, notebooks, tables and logs, as they are found."""

import base64
import binascii
import json
import mailbox
import random
from email.message import EmailMessage
from pathlib import Path

from rag_assets_testing.documents.making import SENTENCE

NOISE = random.Random(0).randbytes(60_000)


def mail(*, attachment: bytes = b"") -> bytes:
    message = EmailMessage()
    message["From"], message["To"] = "Anna <anna@example.com>", "bo@example.com"
    message["Subject"] = "The test of plate 7"
    message["Message-ID"] = "<1@example.com>"
    message.set_content("Please find the report of plate 7.")
    if attachment:
        message.add_attachment(
            attachment, maintype="application", subtype="pdf", filename="plate.pdf"
        )
    return message.as_bytes()


def mails(folder: Path) -> bytes:
    box = mailbox.mbox(folder / "box")
    for content in (mail(), mail(attachment=NOISE)):
        box.add(content)
    box.close()
    return (folder / "box").read_bytes()


def uuencoded(content: bytes) -> str:
    lines = [content[start : start + 45] for start in range(0, len(content), 45)]
    body = "".join(binascii.b2a_uu(line).decode() for line in lines)
    return f"begin 644 plate.pdf\n{body}`\nend\n"


def dumped(content: bytes) -> str:
    lines = []
    for start in range(0, len(content), 16):
        part = content[start : start + 16]
        shown = "".join(chr(code) if 32 <= code < 127 else "." for code in part)
        lines.append(f"{start:08x}  {part[:8].hex(' ')}  {part[8:].hex(' ')}  |{shown}|")
    return "\n".join(lines)


def notebook(*, picture: bytes = b"") -> str:
    image = {
        "output_type": "display_data",
        "data": {"image/png": base64.b64encode(picture).decode()},
    }
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Plate 7\n", SENTENCE]},
        {"cell_type": "code", "metadata": {}, "source": ["plot()"], "outputs": [image] * 3},
    ]
    return json.dumps(
        {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1
    )


def rows(by: str, *, count: int = 200, header: str = "time load name") -> str:
    numbers = random.Random(1)
    lines = [by.join(header.split())]
    lines += [
        by.join((f"{place / 10:.1f}", f"{numbers.uniform(-9, 9):.4f}", f"P{place % 7}"))
        for place in range(count)
    ]
    return "\n".join(lines) + "\n"


MULTIPART = mail(attachment=NOISE).partition(b"\n\n")[2]
XML = "<measurements>" + "<m id='1'><load>7.2</load></m>" * 90 + "</measurements>\n"
LOG = "".join(
    f"2026-11-24 08:{n // 60 % 60:02}:{n % 60:02},{n:03} INFO worker[{n}]: task {n} done\n"
    for n in range(200)
)
ACCESS = '10.0.0.7 - - [24/Nov/2026:08:01:02 +0000] "GET /a HTTP/1.1" 200 17\n' * 80
SYSLOG = "Nov 24 08:01:02 host sshd[812]: Accepted publickey for root\n" * 80
SQL = "CREATE TABLE t (a INT);\n" + "INSERT INTO t VALUES (1,'plate','7.2');\n" * 60
CODE = "var a=function(b,c){return b?c(d(b)):{e:1,f:[2,3]}};" * 200
