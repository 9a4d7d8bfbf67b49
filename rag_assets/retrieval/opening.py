"""Opening the index of a variant at the tables of one complete set.

A set is what a refresh left together (see `store.complete_sets`), or what the serving pointer names
(see `retrieval.serving`). An index keeps answering from its set while other versions are written,
for as long as `clean_up.keep_days` keeps the set.
"""

from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from rag_assets.config import ArmName, Config, Retrieval
from rag_assets.models.paths import load_for_queries
from rag_assets.models.rerankers import load_reranker
from rag_assets.process.errors import ExplainedError
from rag_assets.retrieval.arms import Arm
from rag_assets.retrieval.cache import Cache
from rag_assets.retrieval.encoders import QueryEncoder
from rag_assets.retrieval.glossary import Glossary, glossary_of
from rag_assets.retrieval.links import LinksInMemory, synonyms_of
from rag_assets.retrieval.model_rewriter import RewritingModels
from rag_assets.retrieval.search import VariantIndex
from rag_assets.retrieval.search_context import SelectNodes, select_no_nodes
from rag_assets.retrieval.text_names import NamesInText
from rag_assets.retrieval.versions import indexed_families, stale_documents
from rag_assets.store import MissingIndexError, MissingTableError, Store
from rag_assets.store.catalog import folder_of
from rag_assets.store.complete_sets import CompleteSet, is_kept, set_of
from rag_assets.store.damage import DAMAGE, DamagedTablesError, is_of_files
from rag_assets.store.pins import holds, opened
from rag_assets.store.table_locations import Stamp
from rag_assets.store.unit_links import names_of, read_links, read_names_in_units


class OutdatedIndexError(ExplainedError, LookupError):
    """The tables of an open index were cleaned up or built again."""

    def __init__(self, variant: str) -> None:
        super().__init__(
            f"the open version of the index of variant {variant} was removed: open it again; to "
            "keep versions for longer, raise clean_up.keep_days"
        )


def open_index(
    store: Store,
    config: Config,
    variant: str,
    *,
    complete_set: CompleteSet | None = None,
    retrieval: Retrieval | None = None,
    encoder: QueryEncoder | None = None,
    arms: Mapping[ArmName, Arm] | None = None,
    select_nodes: SelectNodes = select_no_nodes,
) -> VariantIndex:
    """The index of `variant` at its last complete set, or at `complete_set`.

    Args:
        store: Holds its tables.
        config: As it is now.
        variant: Its name; one that the config no longer has needs a `complete_set`.
        complete_set: What to open.
        retrieval: What answers queries; that of the config unless given.
        encoder: Embeds queries. Unless given, it is the model of the set, loaded when first needed.
        arms: What retrievers may ask beside their signals, by name. An arm that a retriever names
            and that is not here finds nothing.
        select_nodes: Searches by the signal `node_selection`, which only experiments have.

    Raises:
        ConfigError: The config has no such variant.
        MissingIndexError: It has no complete index.
        OutdatedIndexError: The tables of `complete_set` were cleaned up or built anew.
        DamagedTablesError: Files of its tables cannot be read.
    """
    complete_set = complete_set or _require_pinned(
        store, set_of(store, config, variant), variant=variant
    )
    retrieval = retrieval or config.retrieval
    stamps = [store.stamp(pin.table, version=pin.version) for pin in complete_set.pins]
    with _named_errors(store, complete_set, variant=variant):
        domains = {
            domain: partial(opened, store, pin)
            for domain, pin in (("document", complete_set.documents), ("table", complete_set.rows))
            if pin is not None
        }
        joint = opened(store, complete_set.joint)
        for pin in complete_set.pins:
            store.check(pin.table, version=pin.version)
    glossary = glossary_of(config)
    models = complete_set.query_models(store, config, variant=variant)
    _, of_documents = next(iter(models.values()))
    loaders = {
        domain: (lambda: encoder)
        if encoder
        else partial(load_for_queries, settings, name=name, home=store.encoders)
        for domain, (name, settings) in models.items()
    }
    return VariantIndex(
        joint,
        complete_set=complete_set,
        domains=domains,
        settings=retrieval,
        variant=variant,
        load_encoders=loaders,
        models=list(dict.fromkeys(name for name, _ in models.values())),
        load_reranker=lambda name: load_reranker(
            retrieval.rerankers[name], name=name, home=store.encoders, of_index=of_documents
        ),
        rewriting=RewritingModels(config, state=store.root),
        glossary=glossary,
        cache=Cache(store.root / "cache" / "retrieval.sqlite"),
        ann_from_rows=config.index.ann_from_rows,
        load_families=partial(
            indexed_families,
            store,
            families=complete_set.families,
            units=complete_set.documents or complete_set.joint,
        ),
        load_links=partial(_links_of, store, complete_set, glossary),
        read_stale=partial(stale_documents, store, complete_set.elements),
        open_tables=lambda: _opened(store, complete_set, variant=variant, stamps=stamps),
        arms=arms or {},
        select_nodes=select_nodes,
    )


def _links_of(
    store: Store, complete_set: CompleteSet, glossary: Glossary | None, replaced: Collection[str]
) -> LinksInMemory | None:
    if (pin := complete_set.unit_links) is None:
        return None
    synonyms = synonyms_of(glossary)

    def names(kinds: Sequence[str]) -> NamesInText:
        units = read_names_in_units(store, pin)
        found = names_of(units, kinds=kinds, synonyms=synonyms, replaced=replaced)
        return NamesInText(found, synonyms=synonyms)

    links = read_links(store, pin, synonyms=synonyms, replaced=replaced)
    return LinksInMemory(links, load_names=names)


def _require_pinned(store: Store, found: CompleteSet, *, variant: str) -> CompleteSet:
    """`found`, if all of its tables exist at their pinned versions."""
    for pin in found.pins:
        if not holds(store, pin):
            if store.exists(pin.table):
                store.check(pin.table)  # a damaged table raises its own error
            raise MissingIndexError(variant)
    return found


@contextmanager
def _opened(
    store: Store, complete_set: CompleteSet, *, variant: str, stamps: Sequence[Stamp | None]
) -> Generator[None]:
    """Name the table in errors, and refuse tables that were built again with these versions."""
    if [store.stamp(pin.table, version=pin.version) for pin in complete_set.pins] != stamps:
        raise OutdatedIndexError(variant)
    with _named_errors(store, complete_set, variant=variant):
        yield


@contextmanager
def _named_errors(store: Store, complete_set: CompleteSet, *, variant: str) -> Generator[None]:
    """Turn errors of missing or damaged files into errors that name the table."""
    try:
        yield
    except (MissingTableError, *DAMAGE) as error:
        if not is_kept(store, complete_set):
            raise OutdatedIndexError(variant) from error
        if not is_of_files(error):
            raise
        for pin in complete_set.pins:
            store.check(pin.table, version=pin.version)
        raise DamagedTablesError({folder_of(complete_set.joint.table): error}) from error
