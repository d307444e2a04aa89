"""Which dimension of a kernel its nests can walk together, one block of positions after another.

In attention, that is the one of the keys: scores, their maximum, exponentials, sums and the second
product of a block are made before the next block is looked at, so that no row is kept whole. What
is reduced along the dimension is joined from block to block. Most reductions are joined as they
are; sums of weights exp(x - m) less a maximum m that may still rise are scaled by exp(old - new):
an online softmax. Together these are one monoid, of the maximum and all the sums of a row.

Nests that need a sum before it is whole, such as weights that are divided by it, stand in the way
(see `sink-row-factors`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float32Type, Float64Type, FloatAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from lamina.dialects.loop.access import forms_of
from lamina.dialects.loop.body_ops import IndexOp, ReadOp, element_type
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.kernel_nests import rows_of
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.pairs import has_pieces
from lamina.dialects.loop.same_values import is_reduced_by, is_same_along
from lamina.dialects.records import record

Join = Literal["combine", "raise", "rescale"]
"""How a reduction goes on with the next block: by its combiner, as the maximum of weights, or
scaled when that rises."""


@record
class Streamed:
    """The nests that walk the dimension together, in three groups: before, along and after it."""

    dims: Mapping[GenericOp, int]
    """For each nest along the dimension, which of its own that is."""
    joins: Mapping[GenericOp, Join]
    """For each of them that reduces it: how blocks are joined."""
    after: frozenset[GenericOp]
    """Nests that need what is reduced; the others come before."""


def streamed_dim(nests: Sequence[GenericOp]) -> Streamed | None:
    """The dimension over which a product of a kernel sums what the kernel makes, if all nests along
    it can be walked block by block; None if there is none, or more than one."""
    made = {value: nest for nest in nests for value in _written(nest)}
    if len(made) != sum(len(_written(nest)) for nest in nests):
        return None
    starts: list[tuple[GenericOp, int]] = []
    for nest in nests:
        shape = Contraction.of(nest)
        if shape is not None and nest.inputs[shape.a] in made:
            wide = [d for d in shape.summed if nest.extents[d] != 1]
            starts += [(nest, wide[0])] if len(wide) == 1 and has_pieces(shape) else []
    found = None if len(starts) != 1 else _along(starts[0], nests, made)
    return None if found is None else _checked(found, nests, made)


def _written(nest: GenericOp) -> tuple[SSAValue, ...]:
    return tuple(nest.outs) or tuple(nest.res)


def _along(
    start: tuple[GenericOp, int],
    nests: Sequence[GenericOp],
    made: Mapping[SSAValue, GenericOp],
) -> dict[GenericOp, int] | None:
    """All nests that walk the dimension, as they hand each other what they keep along it."""
    dims: dict[GenericOp, int] = {}
    waiting = [start]
    while waiting:
        nest, dim = waiting.pop()
        if nest in dims:
            if dims[nest] != dim:
                return None
            continue
        dims[nest] = dim
        for number, value in enumerate(nest.inputs):
            if value in made and dim in nest.read_maps[number].used_dims():
                other = _same_dim(nest, number, dim, made[value], value)
                if other is None:
                    return None
                waiting.append((made[value], other))
        for value, index_map in zip(_written(nest), nest.write_maps, strict=True):
            if dim not in index_map.used_dims():
                continue
            users = {use.operation for use in value.uses} - {nest}
            if not users <= set(nests) or not isinstance(value.owner, Operation):
                return None
            for reader in users:
                assert isinstance(reader, GenericOp)
                places = [n for n, v in enumerate(reader.inputs) if v is value]
                found = {_reader_dim(reader, n, nest, dim, value) for n in places}
                if len(found) != 1 or value in reader.sources or None in found:
                    return None
                waiting += [(reader, d) for d in found if d is not None]
    return dims


def _axis_of(nest: GenericOp, value: SSAValue, dim: int) -> int | None:
    """The axis of a result that a dimension alone walks, position by position."""
    index_map = nest.write_maps[_written(nest).index(value)]
    return _pure_axis(forms_of(index_map, nest.extents), dim)


def _pure_axis(forms: Sequence[Linear] | None, dim: int) -> int | None:
    axes = [a for a, form in enumerate(forms or ()) if form.coefficient(dim)]
    pure = len(axes) == 1 and forms is not None and forms[axes[0]] == Linear.dim(dim)
    return axes[0] if pure else None


def _same_dim(
    reader: GenericOp, number: int, dim: int, writer: GenericOp, value: SSAValue
) -> int | None:
    """The writer's dimension along which it makes what the reader reads along `dim`."""
    if reader.pad_values[number] is not None:
        return None
    axis = _pure_axis(forms_of(reader.read_maps[number], reader.extents), dim)
    inner = [d for d in range(len(writer.extents)) if d not in rows_of(writer)]
    found = [d for d in inner if axis is not None and _axis_of(writer, value, d) == axis]
    return found[0] if len(found) == 1 else None


def _reader_dim(
    reader: GenericOp, number: int, writer: GenericOp, dim: int, value: SSAValue
) -> int | None:
    """The reader's dimension along which it reads what the writer makes along `dim`."""
    axis = _axis_of(writer, value, dim)
    if axis is None or reader.pad_values[number] is not None:
        return None
    forms = forms_of(reader.read_maps[number], reader.extents)
    inner = [d for d in range(len(reader.extents)) if d not in rows_of(reader)]
    found = [d for d in inner if _pure_axis(forms, d) == axis]
    return found[0] if len(found) == 1 else None


def _checked(
    dims: Mapping[GenericOp, int],
    nests: Sequence[GenericOp],
    made: Mapping[SSAValue, GenericOp],
) -> Streamed | None:
    """The nests along the dimension, if none needs a sum before it is whole."""
    after: set[GenericOp] = set()
    degrees = _Degrees(dims, made)
    reduced: dict[GenericOp, int] = {}
    for nest in nests:
        needs = {made[v] for v in (*nest.inputs, *nest.sources) if v in made}
        if nest not in dims:
            if needs & after or any(n in reduced for n in needs):
                after.add(nest)
            continue
        degree = degrees.of(nest)
        if degree is None or needs & after or nest.sources:
            return None
        if dims[nest] in nest.reduction_dims:
            reduced[nest] = degree
    joins: dict[GenericOp, Join] = {}
    for nest, degree in reduced.items():
        join = degrees.join(nest, degree)
        if join is not None:
            joins[nest] = join
    if len(joins) != len(reduced) or len({n.extents[d] for n, d in dims.items()}) != 1:
        return None
    return Streamed(dict(dims), joins, frozenset(after))


class _Degrees:
    """By which power of exp(-m) nests along the dimension scale: 0 or 1; None for others."""

    def __init__(self, dims: Mapping[GenericOp, int], made: Mapping[SSAValue, GenericOp]) -> None:
        self.dims = dims
        self.made = made
        self.kept: dict[SSAValue, int] = {}
        self.top: GenericOp | None = None

    def of(self, nest: GenericOp) -> int | None:
        """Of all results of a nest; those that it keeps along the dimension are noted."""
        dim = self.dims[nest]
        values: dict[SSAValue, int | None] = {}
        for number, value in enumerate(nest.inputs):
            writer = self.made.get(value)
            is_total = writer in self.dims and dim not in nest.read_maps[number].used_dims()
            known = None if is_total else self.kept.get(value, 0)
            values[nest.block.args[number]] = known
        for op in nest.block.ops:
            if isinstance(op, ReadOp):
                return None
            for result in op.results:
                values[result] = self._degree(nest, op, values)
        found = {values[v] for v in nest.yielded}
        if len(found) != 1:
            return None
        (degree,) = found
        if degree is not None and dim not in nest.reduction_dims:
            self.kept |= dict.fromkeys(_written(nest), degree)
        return degree

    def join(self, nest: GenericOp, degree: int) -> Join | None:
        """How what a nest reduces is joined from block to block."""
        if nest.monoids:
            return None
        shape = Contraction.of(nest)
        if shape is None:
            rest = {d for d in range(len(nest.extents)) if nest.extents[d] != 1}
            if rest - {self.dims[nest], *rows_of(nest)}:
                return None
        elif self.dims[nest] not in shape.summed:
            return None
        if degree:
            return "rescale" if set(nest.combiner_names) == {"add"} else None
        return "raise" if nest is self.top else "combine"

    def _degree(
        self, nest: GenericOp, op: Operation, values: Mapping[SSAValue, int | None]
    ) -> int | None:
        known = [values[o] for o in op.operands]
        match op:
            case math.ExpOp() if self._is_below_top(nest, op.operand):
                return 1
            case arith.MulfOp() if None not in known and sorted(known) == [0, 1]:  # pyright: ignore
                return 1
            case arith.DivfOp() if known == [1, 0]:
                return 1
            case arith.ExtFOp() | arith.TruncFOp():
                return known[0]
            case arith.SelectOp() if known[0] == 0 and 1 in known:
                others = [o for o, d in zip(op.operands[1:], known[1:], strict=True) if d != 1]
                return 1 if all(map(is_zero, others)) else None
            case IndexOp():
                return 0
            case _:
                return 0 if all(k == 0 for k in known) else None

    def _is_below_top(self, nest: GenericOp, value: SSAValue) -> bool:
        """Whether a value is x - m, with m the maximum of x along the dimension."""
        less = value.owner
        if not isinstance(less, arith.SubfOp) or not isinstance(less.rhs, BlockArgument):
            return False
        if less.rhs.index >= len(nest.inputs) or not is_same_along(nest, less.rhs, self.dims[nest]):
            return False
        largest = self.made.get(nest.inputs[less.rhs.index])
        if largest is None or largest not in self.dims or largest.combiner_names != ("max",):
            return False
        if not isinstance(element_type(largest.written_types[0]), Float32Type | Float64Type):
            return False
        if not is_reduced_by(nest, less.lhs, largest, 0, self.dims[largest]):
            return False
        if self.top not in (None, largest):
            return False
        self.top = largest
        return True


def is_zero(value: SSAValue) -> bool:
    """Whether a value of a body is the constant 0."""
    if not isinstance(value.owner, arith.ConstantOp):
        return False
    number = value.owner.value
    return isinstance(number, FloatAttr) and number.value.data == 0


__all__ = ["Join", "Streamed", "is_zero", "streamed_dim"]
