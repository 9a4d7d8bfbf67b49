"""Everything with weights."""
