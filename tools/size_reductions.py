"""Smaller programs: one whose tensors have fewer elements, all of one size alike.

An extent stands in many places of a text: in types, in lists of sizes, in domains of nests. What
follows from one another is for the verifier to say: each function gives what can be parsed, and a
program whose parts do not fit any more is left out by whoever verifies it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, combinations

from xdsl.dialects.builtin import ModuleOp

from lamina.dialects.context import Context
from lamina.dialects.errors import LaminaError
from lamina.dialects.source import parse_module

_SHAPED = re.compile(r"\b(?P<kind>tensor|memref|vector)<(?P<dims>(?:\d+x)+)")
"""A type with its extents."""
_LISTS = (
    re.compile(r"\[(?P<numbers>\d+(?:, \d+)*)\]"),
    re.compile(r"(?<=\bin )\[(?P<numbers>\d+(?:, \d+)*)\]"),
)
"""Lists of numbers, be they sizes or not, and the domains of nests among them."""

_NUMBER = re.compile(r"\d+")


def with_smaller_sizes(module: ModuleOp) -> Iterator[ModuleOp]:
    """Each with one extent, or two, halved wherever they stand, the largest first.

    Two are for what is another's part (512 and 64 where a dimension is split). Odd ones round down.
    Each is tried with all lists of numbers, with domains of nests only, and in types alone.
    """
    text = str(module)
    shapes = [match["dims"] for match in _SHAPED.finditer(text)]
    found = {int(number) for shape in shapes for number in _NUMBER.findall(shape)} - {0, 1}
    extents = sorted(found, reverse=True)
    tried = {text}
    for chosen in chain(combinations(extents, 1), combinations(extents, 2)):
        for lists in (*_LISTS, None):
            smaller = _rewritten(text, chosen, lists)
            if smaller in tried:
                continue
            tried.add(smaller)
            try:
                yield parse_module(Context(), smaller)
            except LaminaError:
                continue


def _rewritten(text: str, halved: Sequence[int], lists: re.Pattern[str] | None) -> str:
    def numbers(part: str) -> str:
        return _NUMBER.sub(lambda m: str(int(m[0]) // (2 if int(m[0]) in halved else 1)), part)

    made = _SHAPED.sub(lambda match: f"{match['kind']}<{numbers(match['dims'])}", text)
    if lists is not None:
        made = lists.sub(lambda match: f"[{numbers(match['numbers'])}]", made)
    return made
