"""A Dagster asset graph that keeps a retrieval index over documents and SQL tables fresh."""
