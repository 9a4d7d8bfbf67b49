"""How the index that answers is exchanged.

Read `promotion` first: the gate, the move of the serving pointer, and the way back. `consistency`
tells whether the tables of a set agree, `status` what serves. The record itself is
`store.serving_pointer`.
"""
