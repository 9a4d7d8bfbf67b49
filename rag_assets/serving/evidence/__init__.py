"""The evidence card: a citation shown, the same for every place where it is opened.

`cards` gathers what a card tells, `card.html` is its one template.
"""
