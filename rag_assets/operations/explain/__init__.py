"""Where one unit comes from, step by step.

`explaining` finds the unit, `unit_steps` has the steps, and `job` shows them in the UI.
"""
