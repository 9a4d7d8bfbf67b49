"""What people look at: plots, pages and previews for metadata and reports."""
