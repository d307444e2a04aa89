"""Elementwise functions: one record for each, from which every layer derives what it lists.

What is left beside the records is what is no name: lowerings, formulas, interpreters.
"""

from __future__ import annotations

from lamina.dialects.elementwise.function_table import ROWS
from lamina.dialects.elementwise.record import SPECIAL_OP, Cost, Elementwise

FUNCTIONS: dict[str, Elementwise] = {row.name: row for row in ROWS}
"""All functions by name."""

PRIMITIVES: dict[str, Elementwise] = {row.name: row for row in ROWS if row.prims}
"""Those that are primitives."""

SECOND_NAMES: dict[str, str] = {
    second: first for row in ROWS for second, first in row.second_names.items()
}
"""Overloads of `aten` that are others under a second name: `multiply.Tensor` to `mul.Tensor`."""


def spellings(name: str) -> tuple[str, ...]:
    """All overloads of `aten` that are one function: `("exp2.default", "special_exp2.default")`.

    Raises KeyError for a function that has no record.
    """
    row = FUNCTIONS[name]
    return (*row.overload_names, *row.second_names)


__all__ = [
    "FUNCTIONS",
    "PRIMITIVES",
    "ROWS",
    "SECOND_NAMES",
    "SPECIAL_OP",
    "Cost",
    "Elementwise",
    "spellings",
]
