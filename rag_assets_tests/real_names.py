"""Names as people and programs give them to tables, columns and files."""

WORDS = """
Test Results|Prüfergebnisse|mått|Größe|grosse|Stück je Lage|Kunden & Lieferanten|Übersicht 2024
Messwerte (neu)|Liste - Kopie|Q1/Q2|50% Anteil|Preis €|#1|@home|a.b.c|v1.2.3|data-2024-05-01
Résumé|Données d'essai|naïve|cañón|São Paulo|Coração|Łódź|żółw|čeština|Đakovo|þing|Øresund|Ærø
İstanbul|\u0131s\u0131|Σίσυφος|ΑΒΓ|Москва|данные испытаний|Українські дані|Ђорђе
עברית|נתוני בדיקה|العربية
نتائج الاختبار|فارسی|हिन्दी|परीक्षण परिणाम|বাংলা|தமிழ்|ไทย|ผลการทดสอบ|ລາວ|မြန်မာ|ខ្មែរ
ქართული|Հայերեն|አማርኛ|中文|测试结果|測試結果|日本語|試験結果|テスト|ﾃｽﾄ|한국어|시험 결과|Tiếng Việt
😀|🚀 launch|👩‍🔬 lab|🇸🇪|data 📈|e\u0301te\u0301|\u212bngström|ﬁligree|Ⅻ|①|½ Zoll|x²|H₂O
it's|O'Brien|"quoted"|say "hi"|back`tick|[brackets]|a]b|{braces}|(parens)|<tags>|a&b|semi;colon
a,b|a|b=c|a+b|a~b|a^b|a$b|a!b|what?|star*|comma, space| leading|trailing |two  blanks
under_score|__double|_leading|trailing_|UPPER|MixedCase|camelCase|kebab-case|dot.ted|1st|2024
007|1e5|0x1F|-1|3.14|true|false|null|None|NaN|inf|yes|no|on|off
select|from|where|table|order|group|user|index|values|key|primary|check|default|column|limit
union|join|case|end|desc|natural|cast|all|analyze|begin|commit|drop|references|window|row|rows
id|rowid|oid|ctid|hash|content|copy|place|high|low|fresh|held|source|title|text|unit_id|fingerprint
con|nul|aux|index.html|README|.hidden|a..b|...|~tmp|-rf|--drop|a--b|/* c */|%s|%%|%(x)s|:name
$1|${HOME}|{{ jinja }}|<script>alert(1)</script>|'; DROP TABLE t; --|" OR ""="|\\|C:\\temp|a\\b
tab\there|exports__s|a__b|Test_Results_f3a36f563f8c|c0|c1|t0|_dlt_id|_dlt_load_id|row_number|ELSE|nullif
CamelÄÖÜ|ß|ẞ|\u017f|K|Å|ẞtraße|İ|ǅ|ŉ|\u200bzero width|non\u00a0breaking|soft\u00adhyphen
\u202eright to left|bom\ufeff
"""
LONG = ("x" * 200, "langer Name " * 16 + "mit 200.", "ä" * 200, "数" * 200, "😀" * 200, "'" * 200)

NAMES = tuple(
    dict.fromkeys(name for line in WORDS.splitlines() for name in line.split("|") if name)
)
"""Short ones: every database takes them."""

TELLING = (
    *(
        "Test Results",
        "Q1/Q2",
        "e\u0301te\u0301",
        "50% Anteil",
        "it's",
        'say "hi"',
        "rowid",
        "ctid",
    ),
    *("back`tick", "%(x)s", "[brackets]", ":name", "star*", "select", "a\\b", "semi;colon"),
    *("MixedCase", "İstanbul", "__double", "👩‍🔬 lab", "a.b.c", "trailing ", "hash", "content"),
    *("العربية", "K", "007", "null", ".hidden", "tab\there", "exports__s", "_dlt_id"),
    *("fingerprint", "...", "<tags>", "'; DROP TABLE t; --"),
)
"""Of each kind a few, for every day; the night takes all. SQLite gets each second one."""
