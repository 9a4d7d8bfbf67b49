"""Templates and lists of words, a file for each language and one for all."""
