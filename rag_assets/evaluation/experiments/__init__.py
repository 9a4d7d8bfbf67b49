"""Experiments: arms compared on the same questions, chosen on dev, reported on test."""
