"""Parsers: each turns a file into elements, in a worker process unless the file is harmless.

`by_media_type` says which parser reads which kind of file, and who helps that of a PDF;
`description` what is known of a parser without loading it, and `preflight` how much work a file is.
The parsers are in `engines/` (PDF), `ocr/` (pages without a text layer), `office/` and `text/`;
`tables`, `pictures` and `docling_alone` are used by several of them.

A parser uses no program that it happens to find on the machine: what is not in its version must not
change what it reads.

A parser is a module with a `PARSER` that describes it and a function

    parse(path: str, pages: list[int] | None) -> list of elements as JSON

where `pages` are the numbers, from 1, of the pages to parse, in formats that have pages; the
parser's `options` are further arguments. It may run in an interpreter of its own: such a module,
and whatever it imports from this package, must need the standard library alone until it is called.
A parser that can tell harmless files also has two functions

    is_harmless(content: bytes, media_type: str) -> bool
    elements(content: bytes, media_type: str) -> iterable of `Element`

of which the second parses them in the process of the refresh. If the file is to blame, a parser
raises `ParseError` with a sentence for the user. Heavy libraries are imported when the parser is
called, never before.
"""
