"""Training: models that learn from one's own questions, and become variants or rerankers.

Read in this order: `pairs` makes the questions with what they should and should not find, with the
help of `leakage`; `retriever` trains on them, or `m3`, which is for BGE-M3;
`reranker` starts from what they made, with the loss in `term_control`; `running` is what all
trainers share (checkpoints, resuming, curves); `weights` keeps what was trained. `retriever` and
`running` know nothing of this project: they train on a table of pairs wherever PyTorch runs.
"""
