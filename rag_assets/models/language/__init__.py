"""Language models behind OpenAI-compatible servers: one client for all that write.

Read in this order: `calls` (what is asked and what comes back), `opening` (the model that the
config names), `client` (how it is asked), `chat_server` (what a server is sent) and `answers` (what
its JSON says), `kept_calls` (no call is made twice), `spending` (tokens, time, money, and where
they end), `many_asked` (once for each of many things), `probing` (whether a model works), `prompts`
(texts with a version), `embedded` and `embedded_server` (the small model that needs no endpoint).
"""
