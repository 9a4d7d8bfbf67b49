"""The command line.

Read `cli` first: it reads the arguments, runs one of `commands` and prints its reply. `replies` is
what all commands share: replies, errors, exit codes, tables of text. `job_runs` runs a job of the
asset graph in this process; `refresh_run` does so for a refresh. They use `dagster_instance` (where
Dagster keeps its records), `dagster_storage` (how it writes them fast) and `progress` (lines for
the terminal). `check_summary`, `document_status` and `evaluation_text` are parts of replies;
`document_versions` is what commands on versions of documents share; `state_status` gathers how a
state stands, and `status_text` says it to people; `disk_errors` explains a full or read-only disk.
`http` answers programs and people, `mcp` agents.

A command, as a shell would run it:

>>> from contextlib import chdir
>>> from tempfile import TemporaryDirectory
>>> from rag_assets.serving.cli import main
>>> with TemporaryDirectory() as folder, chdir(folder):
...     exit_code = main(["init", "--database", "sqlite:///alloys.sqlite"])
Wrote ...rag_assets.yaml.
There is no alloys.sqlite yet.
Next: rag-assets refresh, then rag-assets questions make and rag-assets evaluate
>>> exit_code
0
"""
