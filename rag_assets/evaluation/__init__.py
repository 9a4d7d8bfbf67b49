"""Questions with gold evidence, metrics, intervals and reports."""
