"""DOCX, PPTX, HTML and XLSX.

`docling_office` reads the first three through docling, with the readers of `docling_scripts`;
`spreadsheet` and `charts` read workbooks, and `archives` looks at a file before it is unpacked.
"""
