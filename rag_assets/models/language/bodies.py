"""The body of a request, as OpenAI's Chat Completions API takes it."""

from base64 import b64encode
from typing import Any

from rag_assets.config import LanguageModelSettings
from rag_assets.identity import canonical_json
from rag_assets.models.language.calls import AttachedPicture, Message, Request

IN_WORDS = "Answer with JSON alone, which follows this JSON schema: "


def body_of(request: Request, settings: LanguageModelSettings) -> dict[str, Any]:
    """What is sent to the model of `settings`."""
    kind = settings.structured_output
    is_told = request.schema is not None and kind != "json_schema"
    last = f"\n\n{IN_WORDS}{canonical_json(request.schema)}" if is_told else ""
    *before, end = request.messages
    body: dict[str, object] = {
        "model": settings.model,
        "messages": [*map(_message, before), _message(end, more=last)],
        "max_tokens": min(request.max_tokens, settings.output_tokens),
        "temperature": settings.temperature,
    }
    if settings.seed is not None:
        body["seed"] = settings.seed
    if request.schema is not None and kind == "json_schema":
        wanted = {"name": "answer", "strict": True, "schema": request.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": wanted}
    elif request.schema is not None and kind == "json_object":
        body["response_format"] = {"type": "json_object"}
    return body


def _message(message: Message, *, more: str = "") -> dict[str, object]:
    text = message.content + more
    if not message.pictures:
        return {"role": message.role, "content": text}
    shown = [{"type": "text", "text": text}, *map(_picture, message.pictures)]
    return {"role": message.role, "content": shown}


def _picture(picture: AttachedPicture) -> dict[str, object]:
    data = b64encode(picture.data).decode("ascii")
    url = f"data:{picture.media_type};base64,{data}"
    return {"type": "image_url", "image_url": {"url": url}}
