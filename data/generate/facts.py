"""Numbers that documents and tables share, so that both tell the same story."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FatigueSeries:
    """One S-N curve: `strength_mpa` is the amplitude at two million cycles, median."""

    grade: str
    surface: str
    stress_ratio: float
    strength_mpa: float
    slope: float
    environment: str = "air"
    tests: int = 16
    label: str = ""

    def cycles(self, amplitude_mpa: float) -> float:
        """Median life at an amplitude (Basquin)."""
        return 2.0e6 * (amplitude_mpa / self.strength_mpa) ** -self.slope


FATIGUE_SERIES = (
    FatigueSeries("S700MC", "machined", -1.0, 332, 11.5, label="A"),
    FatigueSeries("S700MC", "laser cut", -1.0, 251, 8.1, label="B"),
    FatigueSeries("S700MC", "sheared", -1.0, 198, 6.4, label="C"),
    FatigueSeries("S700MC", "punched hole", -1.0, 151, 5.3, label="D"),
    FatigueSeries("S700MC", "laser cut", 0.1, 206, 8.0, label="E"),
    FatigueSeries("S700MC", "butt weld", 0.1, 64, 3.2, label="F"),
    FatigueSeries("S700MC", "butt weld, TIG dressed", 0.1, 88, 3.9, label="G"),
    FatigueSeries("S700MC", "sheared", -1.0, 142, 5.1, "pre-corroded 8 wk"),
    FatigueSeries("S355MC", "machined", -1.0, 214, 12.0),
    FatigueSeries("S355MC", "sheared", -1.0, 158, 7.2),
    FatigueSeries("S500MC", "machined", -1.0, 262, 11.8),
    FatigueSeries("S500MC", "laser cut", -1.0, 214, 8.6),
    FatigueSeries("S650MC", "sheared", -1.0, 190, 6.5),
    FatigueSeries("42CrMo4", "ground", -1.0, 455, 13.0),
    FatigueSeries("42CrMo4", "ground", -1.0, 188, 5.0, "3.5 % NaCl drip"),
    FatigueSeries("C45", "ground", -1.0, 292, 12.4),
)
"""The series with a label are those of report TR-2024-017."""


@dataclass(frozen=True)
class FastenerResult:
    """One line of report TR-2024-031: salt spray and friction of a coated M12 screw."""

    system: str
    supplier: str
    red_rust_h: int
    white_rust_h: int
    friction: float
    friction_spread: float
    limit_h: int

    @property
    def passed(self) -> bool:
        """Whether salt spray and friction meet NHS 3120."""
        low, high = (
            self.friction - 2 * self.friction_spread,
            self.friction + 2 * self.friction_spread,
        )
        return self.red_rust_h >= self.limit_h and low >= 0.09 and high <= 0.14


FASTENER_RESULTS = (
    FastenerResult("F720", "Hexalon", 1080, 312, 0.118, 0.006, 720),
    FastenerResult("F720", "Galvotek", 792, 240, 0.124, 0.011, 720),
    FastenerResult("F1000L", "Hexalon", 1512, 480, 0.112, 0.005, 1000),
    FastenerResult("F1000L", "Lamellis", 936, 288, 0.109, 0.006, 1000),
    FastenerResult("ZN480", "Galvotek", 624, 168, 0.121, 0.008, 480),
    FastenerResult("ZN720L", "Plattera", 744, 216, 0.115, 0.007, 720),
)


@dataclass(frozen=True)
class Supplier:
    """A supplier; `short` is the name that the other tables use."""

    short: str
    name: str
    country: str
    town: str
    category: str


SUPPLIERS = (
    Supplier("Fjällstål", "Fjällstål Plåt AB", "SE", "Luleå", "hot-rolled steel"),
    Supplier("Östersjö Coil", "Östersjö Coil AB", "SE", "Oxelösund", "coated sheet"),
    Supplier("Gjutvik", "Gjutvik Gjuteri AB", "SE", "Gjutvik", "iron castings"),
    Supplier("Repolyn", "Repolyn Oy", "FI", "Lahti", "recycled polymers"),
    Supplier("Hexalon", "Hexalon Oberflächen GmbH", "DE", "Hagen", "fastener coating"),
    Supplier("Galvotek", "Galvotek sp. z o.o.", "PL", "Gliwice", "fastener coating"),
    Supplier("Lamellis", "Lamellis S.r.l.", "IT", "Lecco", "fastener coating"),
    Supplier("Plattera", "Plattera AB", "SE", "Gnosjö", "electroplating"),
    Supplier("Weserband", "Weserband Stahl GmbH", "DE", "Nienburg", "hot-rolled steel"),
    Supplier("Baltrol", "Baltrol S.A.", "PL", "Szczecin", "hot-rolled steel"),
    Supplier("Kymistål", "Kymistål Oy", "FI", "Kotka", "coated sheet"),
    Supplier("Älvbruk", "Älvbruks Specialstål AB", "SE", "Hagfors", "steel bar"),
    Supplier("Toledar", "Aceros Toledar S.L.", "ES", "Bilbao", "steel bar"),
    Supplier("Inoxane", "Inoxane S.A.S.", "FR", "Firminy", "stainless steel"),
    Supplier("Tundra Polymer", "Tundra Polymer AS", "NO", "Porsgrunn", "engineering polymers"),
    Supplier("Rhenoplast", "Rhenoplast AG", "DE", "Krefeld", "engineering polymers"),
    Supplier("Polibrac", "Polibrac Lda", "PT", "Braga", "engineering polymers"),
    Supplier("Kautsera", "Kautsera sp. z o.o.", "PL", "Łódź", "elastomers"),
    Supplier("Gummivarpa", "Gummivarpa AB", "SE", "Värnamo", "elastomers"),
    Supplier("Bultverken", "Bultverken i Hallsta AB", "SE", "Hallstahammar", "fasteners"),
    Supplier("Lackrona", "Lackrona Färg AB", "SE", "Malmö", "paint"),
    Supplier("Epoxima", "Epoxima B.V.", "NL", "Tilburg", "paint"),
    Supplier("Alsmelt", "Alsmelt AS", "NO", "Årdal", "aluminium"),
    Supplier("Ferrovia", "Fonderia Ferrovia S.p.A.", "IT", "Brescia", "iron castings"),
    Supplier("Zinkla", "Zinkla Oy", "FI", "Pori", "hot-dip galvanising"),
)
