"""`rag-assets documents`: the documents, what are versions of one, and how one is erased."""

SUMMARY = "list documents, compare and decide on versions of one, erase one and prove it"
EXAMPLES = """\
  rag-assets documents
  rag-assets documents diff standards/STD-1234_A.pdf standards/STD-1234_B.pdf
  rag-assets documents purge reports/2019/offer.pdf"""
ACTIONS = ("list", "diff", "confirm", "reject", "purge")
