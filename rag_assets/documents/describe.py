"""Figures become descriptions: a vision model says in words what a picture shows.

Each picture is described once, however many documents show it; a description by the same model and
prompt that another table has already is copied. The fingerprint of a description covers the model
and the prompt, but not the words around the picture, although the model gets them too: an edited
caption causes no new request. Without a configured model there is no table of descriptions, and a
figure is found by its caption and the words in it. An endpoint that cannot be reached does not stop
the refresh: its figures are tried again at the next one.
"""

import os
from base64 import b64encode
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
from pydantic import BaseModel, ValidationError

from rag_assets import schemas
from rag_assets.change import steps, sync
from rag_assets.change.difference import INPUTS
from rag_assets.change.steps import REVISIONS
from rag_assets.config import Config, Figures, VisionModel
from rag_assets.identity import fingerprint
from rag_assets.store import Store, images
from rag_assets.store.damage import DamagedTablesError

if TYPE_CHECKING:
    from requests import Session

REVISION = 1
"""Raised when the request for the same figure changes."""

FIGURES_A_BATCH = 32
LONGEST_CAPTION = 500
"""Characters of a figure's own words that are sent to the model."""

TRANSIENT = frozenset({408, 409, 425, 429})
"""HTTP statuses below 500 that a later attempt may avoid."""

CONTENT = pa.schema(
    [field for field in schemas.DESCRIPTIONS if field.name not in schemas.SYSTEM_COLUMNS]
)


class DescriptionError(Exception):
    """A figure was not described; the message says why."""

    def __init__(self, reason: str, *, kind: Literal["input", "environment"]) -> None:
        super().__init__(reason)
        self.kind: Literal["input", "environment"] = kind


class UnreachableError(DescriptionError):
    """The endpoint does not answer at all: no other figure is tried in this pass."""


@dataclass(frozen=True, slots=True)
class _Figure:
    """A picture, and its words in the document that shows it first."""

    image: str
    words: str


def refresh_descriptions(
    store: Store,
    config: Config,
    *,
    parser: str,
    model: VisionModel,
    log: Callable[[str], None],
    retry: bool = False,
) -> sync.Report:
    """Describe the figures that are new and drop the descriptions of those that are gone.

    Args:
        store: Holds the elements and their pictures.
        config: Says which pictures are worth it.
        parser: Name of the parser in the config.
        model: Who describes them.
        log: Receives progress, one line at a time.
        retry: Also try again the figures that the model refused.
    """
    of_figures = derivation(store, config, parser=parser, model=model)
    figures_of: dict[str, _Figure] = {}

    def inputs() -> pa.Table:
        figures_of.update(_figures_of(store, config, parser=parser, model=model))
        return _inputs(figures_of, model)

    def transform(changed: pa.Table) -> Iterator[sync.Batch]:
        new = dict(zip(*(changed[name].to_pylist() for name in INPUTS.names), strict=True))
        for reused in _reused(store, new, log=log):
            new = {image: mark for image, mark in new.items() if image not in reused.done}
            yield reused
        wanted = iter([figures_of[image] for image in new])
        with _session(model) as session, ThreadPoolExecutor(model.requests_at_once) as threads:
            describe = _Describer(store, model, session=session)
            while part := list(islice(wanted, FIGURES_A_BATCH)):
                yield _batch(part, list(threads.map(describe.attempt, part)), model=model)

    work = sync.Work(
        store=store,
        target=of_figures.target,
        made_from=of_figures.made_from,
        inputs=inputs,
        transform=transform,
    )
    return sync.refresh(work, log=log, retry=retry)


def derivation(store: Store, config: Config, *, parser: str, model: VisionModel) -> sync.Derivation:
    """The descriptions by `model`, made from the figures that `parser` finds."""
    step = steps.figure_descriptions(config, parser)
    seen = [] if model.sources == "all" else [sorted(model.sources)]
    recipe = fingerprint(_recipe(model), config.figures.min_pixels, *seen)
    return sync.Derivation(
        store=store,
        target=step.target(schemas.DESCRIPTIONS),
        made_from=steps.made_from(store, step, recipe=recipe),
        inputs=lambda: _inputs(_figures_of(store, config, parser=parser, model=model), model),
    )


def _recipe(model: VisionModel) -> str:
    revision = REVISIONS["figure_descriptions"]
    return fingerprint("descriptions", revision, model.model, model.prompt, model.max_tokens)


def _figures_of(
    store: Store, config: Config, *, parser: str, model: VisionModel
) -> dict[str, _Figure]:
    """The figures that the model may be sent: those of a source that it may see."""
    [(elements, _)] = steps.figure_descriptions(config, parser).sources
    figures = _figures(store, elements, config.figures, documents=_documents_of(store, model))
    return {figure.image: figure for figure in figures}


def _documents_of(store: Store, model: VisionModel) -> frozenset[str] | None:
    """Ids of the documents whose figures the model may be sent; None for all."""
    if model.sources == "all":
        return None
    files = store.read(schemas.DOCUMENT_FILES_TABLE, columns=["document_id", "source"])
    pairs = zip(files["document_id"].to_pylist(), files["source"].to_pylist(), strict=True)
    return frozenset(document for document, source in pairs if source in model.sources)


def _inputs(figures: Collection[str], model: VisionModel) -> pa.Table:
    table = pa.table({"image": pa.array(sorted(figures), pa.string())})
    return sync.with_recipe(table, key="image", content="image", recipe=_recipe(model))


def _reused(
    store: Store, new: Mapping[str, str], *, log: Callable[[str], None]
) -> Iterator[sync.Batch]:
    """Descriptions that other tables have, under other settings of the parser or of figures.

    Retired tables count as well. `new` names each picture and the fingerprint of its description:
    where both are equal, the model has described the picture already.
    """
    left = set(new.items())
    for table in store.stock(schemas.DESCRIPTIONS_PREFIX, log=log) if left else ():
        if not {*schemas.DESCRIPTIONS.names} <= {*store.schema(table).names}:
            continue
        images_left = sorted(image for image, _ in left)
        try:
            rows = store.read_keys(table, column="image", keys=images_left)
        except DamagedTablesError as error:
            log(f"a damaged table is not used: {error}")
            continue
        pairs = zip(*(rows[name].to_pylist() for name in ("image", "fingerprint")), strict=True)
        found = [pair in left for pair in pairs]
        if any(found):
            kept = rows.filter(pa.array(found)).select(CONTENT.names)
            done = kept["image"].to_pylist()
            left = {(image, mark) for image, mark in left if image not in {*done}}
            yield sync.Batch(kept, done)


class _Message(BaseModel):
    content: str


class _Choice(BaseModel):
    message: _Message


class _Answer(BaseModel):
    """The part of a chat completion that is read."""

    choices: list[_Choice]


class _Describer:
    """Asks the model, picture by picture; gives up on an endpoint that does not answer."""

    def __init__(self, store: Store, model: VisionModel, *, session: "Session") -> None:
        self._store = store
        self._model = model
        self._session = session
        self._unreachable: UnreachableError | None = None

    def attempt(self, figure: _Figure) -> str | DescriptionError:
        """The description of `figure`, or why there is none."""
        if self._unreachable:
            return self._unreachable
        try:
            return self._described(figure)
        except UnreachableError as error:
            self._unreachable = error
            return error
        except DescriptionError as error:
            return error

    def _described(self, figure: _Figure) -> str:
        import requests

        media_type, data = images.picture(self._store, figure.image)
        try:
            answer = self._session.post(
                f"{str(self._model.url).rstrip('/')}/chat/completions",
                json=self._question(figure, f"data:{media_type};base64,{b64encode(data).decode()}"),
                timeout=self._model.seconds,
            )
        except requests.ConnectionError as error:
            host = self._model.url.host
            reason = f"the vision model at {host} does not answer ({type(error).__name__})"
            raise UnreachableError(f"{reason}; tried again next time", kind="environment") from None
        except requests.RequestException as error:
            reason = f"the vision model failed ({type(error).__name__}); tried again next time"
            raise DescriptionError(reason, kind="environment") from None
        return _text_of(answer.status_code, answer.text)

    def _question(self, figure: _Figure, picture: str) -> dict:
        words = f"\n\nIts words in the document: {figure.words}" if figure.words else ""
        return {
            "model": self._model.model,
            "max_tokens": self._model.max_tokens,
            "temperature": 0,
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": self._model.prompt + words},
                        {"type": "image_url", "image_url": {"url": picture}},
                    ],
                }
            ],
        }


def _text_of(status: int, body: str) -> str:
    """The text of the model's answer.

    Raises:
        DescriptionError: The model refused or failed, or its answer cannot be read.
    """
    if status >= 400:
        is_transient = status >= 500 or status in TRANSIENT
        reason = f"the vision model answered with status {status}: {body[:200]}"
        raise DescriptionError(reason, kind="environment" if is_transient else "input")
    try:
        text = _Answer.model_validate_json(body).choices[0].message.content.strip()
    except (ValidationError, IndexError):
        reason = f"the vision model's answer is no chat completion: {body[:200]}"
        raise DescriptionError(reason, kind="input") from None
    if not text:
        raise DescriptionError("the vision model said nothing", kind="input")
    return text


def _batch(
    figures: Sequence[_Figure],
    answers: Sequence[str | DescriptionError],
    *,
    model: VisionModel,
) -> sync.Batch:
    pairs = list(zip(figures, answers, strict=True))
    described = [(figure.image, answer) for figure, answer in pairs if isinstance(answer, str)]
    rows = {
        "image": [image for image, _ in described],
        "model": [model.model] * len(described),
        "description": [text for _, text in described],
    }
    return sync.Batch(
        pa.table(rows, schema=CONTENT),
        [image for image, _ in described],
        [
            sync.Failure(figure.image, str(answer), figure.words[:80] or figure.image, answer.kind)
            for figure, answer in pairs
            if isinstance(answer, DescriptionError)
        ],
    )


def _figures(
    store: Store, elements: str, figures: Figures, *, documents: frozenset[str] | None
) -> Iterator[_Figure]:
    """Pictures of figures of `documents` that are large enough, with their own words there."""
    columns = ["document_id", "image", "text"]
    rows = store.read(elements, columns=columns, where="type = 'figure' AND image IS NOT NULL")
    words: dict[str, str] = {}
    for document, image, text in zip(*(rows[name].to_pylist() for name in columns), strict=True):
        if documents is None or document in documents:
            words.setdefault(image, text[:LONGEST_CAPTION])
    large = images.large_ones(store, list(words), min_pixels=figures.min_pixels)
    return (_Figure(image, words[image]) for image in large)


def _session(model: VisionModel) -> "Session":
    import requests

    session = requests.Session()
    if key := os.environ.get(model.key_variable):
        session.headers["Authorization"] = f"Bearer {key}"
    return session
