"""The table of families follows documents, files and decisions, and looks at what changed only."""

import pytest

from rag_assets.config.addresses import families_table
from rag_assets.documents.families import family_rows
from rag_assets.documents.families.shown import documents_of, families_of

TEXT = "# Pump manual\n\nFill the housing before the pump is started. Limit: {} degrees.\n"


@pytest.fixture
def looked_at(monkeypatch):
    """Documents whose first page was looked at, by their titles."""
    seen = []
    stated_by = family_rows.stated_by

    def spy(blocks, **options):
        stated = stated_by(blocks, **options)
        seen.append(stated.title)
        return stated

    monkeypatch.setattr(family_rows, "stated_by", spy)
    return seen


def refresh(project, *, config=None):
    project.list_files()
    project.parse()
    return family_rows.refresh_families(
        project.store, config or project.config, parser="plain", log=project.lines.append
    )


def table(project):
    return families_table(project.config, "plain")


def statuses(project):
    return {each.uri: each.status for each in documents_of(project.store, table(project))}


def with_decisions(project, text):
    file = project.folder.parent / "decisions.csv"
    file.write_text(text, "utf-8")
    documents = project.config.documents.model_copy(update={"families": file})
    return project.config.model_copy(update={"documents": documents})


def test_a_new_version_takes_the_place_of_the_old_one(project):
    project.write("pump_v1.md", TEXT.format(80))
    project.write("other.md", "# Valve\n\nAnother document.\n")
    assert refresh(project).added == 2
    assert set(statuses(project).values()) == {"current"}

    project.write("pump_v2.md", TEXT.format(90))
    report = refresh(project)
    assert (report.added, report.changed, report.unchanged) == (1, 1, 1)
    assert statuses(project) == {
        "other.md": "current",
        "pump_v1.md": "superseded",
        "pump_v2.md": "current",
    }

    (project.folder / "pump_v2.md").unlink()
    report = refresh(project)
    assert (report.changed, report.removed) == (1, 1)
    assert statuses(project) == {"other.md": "current", "pump_v1.md": "current"}


def test_only_new_documents_are_looked_at(project, looked_at):
    project.write("pump_v1.md", TEXT.format(80))
    refresh(project)
    looked_at.clear()

    project.write("valve.md", "# Valve\n\nAnother document.\n")
    assert refresh(project).added == 1
    assert looked_at == ["Valve"]

    looked_at.clear()
    assert not refresh(project).touched
    assert looked_at == []


def test_a_renamed_document_loses_its_version(project, looked_at):
    project.write("pump_v1.md", TEXT.format(80))
    project.write("pump_v2.md", TEXT.format(90))
    refresh(project)
    (project.folder / "pump_v1.md").rename(project.folder / "valve.md")
    refresh(project)
    assert "superseded" not in statuses(project).values()


def test_a_decision_counts_at_the_next_refresh(project):
    project.write("pump.md", TEXT.format(80))
    project.write("pump_new.md", TEXT.format(90))
    refresh(project)
    assert [each.status for each in families_of(project.store, table(project))] == ["proposed"] * 2

    decided = with_decisions(project, "newer,older,are\npump_new.md,pump.md,versions\n")
    refresh(project, config=decided)
    assert statuses(project) == {"pump.md": "superseded", "pump_new.md": "current"}

    refresh(project)
    assert set(statuses(project).values()) == {"proposed"}


def test_no_row_names_another_document(project):
    project.write("pump_v1.md", TEXT.format(80))
    project.write("pump_v2.md", TEXT.format(90))
    refresh(project)
    for row in project.store.read(table(project)).to_pylist():
        other = {"pump_v1.md": "pump_v2", "pump_v2.md": "pump_v1"}[row["uri"]]
        assert other not in repr(row)
