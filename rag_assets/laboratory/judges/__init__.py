"""How far judges and people agree, and whether what a judge says may decide anything.

Read `kappa` first (agreement of two raters, with its interval), then `prediction_powered` (few
labels and many judgments together), `calibration` (what both say of a judge) and `agreement`
(every judge and rule, held against people).
"""
