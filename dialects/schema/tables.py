"""The tables of overloads as text: which lines there are, and the schema that each is.

What follows from an op's name alone is asked here: no op class has to be made for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from lamina.dialects.elementwise import SECOND_NAMES
from lamina.dialects.schema.grammar import Schema, parse_schema


def table_rows(text: str, *, default_suffix: bool) -> dict[str, str]:
    """Index a table: overload name to line. Lines are a schema, a tab, and comma-separated tags."""
    rows: dict[str, str] = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        name = _name_of(line)
        rows[name if "." in name or not default_suffix else f"{name}.default"] = line
    return rows


def _name_of(line: str) -> str:
    return line[line.index("::") + 2 : line.index("(")]


@cache
def schema_of(row: str) -> Schema:
    """The schema of a line of a table.

    Second names of elementwise functions are tagged as pointwise, which torch leaves out.
    """
    text, _, given = row.partition("\t")
    tags = frozenset(given.split(",")) if given else frozenset[str]()
    name = _name_of(row)
    if row.startswith("aten::") and {name, f"{name}.default"} & SECOND_NAMES.keys():
        tags |= {"pointwise"}
    return parse_schema(text, tags)


@cache
def aten_rows() -> Mapping[str, str]:
    """Every overload that torch registers: `add.Tensor` to its line."""
    text = (Path(__file__).parents[1] / "aten" / "schemas.tsv").read_text()
    return table_rows(text, default_suffix=True)
