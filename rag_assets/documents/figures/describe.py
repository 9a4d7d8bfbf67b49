"""Figures become descriptions: a language model that sees says in words what a picture shows.

Each picture is described once, however many documents show it; a description by the same model and
prompt that another table has already is copied. The fingerprint of a description covers the model
and the prompt, but not the words around the picture, although the model gets them too: an edited
caption causes no new request. Without a configured model there is no table of descriptions, and a
figure is found by its caption and the words in it.

A server that does not answer and a budget that is used up do not stop the refresh: the figures that
are left are tried again at the next one. What was answered when a refresh was killed is kept, and
not asked again.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice

import pyarrow as pa

from rag_assets import schemas
from rag_assets.change import sync
from rag_assets.change.difference import INPUTS
from rag_assets.change.steps import made_from
from rag_assets.config import Config, DescribingModel
from rag_assets.documents.figures.describing import CONTENT, Describer, PicturedFigure
from rag_assets.documents.step_tables import DESCRIBING, descriptions_of
from rag_assets.identity import fingerprint
from rag_assets.models.language.many_asked import ManyAsked
from rag_assets.models.language.opening import open_entry
from rag_assets.store import Store, images
from rag_assets.store.damage import DamagedTablesError

FIGURES_A_BATCH = 32
LONGEST_CAPTION = 500
"""At most so many characters of a figure's own words are sent to the model."""


def refresh_descriptions(
    store: Store,
    config: Config,
    *,
    parser: str,
    model: DescribingModel,
    log: Callable[[str], None],
    retry: bool = False,
) -> sync.AskedReport:
    """Describe the figures that are new and drop the descriptions of those that are gone.

    Args:
        store: Holds the elements and their pictures.
        config: Says which pictures are worth it.
        parser: Name of the parser in the config.
        model: Who describes them.
        log: Receives progress, one line at a time.
        retry: Also try again the figures of which the model said nothing that can be used.
    """
    of_figures = derivation(store, config, parser=parser, model=model)
    figures_of: dict[str, PicturedFigure] = {}

    def inputs() -> pa.Table:
        figures_of.update(_figures_of(store, config, parser=parser, model=model))
        return _inputs(figures_of, model)

    with open_entry(model.name, model.settings, state=store.root) as client:
        asked = ManyAsked(client, things="figures", retry=retry)
        describer = Describer(store, model, asked)

        def transform(changed: pa.Table) -> Iterator[sync.Batch]:
            new = dict(zip(*(changed[name].to_pylist() for name in INPUTS.names), strict=True))
            for reused in _reused(store, new, log=log):
                new = {image: mark for image, mark in new.items() if image not in reused.done}
                yield reused
            wanted = iter([figures_of[image] for image in new])
            while part := list(islice(wanted, FIGURES_A_BATCH)):
                yield describer.batch(part)

        work = sync.Work.of(of_figures, transform, inputs=inputs)
        report = sync.refresh(work, log=log, retry=retry)
        if line := asked.left_line():
            log(line)
        return sync.AskedReport.of(report, spending=client.spending.record())


def derivation(
    store: Store, config: Config, *, parser: str, model: DescribingModel
) -> sync.Derivation:
    """The descriptions by `model`, made from the figures that `parser` finds."""
    step = descriptions_of(config, parser)
    allowed = model.settings.allowed_sources
    seen = [] if allowed is None else [sorted(allowed)]
    recipe = fingerprint(_recipe(model), config.figures.min_pixels, *seen)
    return sync.Derivation(
        store=store,
        target=step.target(),
        made_from=made_from(store, step.inputs, recipe=recipe),
        inputs=lambda: _inputs(_figures_of(store, config, parser=parser, model=model), model),
    )


def _recipe(model: DescribingModel) -> str:
    revision = DESCRIBING
    name = model.settings.model
    return fingerprint("descriptions", revision, name, model.prompt, model.max_tokens)


def _figures_of(
    store: Store, config: Config, *, parser: str, model: DescribingModel
) -> dict[str, PicturedFigure]:
    """The large figures of sources that the model may see, with their words there, by picture."""
    [(elements, _)] = descriptions_of(config, parser).sources
    allowed, source_of = model.settings.allowed_sources, _sources(store)
    columns = ["document_id", "image", "text"]
    rows = store.read(elements, columns=columns, where="type = 'figure' AND image IS NOT NULL")
    found: dict[str, PicturedFigure] = {}
    for document, image, text in zip(*(rows[name].to_pylist() for name in columns), strict=True):
        source = source_of.get(document)
        if allowed is None or source in allowed:
            sources = frozenset() if source is None else frozenset({source})
            found.setdefault(image, PicturedFigure(image, text[:LONGEST_CAPTION], sources))
    large = images.large_ones(store, list(found), min_pixels=config.figures.min_pixels)
    return {image: found[image] for image in large}


def _sources(store: Store) -> Mapping[str, str]:
    """The source of each document of the manifest."""
    if not store.exists(schemas.DOCUMENT_FILES_TABLE):
        return {}
    files = store.read(schemas.DOCUMENT_FILES_TABLE, columns=["document_id", "source"])
    return dict(zip(files["document_id"].to_pylist(), files["source"].to_pylist(), strict=True))


def _inputs(figures: Collection[str], model: DescribingModel) -> pa.Table:
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
