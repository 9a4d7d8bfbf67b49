"""What of a sentence is in the sources that it cites, and what a judge says of it.

Read `atoms` (what in a sentence can be right or wrong), then `matching` (where a source has it),
`support` (what was compared, and whether a value stands under its heading), `judging` (models that
say what comparing cannot), `verifying` (a verdict for each sentence) and `given_texts` (answers
from anywhere). `terms.compared_words` has the words that the rules know.
"""
