"""How good answers and reports are: by comparing, and by the judges of the config if it names any.

Read `evaluating` first, then `bench` (the questions, answered one by one), `measures` and
`gold_cited` (what is measured of each), `judged_items` (what judges read), `answer_means` and
`report`. `report_retrieval` measures the units that reports find for their prompts,
`report_prompts`. `designs` are the experiments on both, which evaluation runs: `follow_ups` and
`report_design`.
"""

REVISION = 4
"""Of the code that evaluates answers: raised when equal questions and index give other results."""
