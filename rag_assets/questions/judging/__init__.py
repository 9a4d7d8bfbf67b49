"""What is judged by judges and people alike: items, rubrics, and what people say of them.

Read `verdicts` first (what is judged, and the record of each judgment), then `rubrics` (what is
asked, as data), `kept_items` (what people can label) and `labels`. How models are asked, and how
far they agree with people, is told in `laboratory.judges`.
"""
