"""DOCX, PPTX, HTML and XLSX.

`docling_office` reads the first three through docling, whose readers `docling_backends` corrects;
`picture_meta` names what these two tell each other of a picture. `spreadsheet` and `charts` read
workbooks, and `archives` inspects a file before it is unpacked.
"""
