"""Units get vectors and become searchable tables."""
