"""What tests and benchmarks share: servers, corpora, models and faults that can be made here."""
