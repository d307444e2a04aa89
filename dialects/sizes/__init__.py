"""Sizes that are not known when a program is compiled: their names, ranges and arithmetic.

`#lamina.size` is the attribute by which a text says them; `Size` is what passes compute with.
`#lamina.formula` says how a size follows from numbers that arguments hold.
"""

from xdsl.ir import Dialect

from lamina.dialects.sizes.formula import Formula, FormulaAttr
from lamina.dialects.sizes.size import (
    Assumption,
    Extent,
    Range,
    Size,
    SizeName,
    UndecidedSizeError,
    assumptions,
    quotients,
    telling,
)
from lamina.dialects.sizes.size_attr import MOST_SIZE, SizeAttr, SizeText, size_text

Lamina = Dialect("lamina", [], [SizeAttr, FormulaAttr])

__all__ = [
    "MOST_SIZE",
    "Assumption",
    "Extent",
    "Formula",
    "FormulaAttr",
    "Lamina",
    "Range",
    "Size",
    "SizeAttr",
    "SizeName",
    "SizeText",
    "UndecidedSizeError",
    "assumptions",
    "quotients",
    "size_text",
    "telling",
]
