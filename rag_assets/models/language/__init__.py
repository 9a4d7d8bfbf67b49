"""Language models behind OpenAI-compatible servers: one client for all that write.

Read in this order: `calls` (what is asked and what comes back), `opening` (the model that the
config names), `client` (how it is asked), `answers` (what a server's JSON says), `kept_calls` (no
call is made twice), `spending` (tokens, time, money, and where they end), `prompts` (texts with a
version), `embedded` and `embedded_server` (the small model that needs no endpoint).
"""
