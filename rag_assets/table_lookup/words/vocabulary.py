"""Words of questions in English and Swedish: what they ask for, and which say nothing of a table.

All of it is general, and stands in `en.toml` and `sv.toml`: no word of a corpus is there. Words of
a trade come from the headings, the values and the glossary. A word stands in its lemma or as it is
written, without regard to case.
"""

from typing import Final

from rag_assets.table_lookup.words.word_lists import keys_by_phrase, phrases, phrases_by_key, words

HARMLESS: Final = words("harmless")
"""Words that a reading need not explain."""
CLASSING: Final = words("classing")
"""General words that are no more so in a table with such a heading: `group 4`, `class A`."""
FILLING: Final = phrases("filling")
"""Phrases that a reading need not explain."""
HOW_GREAT: Final = words("how_great")
"""Adjectives that ask for an amount after `hur`."""
GLUE: Final = words("glue")
"""Words that no heading begins or ends with."""
ROW_WORDS: Final = words("row_words")
"""Words for a row of a table."""
HARMLESS_LEMMAS: Final = words("harmless_lemmas")
"""Verbs in their lemma that a reading need not explain."""
NOT_A_LOOKUP: Final = words("not_a_lookup")
"""A question with one of them asks for reasons or advice."""
NOT_A_LOOKUP_PHRASES: Final = phrases("not_a_lookup_phrases")
NOT_IN_A_PLAN: Final = words("not_in_a_plan")
"""Words that ask for more than a plan can say; a heading or a value may still hold one."""
TURNING: Final = words("turning")
"""Words that turn an answer round: what is read without one answers another question."""
PER: Final = words("per")
ARTICLES: Final = words("articles")
VAGUE: Final = words("vague")
"""Judgements without a limit, where no number, name or heading gives them one."""
OPERATIONS: Final = phrases_by_key("operations")
"""Phrases that ask for an operation. A longer one is tried first."""
COMPARISONS: Final = phrases_by_key("comparisons")
"""Phrases before a number."""
COMPARISONS_AFTER: Final = phrases_by_key("comparisons_after")
"""Phrases after a number and its unit."""
BETWEEN: Final = words("between")
"""Words before the first of two numbers."""
EMPTY: Final = phrases("empty")
"""Phrases before a heading whose cells are empty."""
MOST: Final = words("most")
"""Words that compare how many there are."""
LASTING: Final = words("lasting")
"""Words with which `longest` is about a time."""
EXCLUDING: Final = phrases("excluding")
"""Phrases before a heading that is not to hold."""
ABSENT: Final = phrases("absent")
"""Phrases before a heading whose cells are empty or zero."""
GROUPING: Final = words("grouping")
"""Words before a heading, for each value of which something is computed."""
BEFORE_A_ROW: Final = words("before_a_row")
"""Words before the key of a row of which something is asked."""
BY: Final = words("by")
"""Words before the key of a row for which something is computed."""
BEFORE_HEADING: Final = words("before_heading")
"""Words after which a general word is a heading, where the table has it as one: `the amount`."""
AT_THE_END: Final = keys_by_phrase("at_the_end")
"""Last words of a question that ask for an extreme date: `which supplier was audited last`."""
AUXILIARY: Final = words("auxiliary")
"""Words between a negation and a participle: `never been audited`."""
COMPARING: Final = words("comparing")
"""Words that ask for rows side by side."""
VALID: Final = words("valid")
BEGINNING: Final = words("beginning")
ENDING: Final = words("ending")
"""Words of headings of dates from which, and until which, something is valid."""
MORE: Final = words("more")
"""Comparatives that name no column."""
ASKING_OF_ONE: Final = words("asking_of_one")
"""First words of a question about one thing; `which` may ask for several."""
WHICH: Final = words("which")
BEFORE_WHICH: Final = words("before_which")
"""Words before `which` that ask for what belongs to a thing, and not for rows."""
NEGATIONS: Final = words("negations")
NEGATING: Final = frozenset(each for each in (*EMPTY, *ABSENT, *NEGATIONS) if " " not in each)
"""Words that turn around what follows: no column is called by one."""
HOLDING: Final = words("holding")
"""Words before or after a heading whose cells are filled."""
KINDS: Final = keys_by_phrase("kinds")
"""Words that say what kind of quantity a heading is of, with a unit of it."""
ALL_ROWS: Final = words("all_rows")
"""Words with which a question for a column alone asks for all rows."""
ASKING: Final = words("asking")
"""Words that begin a question."""
BEFORE_THE_ASKED: Final = words("before_the_asked")
"""Words between the one that asks and what is asked for."""
AFTER_THE_ASKED: Final = words("after_the_asked")
"""Words that end what is asked for."""
OR: Final = words("or")
"""Words that join what is asked for by choice."""
JUDGING: Final = words("judging")
"""Words of which only a heading can say which end of its numbers they mean."""
AMOUNTS: Final = words("amounts_of")
"""Words that ask for the largest or smallest amount, of one row or of a sum."""
HIGH_ENDS: Final = phrases("high_ends")
"""What a heading calls the higher end of its codes: `1 = highest`."""
LOW_ENDS: Final = phrases("low_ends")
"""What a heading calls the lower end."""
