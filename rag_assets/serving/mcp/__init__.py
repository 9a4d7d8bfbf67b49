"""Tools for agents over MCP: `rag-assets mcp` (stdio) and `/mcp` of `rag-assets serve`.

Read in this order: `told` (what tools return), `budgets` (how much of it, and where the next page
begins), `tools` (what they do: what the HTTP routes and the assistant do), `server` (how they are
offered, how errors are told, and how a cancelled call ends).
"""
