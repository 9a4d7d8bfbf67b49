"""What another model can reach at most, before its index is built.

Read `previewing` first; `bounds` has the proof, `units` chooses the units that are embedded.
"""
