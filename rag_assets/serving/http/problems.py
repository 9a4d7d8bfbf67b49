"""Errors as problem+json (RFC 9457): the sentence and the remedy of the command line.

What is wrong with a request is 4xx and names the field; what is wrong with the state, a model or a
table is 503, since it may be mended while the client waits.
"""

import logging
import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException

from rag_assets.config import ConfigError, redacted
from rag_assets.identity import UnknownIdError
from rag_assets.process.errors import ExplainedError, RequestError
from rag_assets.serving.replies import CommandError
from rag_assets.workers import AbandonedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic_core import ErrorDetails

MEDIA_TYPE = "application/problem+json"
UNKNOWN = "nothing is served at this address: /openapi.json lists what is"
NO_OBJECT = ("dict_type", "model_type", "model_attributes_type", "missing")
NO_BODY = "the body is no JSON object: send one, with the header Content-Type: application/json"
AN_ID = (
    "an id looks like 5f0c1e5e-3b1a-5c0e-9d53-0f6c1d2e3a4b: digits, letters from a to f, and "
    "hyphens; of a unit its first 4 characters are enough"
)
ON = "it should be kept, current, or the number of an index version"
IN_WORDS: Mapping[str, str] = {
    "bool_parsing": "it should be true or false",
    "date_from_datetime_parsing": "it should be a day such as 2026-03-31",
    "dict_type": "it should be a JSON object",
    "extra_forbidden": "there is no such field",
    "int_parsing": "it should be a whole number",
    "missing": "it is missing",
    "model_attributes_type": "it should be a JSON object",
    "model_type": "it should be a JSON object",
}
"""What the types of Pydantic's errors mean."""
logger = logging.getLogger(__name__)


class ProblemReply(BaseModel):
    """Why a request failed, and what to do."""

    type: str = "about:blank"
    title: str
    """The status in words."""
    status: int
    detail: str
    """What is wrong, and what to do."""


RESPONSES: Mapping[int | str, dict] = {
    "4XX": {"description": "The request is wrong; it says where.", "model": ProblemReply},
    "5XX": {"description": "It cannot be answered now; it says why.", "model": ProblemReply},
}
"""What every route may answer besides its own reply."""


def described(make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The OpenAPI document that `make` gives, with the media type that problems have."""
    document = make()
    for route in document["paths"].values():
        for operation in route.values():
            for status in RESPONSES.keys() & operation["responses"].keys():
                content = operation["responses"][status]["content"]
                content[MEDIA_TYPE] = content.pop("application/json")
    return document


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """A reply that says what is wrong."""
    content = ProblemReply(title=HTTPStatus(status).phrase, status=status, detail=redacted(detail))
    return JSONResponse(
        content.model_dump(), status, headers=dict(headers or {}), media_type=MEDIA_TYPE
    )


def statuses() -> "Sequence[tuple[tuple[type[Exception], ...], HTTPStatus]]":
    """The status that each kind of error is told with; of two that fit, the first."""
    from rag_assets.answering.record.replaying import ReplayError
    from rag_assets.documents.chunks.location import NotShownError
    from rag_assets.media.json_lines import QuestionsError
    from rag_assets.table_lookup.plans.sandbox import SandboxError

    return (
        ((UnknownIdError, NotShownError), HTTPStatus.NOT_FOUND),
        ((ReplayError,), HTTPStatus.CONFLICT),
        (
            (RequestError, ConfigError, SandboxError, QuestionsError, CommandError),
            HTTPStatus.UNPROCESSABLE_ENTITY,
        ),
        ((ExplainedError,), HTTPStatus.SERVICE_UNAVAILABLE),
        ((ValueError,), HTTPStatus.UNPROCESSABLE_ENTITY),
        ((TimeoutError, AbandonedError), HTTPStatus.GATEWAY_TIMEOUT),
    )


def install(app: FastAPI) -> None:
    """Have `app` tell every error as a problem."""
    known = statuses()

    async def told(_request: Request, error: Exception) -> JSONResponse:
        return of_error(error, known)

    async def invalid(_request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        return problem(HTTPStatus.UNPROCESSABLE_ENTITY, _invalid(error))

    async def of_http(_request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        is_unknown = error.detail == HTTPStatus.NOT_FOUND.phrase
        detail = UNKNOWN if is_unknown else str(error.detail)
        return problem(error.status_code, detail, error.headers)

    for kinds, _ in known:
        for kind in kinds:
            app.add_exception_handler(kind, told)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, of_http)


def of_error(
    error: Exception,
    known: "Sequence[tuple[tuple[type[Exception], ...], HTTPStatus]]",
) -> JSONResponse:
    """The reply to a request that ended in `error`; of one that nobody foresaw, nothing is told."""
    for kinds, status in known:
        if isinstance(error, kinds) and not isinstance(error, ValidationError):  # ours, not theirs
            return problem(status, str(error))
    logger.error("a request failed", exc_info=error)
    return problem(
        HTTPStatus.INTERNAL_SERVER_ERROR, "something went wrong: the log of the server says what"
    )


def failed(error: Exception) -> str:
    """What `of_error` tells, as the data of an event."""
    return bytes(of_error(error, statuses()).body).decode()


def _invalid(error: RequestValidationError) -> str:
    """What is wrong with the first field that does not fit."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return f"the body is no valid JSON: {first['ctx']['error']} at character {first['loc'][-1]}"
    if first["type"] in NO_OBJECT and first["loc"] == ("body",):
        return NO_BODY
    return in_words({**first, "loc": first["loc"][1:] or first["loc"]})


def in_words(error: "Mapping[str, Any] | ErrorDetails") -> str:
    """What is wrong with a field, without the words of Pydantic for it."""
    place = ".".join(map(str, error["loc"]))
    if error["type"] == "string_pattern_mismatch":
        said = ON if error["loc"][-1] == "on" else AN_ID
    else:
        said = IN_WORDS.get(error["type"]) or error["msg"].removeprefix("Value error, ")
    return f"{place}: {re.sub('^[A-Z][a-z]+ should', 'it should', said)}"
