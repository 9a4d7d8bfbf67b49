"""Files of all kinds as they are made for a test: good, bad, and the worst."""
