"""How far judges and people agree, and whether what a judge says may decide anything.

Read `kappa` first (agreement of two raters, with its interval), then `calibration` (what labels say
of a judge, and few labels with many judgments of a mean) and `agreement` (every judge and rule,
held against people).
"""
