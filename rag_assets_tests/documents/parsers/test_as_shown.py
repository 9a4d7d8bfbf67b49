"""Word files and slides are read as their programs show them."""

import zipfile

import pytest

from rag_assets.documents.elements.element import from_json
from rag_assets.documents.parsers.office import docling_office
from rag_assets.documents.parsers.office.as_shown import as_shown
from rag_assets.documents.parsers.office.words import shown_texts

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
W14 = "http://schemas.microsoft.com/office/word/2010/wordml"
CHANGE = 'w:id="1" w:author="r" w:date="2026-01-01T00:00:00Z"'
DIAGRAM = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
SYMBOL = '<w:rPr><w:rFonts w:ascii="Symbol" w:hAnsi="Symbol"/></w:rPr>'


def run(text, properties="", tag="t"):
    return f'<w:r>{properties}<w:{tag} xml:space="preserve">{text}</w:{tag}></w:r>'


def sign(font, code):
    return f'<w:r><w:sym w:font="{font}" w:char="{code}"/></w:r>'


def control(inner, properties=""):
    return f"<w:sdt><w:sdtPr>{properties}</w:sdtPr><w:sdtContent>{inner}</w:sdtContent></w:sdt>"


def cell(text):
    return f"<w:tc><w:p>{run(text)}</w:p></w:tc>"


def form_field(data):
    return (
        f'<w:r><w:fldChar w:fldCharType="begin"><w:ffData>{data}</w:ffData></w:fldChar></w:r>'
        '<w:r><w:instrText xml:space="preserve"> FORM </w:instrText></w:r>'
        '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )


@pytest.fixture
def written(tmp_path):
    """Writes a Word file of some blocks of XML."""
    import docx
    from docx.oxml import parse_xml

    def write(*blocks, styles=()):
        document = docx.Document()
        body = document.element.body
        for block in blocks:
            named = block.replace(">", f' xmlns:w="{W}" xmlns:w14="{W14}">', 1)
            body.insert(len(body) - 1, parse_xml(named))
        for style in styles:
            document.styles.element.append(parse_xml(style.replace(">", f' xmlns:w="{W}">', 1)))
        document.save(tmp_path / "file.docx")
        return tmp_path / "file.docx"

    return write


def texts(path, **options):
    return [element.text for element in from_json(docling_office.parse(str(path), None, **options))]


@pytest.mark.parametrize(
    ("inner", "shown"),
    [
        (run("25 ") + sign("Symbol", "F06D") + run("m thick"), "25 μm thick"),
        (sign("Symbol", "F0B1") + run("3 percent"), "±3 percent"),
        (run("from ") + sign("Symbol", "00B3") + run(" 12 bar"), "from ≥ 12 bar"),
        (sign("Arial", "00B5") + run("m"), "µm"),
        (sign("Wingdings", "F0FE") + run(" Passed"), "🗹 Passed"),
        (run("5 ") + run("m", SYMBOL) + run("m"), "5 μm"),
        (run("90 ") + run("\uf057", SYMBOL) + run(" at rest"), "90 Ω at rest"),
        (run("a ") + run("w", '<w:rPr><w:rStyle w:val="Greek"/></w:rPr>') + run(" t"), "a ω t"),
        (form_field('<w:checkBox><w:default w:val="1"/></w:checkBox>') + run(" Yes"), "☒ Yes"),
        (
            form_field('<w:checkBox><w:default w:val="1"/><w:checked w:val="0"/></w:checkBox>')
            + run(" No"),
            "☐ No",
        ),
        (
            form_field(
                '<w:ddList><w:result w:val="1"/><w:listEntry w:val="ok"/>'
                '<w:listEntry w:val="rejected"/></w:ddList>'
            ),
            "rejected",
        ),
        (
            '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:ddList><w:listEntry w:val="ok"/>'
            '</w:ddList></w:ffData></w:fldChar></w:r><w:r><w:fldChar w:fldCharType="separate"/>'
            f'</w:r>{run("ok")}<w:r><w:fldChar w:fldCharType="end"/></w:r>',
            "ok",
        ),
        (
            control(run("☒"), '<w14:checkbox><w14:checked w14:val="1"/></w14:checkbox>')
            + run(" Load test"),
            "☒ Load test",
        ),
        (run("at ") + f"<w:ins {CHANGE}>{control(run('92 Nm'))}</w:ins>", "at 92 Nm"),
        (f"<w:moveTo {CHANGE}>{run('Lubricate it.')}</w:moveTo>", "Lubricate it."),
        (f'<w:bdo w:val="rtl">{run("reversed")}</w:bdo>', "reversed"),
        (
            "<w:r><w:ruby><w:rubyPr/><w:rt><w:r><w:t>かん</w:t></w:r></w:rt>"
            f"<w:rubyBase>{run('漢')}</w:rubyBase></w:ruby></w:r>{run('字')}",
            "漢字",
        ),
        (run("kept") + f"<w:del {CHANGE}>{run(' gone', tag='delText')}</w:del>", "kept"),
        (run("seen") + run(" 4711", "<w:rPr><w:vanish/></w:rPr>"), "seen"),
        (run("seen") + run(" 4711", '<w:rPr><w:vanish w:val="0"/></w:rPr>'), "seen 4711"),
        (run("seen") + run(" 4711", '<w:rPr><w:rStyle w:val="Unseen"/></w:rPr>'), "seen"),
        (run("noted <!-- by the template -->"), "noted"),
    ],
)
def test_a_paragraph_reads_as_word_shows_it(written, inner, shown):
    styles = (
        '<w:style w:type="character" w:styleId="Sign"><w:rPr><w:rFonts w:ascii="Symbol"/></w:rPr>'
        "</w:style>",
        '<w:style w:type="character" w:styleId="Greek"><w:basedOn w:val="Sign"/></w:style>',
        '<w:style w:type="character" w:styleId="Unseen"><w:rPr><w:vanish/></w:rPr></w:style>',
    )
    path = written(f"<w:p>{inner}</w:p>", styles=styles)

    assert texts(path) == [shown]


def test_a_table_reads_as_word_shows_it(written):
    gone = f"<w:trPr><w:del {CHANGE}/></w:trPr>"
    lost = f"<w:tc><w:p><w:del {CHANGE}>{run('oldpart', tag='delText')}</w:del></w:p></w:tc>"
    row = f"<w:tr>{cell('gasket')}{cell('0.7')}</w:tr>"
    path = written(
        f"<w:tbl><w:tblPr/><w:tblGrid><w:gridCol/><w:gridCol/></w:tblGrid>"
        f"<w:tr>{cell('part')}{cell('mass')}</w:tr>"
        f"<w:tr>{control(cell('spindle'))}{cell('3.3')}</w:tr>"
        f"{control(control(row))}"
        f"<w:tr>{gone}{lost}{lost}</w:tr>"
        f"<w:tr><w:trPr><w:hidden/></w:trPr>{cell('ghost')}{cell('9')}</w:tr>"
        f"<w:tr><w:trPr><w:ins {CHANGE}/></w:trPr><w:tc><w:p>{control(run('bolt'))}</w:p></w:tc>"
        f"<w:tc><w:p><w:ins {CHANGE}>{run('0.1')}</w:ins></w:p></w:tc></w:tr></w:tbl>"
    )
    [table] = texts(path)

    assert table.split("\n")[2:] == ["| spindle | 3.3 |", "| gasket | 0.7 |", "| bolt | 0.1 |"]
    assert "| ghost | 9 |" in texts(path, keep_hidden=True)[0]


def test_a_paragraph_whose_end_was_deleted_goes_on_in_the_next(written):
    end = f"<w:pPr><w:rPr><w:del {CHANGE}/></w:rPr></w:pPr>"

    assert texts(
        written(f"<w:p>{end}{run('The bolt ')}</w:p>", f"<w:p>{run('is tight.')}</w:p>")
    ) == ["The bolt is tight."]


def test_a_header_in_a_control_is_read(tmp_path):
    import docx
    from docx.oxml import parse_xml

    document = docx.Document()
    document.add_paragraph("The valve opens.")
    held = control(f"<w:p>{run('Specification 4711')}</w:p>").replace(">", f' xmlns:w="{W}">', 1)
    header = document.sections[0].header
    header._element.insert(0, parse_xml(held))
    header.is_linked_to_previous = False
    document.save(tmp_path / "file.docx")

    assert texts(tmp_path / "file.docx") == ["Specification 4711", "The valve opens."]


def with_diagram(path, part):
    """Give a part of a file a diagram of two boxes."""
    data = (
        f'<dgm:dataModel xmlns:dgm="{DIAGRAM}" xmlns:a="{DRAWING}"><dgm:ptLst>'
        + "".join(
            f"<dgm:pt><dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>"
            for text in ("Melt at 1600 °C", "Cast &amp; roll")
        )
        + "</dgm:ptLst></dgm:dataModel>"
    )
    folder, name = part.split("/")[0], part.rpartition("/")[2]
    rels = part.replace(name, f"_rels/{name}.rels")
    relation = (
        '<Relationship Id="rId99" Type="http://schemas.openxmlformats.org/officeDocument/2006/'
        f'relationships/diagramData" Target="/{folder}/diagrams/data1.xml"/></Relationships>'
    )
    with zipfile.ZipFile(path) as archive:
        members = {each: archive.read(each) for each in archive.namelist()}
    members[rels] = members[rels].replace(b"</Relationships>", relation.encode())
    members[f"{folder}/diagrams/data1.xml"] = data.encode()
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)


GRAPHIC = (
    f'<a:graphic xmlns:a="{DRAWING}"><a:graphicData uri="{DIAGRAM}"><dgm:relIds '
    f'xmlns:dgm="{DIAGRAM}" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/'
    'relationships" r:dm="rId99" r:lo="" r:qs="" r:cs=""/></a:graphicData></a:graphic>'
)


def test_the_words_of_a_diagram_in_a_word_file_follow_its_paragraph(written):
    drawing = f"<w:r><w:drawing>{GRAPHIC}</w:drawing></w:r>"
    path = written(f"<w:p>{run('The steps:')}{drawing}</w:p>", f"<w:p>{run('The end.')}</w:p>")
    with_diagram(path, "word/document.xml")

    assert texts(path) == ["The steps:", "Melt at 1600 °C", "Cast & roll", "The end."]


@pytest.fixture
def slides(tmp_path):
    """A presentation with a diagram, a sign, a hidden shape and a hidden slide."""
    import pptx
    from pptx.oxml import parse_xml

    made = pptx.Presentation()
    first, second = (made.slides.add_slide(made.slide_layouts[5]) for _ in range(2))
    first.shapes.title.text = "Open slide, \uf06d = 3"
    properties = first.shapes.title.text_frame.paragraphs[0].runs[0]._r.get_or_add_rPr()
    properties.append(parse_xml(f'<a:sym xmlns:a="{DRAWING}" typeface="Symbol"/>'))
    box = first.shapes.add_textbox(0, 0, 900_000, 900_000)
    box.text_frame.text = "unseen box"
    box._element.nvSpPr.cNvPr.set("hidden", "1")
    frame = first.shapes.add_table(1, 1, 90_000, 90_000, 900_000, 900_000)._element
    frame.replace(frame.graphic, parse_xml(GRAPHIC))
    second.shapes.title.text = "Discount 17 percent"
    second.notes_slide.notes_text_frame.text = "unseen notes"
    second._element.set("show", "0")
    made.slides.add_slide(made.slide_layouts[5]).shapes.title.text = "Last slide"
    made.save(tmp_path / "file.pptx")
    with_diagram(tmp_path / "file.pptx", "ppt/slides/slide1.xml")
    return tmp_path / "file.pptx"


def test_slides_read_as_they_are_presented(slides):
    elements = from_json(docling_office.parse(str(slides), None))

    shown = [(element.page, element.text) for element in elements]
    assert (1, "Open slide, μ = 3") in shown
    assert {text for page, text in shown if page != 1} == {"Last slide"}
    assert "Melt at 1600 °C" in " ".join(text for _, text in shown)
    assert "unseen" not in " ".join(text for _, text in shown)
    assert (3, "Last slide") in shown


def test_hidden_slides_shapes_and_notes_are_kept_on_request(slides):
    kept = " ".join(texts(slides, keep_hidden=True))

    assert all(words in kept for words in ("unseen box", "Discount 17 percent", "unseen notes"))


def test_what_is_hidden_is_counted(slides):
    shown = as_shown(str(slides), keep_hidden=False)

    assert shown.hidden_slides == ["ppt/slides/slide2.xml"]
    assert sorted(filter(None, shown.hidden)) == [
        "Discount 17 percent",
        "unseen box",
        "unseen notes",
    ]


def test_the_words_of_slides_are_those_that_are_presented(slides):
    words = shown_texts(str(slides), as_shown(str(slides), keep_hidden=False))

    assert sorted(filter(None, words)) == [
        "Cast & roll",
        "Last slide",
        "Melt at 1600 °C",
        "Open slide, μ = 3",
    ]


@pytest.mark.parametrize("ending", ["docx", "pptx"])
def test_a_file_that_names_a_part_that_is_not_there_is_read(tmp_path, ending):
    import docx
    import pptx
    from PIL import Image

    square = str(tmp_path / "square.png")
    Image.new("RGB", (8, 8)).save(square)
    document = docx.Document() if ending == "docx" else pptx.Presentation()
    if ending == "docx":
        document.add_paragraph("The pump runs.")
        document.add_picture(square)
    else:
        slide = document.slides.add_slide(document.slide_layouts[5])
        slide.shapes.title.text = "The pump runs."
        slide.shapes.add_picture(square, 0, 0)
    document.save(tmp_path / "whole")
    damaged = tmp_path / f"file.{ending}"
    with zipfile.ZipFile(tmp_path / "whole") as whole, zipfile.ZipFile(damaged, "w") as file:
        for name in whole.namelist():
            if "/media/" not in name:
                file.writestr(name, whole.read(name))
    assert "The pump runs." in texts(damaged)
