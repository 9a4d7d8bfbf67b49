"""Words that say what a number or a date in a name means: a version, a period, or one of many."""


def _words(text: str) -> list[str]:
    return text.split()


LASTING = frozenset(
    _words(
        "manual handbook guide guideline instruction instructions procedure procedures "
        "specification spec standard policy datasheet sheet sds msds drawing process "
        "requirements terms rules catalogue catalog readme reference method handbok "
        "manualen instruktion rutin anvisning specifikation datablad ritning riktlinje "
        "policyn metod handbuch anleitung datenblatt"
    )
)
"""Kinds of documents that are kept up to date: a date in the name is that of the version."""

PERIODIC = frozenset(
    _words(
        "report reports minutes protocol invoice certificate cert log journal newsletter "
        "memo meeting results measurement measurements statement order offer quote "
        "quotation receipt weekly monthly quarterly annual yearly interim daily budget "
        "programme agenda week month quarter batch sample rapport protokoll faktura intyg "
        "logg möte mätning resultat vecka månad kvartal offert bericht rechnung zeugnis "
        "besprechung"
    )
)
"""Kinds of documents of which each time has its own: a date in the name is a period."""

NUMBERED = frozenset(
    _words(
        "batch lot heat charge sample specimen serial report section clause chapter part "
        "annex appendix volume vol figure fig table sheet page dn size no nr number type "
        "grade model week month year site plant line machine order invoice item test run "
        "case step exercise lesson unit level python windows"
    )
)
"""Words before the number of one among several, which is no version."""

OF_ONE_VERSION = frozenset(
    _words(
        "notes whatsnew new news changes changelog migration migrating upgrade upgrading "
        "announcement announce release releases"
    )
)
"""Documents about a version, which stay true when the next one comes."""

PERIODICALS = frozenset(_words("vol volume journal magazine newsletter bulletin årgång tidskrift"))
"""What has issues that do not replace one another."""

SHELVES = frozenset(
    _words(
        "archive archived archives old older obsolete superseded previous history current "
        "latest new valid arkiv gamla gammal gällande utgångna äldre tidigare aktuell "
        "archiv alt"
    )
)
"""Folders that sort versions, and do not tell one document from another."""

LANGUAGES = frozenset(
    _words(
        "en sv de fr es it fi da no nl pl pt cs hu ja zh ko ru eng swe ger deu fra fre esp "
        "spa ita fin english swedish german french spanish italian svenska engelska tyska "
        "deutsch englisch"
    )
)
"""Languages as names of files give them."""
