"""The routes of the API under /v1, a module for each thing that is asked for."""
