"""`rag-assets tables`: the tables of the sources and inside documents, and their rows."""

SUMMARY = "list tables, show how one was read, look rows up, write one to a file"
EXAMPLES = """\
  rag-assets tables
  rag-assets tables show parts
  rag-assets tables lookup "How many alloys have a density below 3 g/cm3?"
  rag-assets tables export parts"""
ACTIONS = ("list", "show", "lookup", "export")
