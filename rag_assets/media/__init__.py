"""What files are, whoever reads them: `media_types` names the types, `encodings` decodes text.

`json_lines` reads files of JSON that people write, line by line.

A text of Windows, and a cell as a spreadsheet shows it:

>>> from rag_assets.media.encodings import code_page_of
>>> from rag_assets.media.number_formats import shown
>>> code_page_of(["Brottgräns".encode("cp1252")]).name
'cp1252'
>>> shown(0.0425, "0.0 %")
'4.3 %'
"""
