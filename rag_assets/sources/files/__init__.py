"""Documents where they lie: `listing` names the files, `detection` tells what each is by its bytes.

`manifest` brings the table `document_files` up to them, and `known_files` keeps what was found out
about each file. `data_texts` and `mails` tell text files that are no prose, `overlaps` those that
are tables.
"""
