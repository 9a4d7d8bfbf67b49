"""Generator of the demo data: fictional documents, tables, headings and questions."""
