"""`rag-assets alerts`: what is wrong now, who was told, and what is to be told no more."""

SUMMARY = "tell what is wrong now and who was told; try the channels; accept what fails"
EXAMPLES = """\
  rag-assets alerts                                  what is wrong now, and who was told
  rag-assets alerts test                             send a test message to each channel
  rag-assets alerts acknowledge 'offers/locked.pdf'  no problem until it fails anew"""
ACTIONS = ("list", "test", "acknowledge")
