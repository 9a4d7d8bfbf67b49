"""What proves a sentence: citations, where they point, and the JSON in which they are kept.

Read `kinds` first: the five kinds of citation. `places` says where each points, for people, and
`versioned_json` writes objects whose format has a name. This stands on the ground floor, so that
whoever cites or reads citations can import it.
"""
