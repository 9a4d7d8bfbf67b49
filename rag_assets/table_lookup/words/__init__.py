"""What the reading of questions knows of English and Swedish; no word of a corpus is here.

`vocabulary` holds the words of questions, `adjectives` what adjectives measure, `phrases` the words
of sentences about rows, `countries` their names and codes; `word_forms` takes a text apart into
words that can be compared.
"""
