"""The laboratory: what papers and comparisons need, and neither a refresh nor a question does.

`experiments` compares settings of retrieval on one set of questions, under one protocol, and
`answers` does so for what a language model writes. `training` fine-tunes models on one's own
questions. `answer_evaluation` measures answers. `judges` score them, and are held against people.
`commands` are its commands of the command line.

It stands above all other rooms. Only the definitions, the list of steps and the command line name
it, so that the rest works without it. What is declared stays below: sections of the config, designs
(YAML), names of tables and folders, and the reading of what was run (`evaluation.experiment_runs`)
and trained (`config.training`).

A judge is believed as far as people agree with it, beyond what chance alone would give:

>>> from rag_assets.laboratory.judges.kappa import kappa_of
>>> person = ["yes", "yes", "no", "yes", "no", "no", "yes", "no"]
>>> judge = ["yes", "yes", "no", "no", "no", "no", "yes", "no"]
>>> kappa = kappa_of(person, judge, scale=["no", "yes"], is_ordered=False)
>>> f"{kappa.estimate:.2f}, from {kappa.low:.2f} to {kappa.high:.2f}"
'0.75, from 0.31 to 1.00'
"""
