"""Files and SQL exports, landed by dlt."""
