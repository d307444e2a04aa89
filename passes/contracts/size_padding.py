"""`lamina.padding`: what one version of a program does with each open size of its arguments.

A dictionary of a function, by the names of sizes that `lamina.dims` of its arguments define.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.dialects.func import FuncOp

from lamina.passes.contracts.argument_sizes import stated_of_sizes
from lamina.passes.refusal import invalid

PADDING = "lamina.padding"
"""Attribute of a function: for some of its sizes, one of `WAYS`."""

ROWS = "rows"
"""Padded, and nothing that is computed asks for the size: it tells where loops and results end."""

MASKED = "masked"
"""Padded, and ops along the dimension leave the padding out by a mask."""

EXACT = "exact"
"""Not padded: a version is for one number."""

WAYS = (ROWS, MASKED, EXACT)


def padding_of(function: FuncOp) -> dict[str, str]:
    """The ways of padding that a function states. Raises InputError for others than there are."""
    found: dict[str, str] = {}
    for size, way in stated_of_sizes(function, PADDING):
        if not isinstance(way, StringAttr) or way.data not in WAYS:
            raise invalid(function, f"{PADDING}: '{size.text}' is {way}, one of {', '.join(WAYS)}")
        found[size.text] = way.data
    return found


def set_padding(function: FuncOp, ways: Mapping[str, str]) -> None:
    """States the way of each size; none of them leaves no attribute."""
    function.attributes.pop(PADDING, None)
    if ways:
        function.attributes[PADDING] = DictionaryAttr({n: StringAttr(w) for n, w in ways.items()})
