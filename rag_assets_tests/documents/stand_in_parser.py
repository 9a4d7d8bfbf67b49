"""A parser that does to its process what the page says; it runs in worker processes."""

import os
import signal
import socket
import time

from rag_assets.documents.parsers.description import ParseError, Parser
from rag_assets.documents.parsers.engines import pdfium

PARSER = Parser("stand_in", __name__, 1, "pypdfium2", "pip install pypdfium2")
NEXT = Parser("next_stand_in", __name__, 1, "pypdfium2", "pip install pypdfium2")


def parse(path, pages):
    elements = pdfium.parse(path, pages)
    words = {element["text"] for element in elements}
    if "hang" in words:
        time.sleep(600)
    if "crash" in words:
        os.kill(os.getpid(), signal.SIGKILL)
    if "refuse" in words:
        raise ParseError("is refused")
    if "stumble" in words:
        raise KeyError("nonsense")
    if "mumble" in words:
        raise ParseError("names the font Caf\udce9")  # bytes of the file that are no text
    if "call" in words:
        socket.getaddrinfo("localhost", 80)
    seen = [element for element in elements if not element["text"].startswith("blind")]
    return [_drawn(element) if element["text"].startswith("drawn") else element for element in seen]


def _drawn(element):
    """A figure in place of the words of a paragraph."""
    image = {"base64": "AAAA", "media_type": "image/png", "width": 1, "height": 1}
    return {"type": "figure", "text": "", "page": element["page"], "image": image}
