"""What files are: media types that can be parsed, and how letters are encoded."""
