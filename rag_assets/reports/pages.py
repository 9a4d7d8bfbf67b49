"""HTML pages for people: one self-contained file, no script, no outside link, light and dark.

A page is a template that lies beside the module which fills it. All of them extend `page.html`,
which has the style, and are made of the macros in `parts.html`.
"""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

PACKAGE = Path(__file__).parents[1]
"""The package in which templates are looked for."""


def render(template: str, *, title: str, **values: object) -> str:
    """The page made from a template; all `values` but those marked as safe there are escaped.

    Args:
        template: The path of the template below the package.
        title: Title of the page, and its heading.
        values: What the template names; one that is missing is an error.
    """
    return environment().get_template(template).render(title=title, **values)


@cache
def environment() -> "Environment":
    """How templates are found and filled: whatever is put into one is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
