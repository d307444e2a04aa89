"""Quick reading and making of an op's operand segments, integers and arrays of them.

xDSL decodes arrays anew at each access, which was a tenth of the time that passes take, and makes
them number by number. Attributes are immutable: equal ones are one object here.
"""

import struct
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from lamina.dialects.identity_cache import MOST, once_an_object

SEGMENTS = "operandSegmentSizes"
"""The property of an op that says how many operands each of its groups has."""

_UNIT = UnitAttr()


def _decoded(data: bytes, letter: str, width: int) -> tuple[int, ...]:
    return struct.unpack(f"<{len(data) // width}{letter}", data)


class _Integers64(dict[bytes, tuple[int, ...]]):
    """The numbers of arrays of i64, by the bytes that hold them."""

    def __missing__(self, data: bytes) -> tuple[int, ...]:
        if len(self) >= MOST:
            self.clear()
        found = self[data] = _decoded(data, "q", 8)
        return found


_integers64 = _Integers64()


def integers64(array: Any) -> tuple[int, ...]:
    """The numbers of an array of i64."""
    return _integers64[array.data.data]


def integers64_property(name: str) -> property:
    """A property with the numbers of an op's property that is an array of i64."""

    def numbers(self: Operation) -> tuple[int, ...]:
        array: Any = self.properties[name]
        return _integers64[array.data.data]

    return property(numbers)


@lru_cache(maxsize=4096)
def integer64(number: int) -> IntegerAttr[IntegerType]:
    """An i64."""
    return IntegerAttr(number, i64)


@lru_cache(maxsize=4096)
def array64(*numbers: int) -> DenseArrayBase:
    """An array of i64."""
    return DenseArrayBase.from_list(i64, numbers)


@lru_cache(maxsize=4096)
def segment_sizes(*sizes: int) -> DenseArrayBase:
    """The `operandSegmentSizes` of an op."""
    return DenseArrayBase.from_list(i32, sizes)


@lru_cache(maxsize=1024)
def words(*texts: str) -> ArrayAttr[StringAttr]:
    """An array of strings."""
    return ArrayAttr([StringAttr(text) for text in texts])


@once_an_object
@lru_cache(maxsize=4096)
def index_maps(*maps: AffineMap) -> ArrayAttr[AffineMapAttr]:
    """An array of index maps."""
    return ArrayAttr([AffineMapAttr(index_map) for index_map in maps])


@once_an_object
def pad_values_of(array: Any) -> tuple[Attribute | None, ...]:
    """The pads of reads in an array, None where a read has none."""
    return tuple([None if type(pad) is UnitAttr else pad for pad in array.data])


@once_an_object
def maps_of(array: Any) -> tuple[AffineMap, ...]:
    """The maps in an array of index maps."""
    return tuple([index_map.data for index_map in array.data])


@once_an_object
def words_of(array: Any) -> tuple[str, ...]:
    """The strings in an array."""
    return tuple([text.data for text in array.data])


@once_an_object
def walked_dims(index_map: AffineMap) -> tuple[tuple[int, ...], ...]:
    """For each result of a map, the dimensions that it uses, in their order."""
    return tuple([tuple(sorted(expr.used_dims())) for expr in index_map.results])


@once_an_object
def used_dims_of(array: Any) -> tuple[frozenset[int], ...]:
    """The dimensions that each of the maps in an array uses."""
    return tuple([frozenset(index_map.used_dims()) for index_map in maps_of(array)])


@once_an_object
def left_out_by(array: Any) -> tuple[int, ...]:
    """The dimensions that at least one of the maps in an array does not use."""
    dims = max((index_map.num_dims for index_map in maps_of(array)), default=0)
    return tuple([d for d in range(dims) if any(d not in used for used in used_dims_of(array))])


@lru_cache(maxsize=256)
def _no_pads(count: int) -> ArrayAttr[Attribute]:
    return ArrayAttr([_UNIT] * count)


def pads_of(values: Sequence[Attribute | None]) -> ArrayAttr[Attribute]:
    """An array of the pads of reads; unit stands where a read has none."""
    if not [value for value in values if value is not None]:
        return _no_pads(len(values))
    return ArrayAttr([_UNIT if value is None else value for value in values])


class _Bounds(dict[bytes, tuple[slice, ...]]):
    """Where each segment stands among the operands, by what `operandSegmentSizes` holds."""

    def __missing__(self, sizes: bytes) -> tuple[slice, ...]:
        if len(self) >= MOST:
            self.clear()
        ends = [*accumulate(_decoded(sizes, "i", 4), initial=0)]
        found = self[sizes] = tuple([slice(start, end) for start, end in pairwise(ends)])
        return found


_bounds = _Bounds()


def segment(index: int) -> property:
    """A property with the operands of one segment of an op that has `operandSegmentSizes`."""
    take = tuple.__getitem__  # passes ask for nothing more often

    def operands(self: Operation) -> tuple[SSAValue, ...]:
        sizes: Any = self.properties[SEGMENTS]
        return take(self._operands, _bounds[sizes.data.data][index])

    return property(operands)


def set_last_segment(op: Operation, values: Sequence[SSAValue]) -> None:
    """Put these in the place of the last of an op's operand segments."""
    counts = _decoded(op.properties[SEGMENTS].data.data, "i", 4)  # pyright: ignore
    op.operands = [*op.operands[: sum(counts[:-1])], *values]
    op.properties[SEGMENTS] = segment_sizes(*counts[:-1], len(values))
