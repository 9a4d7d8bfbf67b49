"""The HTTP API and the page, in one process over what serves: `rag-assets serve`.

Read in this order: `opened` (what answers, and how a pointer that moved is picked up), `bodies`
(what is sent and returned), `problems` (errors as problem+json), `limits` and `connections` (who
may connect, how much, how long), `streams` (answers on their way), `metrics`, `service` (what the
routes share), the `routes`, and `app`, which puts them together.
"""
