"""`rag-assets variants`: from a look at a variant's model to its place in front of the queries."""

SUMMARY = "build variants beside the one that serves, compare them, let one serve, go back"
EXAMPLES = """\
  rag-assets variants                        which there are
  rag-assets variants cost long_chunks       what building it takes
  rag-assets variants backfill long_chunks
  rag-assets variants promote long_chunks"""
ACTIONS = ("list", "cost", "preview", "backfill", "promote", "rollback", "history", "drop")
