"""What is wrong, in one form, whoever found it and whoever tells it.

`kinds.yaml` lists all kinds with their texts. A `finding.Finding` is one thing that is wrong: the
state's and the runs' (`operations.problems`), the doctor's (`operations.doctor`), those of checks,
and those of evaluations (`evaluation.flaws`). `telling` says it to people and to programs.
"""
