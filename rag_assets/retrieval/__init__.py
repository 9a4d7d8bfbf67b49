"""Search: a library that knows the store and the models, and nothing of Dagster."""
