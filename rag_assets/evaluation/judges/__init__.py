"""Judges: models that score what no rule can measure, by one protocol, on rubrics that are data.

Read `verdicts` first (what is judged, and the record of each judgment), then `rubrics` (what a
judge is asked), `asking` (how it is asked, and what is read of its answer), `judged_means` (what
many judgments say, with failures counted as the worst and as the best) and `wording`.

Then what people say: `kept_items` (what they can label) and `labels`. How far they agree with a
judge, and whether that may decide anything, is told in `laboratory.judges`.
"""
