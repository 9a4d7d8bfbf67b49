"""Tables in files: `folder` finds them, `delimited` reads CSV and `workbooks` reads XLSX."""
