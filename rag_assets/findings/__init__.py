"""What is wrong, in one form, whoever found it and whoever tells it.

`kinds.yaml` lists all kinds with their texts. A `finding.Finding` is one thing that is wrong: the
state's and the runs' (`operations.problems`), the doctor's (`operations.doctor`), those of checks,
and those of evaluations (`evaluation.flaws`). `telling` says it to people and to programs.

A source that cannot be read; kind and remedy are what everybody is told:

>>> from datetime import UTC, datetime
>>> from rag_assets.findings.finding import Finding
>>> from rag_assets.findings.telling import lines_of, record_of
>>> found = Finding(
...     "source_unreadable",
...     "plant",
...     since=datetime(2026, 11, 30, 8, 5, tzinfo=UTC),
...     reason="the server does not answer",
...     remedy="start it, and refresh",
... )
>>> for line in lines_of([found]):
...     print(line)
  a source cannot be read: plant, since 2026-11-30 08:05
    the server does not answer
    what to do: start it, and refresh
>>> record_of(found)["severity"]
'error'
"""
