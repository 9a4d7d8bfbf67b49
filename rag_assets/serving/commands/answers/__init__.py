"""`rag-assets answers`: the answers that were kept, and texts that cite as answers do."""

SUMMARY = "look at kept answers, run one again or erase some; check what a text cites"
EXAMPLES = """\
  rag-assets answers --since 2026-01-01 --stale
  rag-assets answers show 01980d3c-5e1a-7c43-8f0e-6a1b2c3d4e5f
  rag-assets answers verify report.md"""
ACTIONS = (
    *("list", "show", "replay", "notices", "watch"),
    *("verify", "cite", "study", "export", "forget"),
)
