"""The list of steps says what the graph, the addresses and the tables say."""

from itertools import pairwise

import dagster as dg
import pytest

from rag_assets import definitions
from rag_assets.change.steps import REVISIONS, shared_steps, step_of, variant_steps
from rag_assets.config import Config

VISION = {"vision_model": {"url": "http://localhost:1/v1", "model": "m"}}


def config_of(**settings) -> Config:
    return Config.model_validate({"variants": {"default": {}}, **settings})


@pytest.mark.parametrize("figures", [{}, VISION])
def test_each_step_comes_after_those_that_it_is_made_from(figures):
    seen = set(shared_steps())
    for asset, step in variant_steps(config_of(figures=figures), "default").items():
        assert {each.asset for each in step.inputs} <= seen
        seen.add(asset)


def test_all_assets_with_tables_of_a_variant_are_steps():
    graph = definitions.definitions(config_of()).resolve_asset_graph()
    declared = {**shared_steps(), **variant_steps(config_of(), "default")}
    partitioned = {
        key.to_user_string()
        for key in graph.get_all_asset_keys()
        if graph.get(key).is_partitioned and graph.get(key).group_name != "evaluation"
    }
    assert partitioned == {asset for asset, step in declared.items() if step.has_variants}
    for asset, step in declared.items():
        node = graph.get(dg.AssetKey(asset))
        assert node.group_name == step.room
        if step.has_variants:
            above = {key.to_user_string() for key in node.parent_keys}
            assert above == {each.asset for each in step.upstream}


@pytest.mark.parametrize(
    ("settings", "others"),
    [
        ({}, set()),
        ({"tables": {"empty_cells": "keep"}}, {"serialized_rows", "row_vectors", "joint_index"}),
        (
            {"parsers": {"pymupdf": {"engine": "pdfium"}}},
            {"parsed_documents", "chunks", "chunk_vectors", "joint_index"},
        ),
    ],
)
def test_a_setting_addresses_the_tables_that_depend_on_it_and_no_others(settings, others):
    plain, edited = (
        variant_steps(config, "default") for config in (config_of(), config_of(**settings))
    )
    assert {asset for asset in plain if plain[asset].table != edited[asset].table} == others
    own = {asset for asset in plain if plain[asset].recipe != edited[asset].recipe}
    above = {asset for asset in others if {each.asset for each in plain[asset].inputs} & others}
    assert own | above == others


def test_no_table_belongs_to_two_steps():
    config = config_of(figures=VISION)
    steps = [*shared_steps().values(), *variant_steps(config, "default").values()]
    tables = sorted(step.table for step in steps)
    assert all(one != other for one, other in pairwise(tables))


def test_every_step_of_a_variant_has_a_revision():
    of_assets = set(variant_steps(config_of(figures=VISION), "default"))
    assert {*of_assets, "document_families"} == set(REVISIONS)


def test_an_unknown_step_is_refused():
    with pytest.raises(KeyError, match="no_such_asset"):
        step_of(config_of(), "no_such_asset")
