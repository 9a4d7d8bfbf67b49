"""The code page of a text is told by its letters, and doubt is told."""

# ruff: noqa: RUF001 - letters of other scripts are meant

import pytest

from rag_assets.media.encodings import code_page_of, doubt_of_text

SWEDISH = "Pumpen ger fyrtio liter vatten på en minut. Trycket är tre bar för övrigt.\n"
RUSSIAN = "Насос подаёт сорок литров воды в минуту. Давление составляет три бара.\n"


def page_of(text, encoding):
    return code_page_of(text.encode(encoding).splitlines(keepends=True))


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        *((page, RUSSIAN) for page in ("cp1251", "koi8-r", "cp866")),
        *((page, SWEDISH) for page in ("cp1252", "cp850", "mac-roman")),
        ("cp1250", "Łożysko pompy źle działa. Ciśnienie wynosi trzy bary.\n"),
        ("cp1250", "Čerpadlo dodává čtyřicet litrů vody za minutu, tlak činí tři bary.\n"),
        ("cp852", "Łożysko pompy źle działa. Ciśnienie wynosi trzy bary.\n"),
        ("cp932", "このポンプは毎分四十リットルの水を送ります。\n"),
        ("euc-jp", "このポンプは毎分四十リットルの水を送ります。\n"),
        ("gb18030", "这台泵每分钟输送四十升水。压力为三巴。\n"),
        ("big5", "這台泵每分鐘輸送四十升水。壓力為三巴。\n"),
        ("cp949", "이 펌프는 분당 사십 리터의 물을 공급합니다.\n"),
        ("cp1253", "Η αντλία παρέχει σαράντα λίτρα νερού το λεπτό.\n"),
        ("cp1254", "Pompa dakikada kırk litre su verir, basınç üç bardır.\n"),
        ("cp1255", "המשאבה מספקת ארבעים ליטר לדקה\n"),
        ("cp1256", "تضخ المضخة أربعين لترا من الماء في الدقيقة\n"),
        ("cp1252", "La pompe délivre quarante litres d’eau par minute, à trois bars.\n"),
        ("cp1251", "номер;название\n1;Болт\n2;Гайка\n"),
        ("cp1252", "libellé;prix\nélève à côté;1 500,50\nforêt;250,00\n"),
        ("cp1252", "ÖVRE;5\nÅSÖ;3\nÄLÖ;2\n"),
        ("cp1252", "hole;diameter\nA;Ø 5\nB;ø6\n"),
        ("cp850", "Länge;5\nFörsök;3\nBåge;2\n"),
    ],
)
def test_texts_of_other_code_pages_are_read(encoding, text):
    page = page_of(text, encoding)

    assert text.encode(encoding).decode(page.name) == text


@pytest.mark.parametrize(
    "text",
    [
        "name;temperature\nA;1,5 °C\nB;2,5 °C\nC;30 µm\n",
        "part;tolerance\nA;±0,5\nB;±0,25\nC;±1\n",
        "part;price\nA;1,5 €\nB;2,5 €\n",
        "flow;5 m³/h\nloss;2 W/m²K\n",
    ],
)
def test_signs_of_measures_among_ascii_are_western(text):
    page = page_of(text, "cp1252")

    assert (page.name, page.doubt) == ("cp1252", "")


@pytest.mark.parametrize(
    "text",
    ["“Quoted” text – with dashes", "25 ± 3 %", "The price is 100 €.", SWEDISH, "Größe;Länge\n1;2"],
)
def test_western_texts_are_in_no_doubt(text):
    assert page_of(text, "cp1252").doubt == ""


@pytest.mark.parametrize(
    ("encoding", "text"), [("mac-roman", "Größe und Länge"), ("cp1251", "Болт М6")]
)
def test_a_few_letters_leave_a_doubt_that_names_what_to_do(encoding, text):
    doubt = page_of(text, encoding).doubt

    assert "its encoding is uncertain" in doubt
    assert doubt.endswith("save it as UTF-8")


def test_utf8_with_a_broken_byte_is_utf8():
    assert page_of("åäö" * 9, "utf-8").name == "utf-8-sig"
    assert doubt_of_text(("åäö" * 9).encode() + b"\xff") == ""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_unicode_is_in_no_doubt(encoding):
    assert doubt_of_text("Größe".encode(encoding)) == ""


def test_letters_far_down_in_a_file_of_ascii_are_found():
    lines = [b"nothing here\n"] * 50_000 + [RUSSIAN.encode("koi8-r")] * 3

    assert code_page_of(lines).name == "koi8-r"
