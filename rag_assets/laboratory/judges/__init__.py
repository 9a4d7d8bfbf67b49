"""Judges: models that score what no rule can measure, and how far people agree with them.

`asking` is how a judge is asked by the rubrics of `questions.judging`, `judged_means` what many
judgments say (failures counted as the worst and as the best), `wording` tells it.

Then read `kappa` (agreement of two raters, with its interval), then `calibration` (what labels say
of a judge, and few labels with many judgments of a mean) and `agreement` (every judge and rule,
held against people), and `matching` (how often reference matching finds what people ticked).
"""
