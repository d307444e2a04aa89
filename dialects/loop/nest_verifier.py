"""Verifying the reads, writes and body of a `loop.generic`; each raises VerifyException."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.identity_cache import once_an_object
from lamina.dialects.loop.body_ops import YieldOp, element_type
from lamina.dialects.loop.index_maps import verify_cover, verify_map, verify_once
from lamina.dialects.loop.monoid import COMBINE

COMBINERS: tuple[str, ...] = ("store", "add", "mul", "max", "min", "and", "or", COMBINE)
"""How the values of a reduction are joined; `store` is no reduction. `max` and `min` keep NaN,
`combine` is what a combining region says."""

BITWISE = frozenset({"and", "or"})
"""Combiners of the bits of integers."""


def verify_reads(
    values: Sequence[SSAValue],
    maps: Sequence[AffineMap],
    pads: Sequence[Attribute | None],
    extents: tuple[int, ...],
) -> None:
    """Each read has a map into its tensor, and a pad of its type or none."""
    if not len(values) == len(maps) == len(pads):
        raise VerifyException("loop.generic: one map and one pad entry for each read")
    for number, (value, index_map, pad) in enumerate(zip(values, maps, pads, strict=True)):
        _verify_read(number, value.type, index_map, pad, extents)


@once_an_object
def _verify_read(
    number: int,
    kind: Attribute,
    index_map: AffineMap,
    pad: Attribute | None,
    extents: tuple[int, ...],
) -> None:
    verify_map(f"read {number}", kind, index_map, extents, padded=pad is not None)
    if pad is not None and not isinstance(pad, FloatAttr | IntegerAttr):
        raise VerifyException(f"loop.generic: pad of read {number} is not a number")
    if pad is not None and pad.type != element_type(kind):
        raise VerifyException(
            f"loop.generic: pad of read {number} is {pad}, the tensor holds {element_type(kind)}"
        )


def verify_writes(
    types: Sequence[Attribute],
    maps: Sequence[AffineMap],
    combiners: Sequence[str],
    extents: tuple[int, ...],
    *,
    covered: bool,
) -> None:
    """Each write has a map and a combiner; it stores once, and everywhere if it is `covered`."""
    if not len(types) == len(maps) == len(combiners):
        raise VerifyException("loop.generic: one map and one combiner for each write")
    writes = zip(types, maps, combiners, strict=True)
    for number, (written, index_map, combiner) in enumerate(writes):
        _verify_write(number, written, index_map, combiner, extents, covered)


@once_an_object
def _verify_write(
    number: int,
    written: Attribute,
    index_map: AffineMap,
    combiner: str,
    extents: tuple[int, ...],
    covered: bool,
) -> None:
    verify_map(f"write {number}", written, index_map, extents, padded=False)
    if combiner not in COMBINERS:
        raise VerifyException(
            f"loop.generic: unknown combiner '{combiner}'; one of {', '.join(COMBINERS)}"
        )
    if combiner in BITWISE and not isinstance(element_type(written), IntegerType):
        raise VerifyException(
            f"loop.generic: combiner '{combiner}' is for integers, not {element_type(written)}"
        )
    if covered:
        verify_cover(number, written, index_map, extents)
    verify_once(number, written, index_map, extents)
    missing = set(range(len(extents))) - index_map.used_dims()
    missing -= {d for d in missing if extents[d] == 1}
    if combiner == "store" and missing:
        raise VerifyException(
            f"loop.generic: write {number} stores but its map leaves out "
            f"{', '.join(f'd{d}' for d in sorted(missing))}; use a reducing combiner"
        )


def verify_block(block: Block, given: Sequence[Attribute], written: Sequence[Attribute]) -> None:
    """The body takes values of the types `given`, and yields elements of what is `written`."""
    actual = [a.type for a in block.args]
    if list(given) != actual:
        raise VerifyException(
            "loop.generic: body arguments must be the elements of the reads, then the sources: "
            f"expected ({', '.join(map(str, given))}), got ({', '.join(map(str, actual))})"
        )
    terminator = block.last_op
    if not isinstance(terminator, YieldOp):
        raise VerifyException("loop.generic: the body must end in loop.yield")
    wanted = [element_type(t) for t in written]
    yielded = [v.type for v in terminator.values]
    if wanted != yielded:
        raise VerifyException(
            f"loop.generic: yields ({', '.join(map(str, yielded))}) but writes elements of "
            f"({', '.join(map(str, wanted))})"
        )
