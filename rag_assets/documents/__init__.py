"""Documents become elements, elements become chunks."""
