"""What entries say of their arguments in numbers that calls bring: how far they are touched, what
of them counts, and how they lie in memory."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, MemRefType, TensorType, i64
from xdsl.ir import Attribute

from lamina.passes.contracts.declared import Declared, text_of

LIMITS = "lamina.limits"
"""Attribute of an input or output in memory: for each dimension the argument below whose number all
indices are that the program touches, or -1. See `limit-arguments`."""

TOUCHED = "lamina.touched"
"""Attribute of an input in memory that has `lamina.limits`: for each dimension how many positions
the program may touch, whatever the size is; calls that have fewer of them pad it."""

COUNTS = "lamina.counts"
"""Attribute of an argument or result: for each dimension the name of the input, a number of i64,
that says how much of it counts, or "" where all of it does or nothing is known."""

LEAST = "lamina.least"
"""Attribute of an input that is a size: the least that calls bring, if that is not 0 or 1."""

EXTENTS = "lamina.extents"
"""Attribute of an argument in memory, of an entry or a kernel: for each dimension the argument that
is its extent in memory, which is row-major over these, or -1 where the type's is. See
`compact-arguments`."""


def verify_least(declared: Declared, least: Attribute) -> None:
    """Of a number of i64, of kind input."""
    kind = declared.type
    if (
        not isinstance(kind, TensorType | MemRefType)
        or kind.get_shape()
        or kind.element_type != i64
    ):
        raise declared.refuse(f"{LEAST} is of a size, a number of i64, not of {kind}")
    if not isinstance(least, IntegerAttr) or least.type != i64 or least.value.data < 0:
        raise declared.refuse(f"{LEAST} is an i64 from 0 on, not {least}")


def verify_counts(declared: Declared, arguments: Sequence[Declared]) -> None:
    """What counts of a dimension is told by inputs that are numbers."""
    given, counts = declared.type, declared.entries[COUNTS]
    rank = len(given.get_shape()) if isinstance(given, TensorType | MemRefType) else -1
    names = [text_of(entry) for entry in counts] if isinstance(counts, ArrayAttr) else []
    sizes = [one.name for one in arguments if one.kind == "input" and _is_number(one.type)]
    if len(names) != rank or not all(name == "" or name in sizes for name in names):
        raise declared.refuse(
            f"{COUNTS} has {rank} names of inputs that are sizes ({', '.join(sizes) or 'none'} "
            f'here), or "": not {counts}'
        )


def _is_number(kind: Attribute) -> bool:
    return kind in (TensorType(i64, []), MemRefType(i64, []))


def verify_numbers(declared: Declared, arguments: Sequence[Declared], key: str) -> None:
    """Where accesses to an argument end, and how it lies in memory, follows from numbers that calls
    bring; for a result also from those that the program computes in front of it."""
    given, limits = declared.type, declared.entries[key]
    if not isinstance(given, MemRefType) or declared.kind not in ("input", "output"):
        raise declared.refuse(f"{key} is for inputs and outputs in memory")
    kinds = ("input", "size") if declared.kind == "output" else ("input",)
    sizes = [
        one.number
        for one in arguments
        if one.kind in kinds and one.type == MemRefType(i64, []) and one is not declared
    ]
    found = (
        [entry.value.data for entry in limits if isinstance(entry, IntegerAttr)]
        if (isinstance(limits, ArrayAttr))
        else []
    )
    rank = len(given.get_shape())
    if len(found) != rank or not all(number in (-1, *sizes) for number in found):
        raise declared.refuse(
            f"{key} has {rank} numbers of arguments that are sizes, memref<i64> of kind "
            f"{' or '.join(kinds)} ({', '.join(map(str, sizes)) or 'none'} here), or -1: "
            f"not {limits}"
        )


def verify_touched(declared: Declared, touched: Attribute) -> None:
    """Of an input that calls pass as it is: positions from 1 on, which its type has."""
    given = declared.type
    shape = given.get_shape() if isinstance(given, MemRefType) else ()
    numbers = (
        [n.value.data for n in touched if isinstance(n, IntegerAttr)]
        if (isinstance(touched, ArrayAttr))
        else []
    )
    within = len(numbers) == len(shape) and all(
        1 <= n <= max(extent, 1) for n, extent in zip(numbers, shape, strict=True)
    )
    if declared.kind != "input" or LIMITS not in declared.entries or not within:
        raise declared.refuse(
            f"{TOUCHED} is for inputs with {LIMITS}, and has {len(shape)} numbers of positions, "
            f"from 1 to those of the type: not {touched}"
        )
