"""Where one unit comes from, step by step.

`explaining` finds the unit and asks each kind of step what its table holds of it
(`StepKind.traced`); `operations.jobs` shows that in the UI.
"""
