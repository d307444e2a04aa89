"""`split-reductions`: a long reduction with few results becomes partial results, then their join.

The partial results can be made in parallel, and each sums fewer terms: the rounding error of a sum
grows with the length of its chains. Only a factor that divides the reduced dimension is used, so
that no part needs an edge.

A reduction of rows into columns could share out its columns, but then each thread would read a
short piece of each row. In parts, it reads whole rows, one after the other.

Where a size of the call masks the reduced dimension, what counts is in the first parts of it. These
are dealt out: tasks that follow each other, and rows that one task runs side by side, all have
their share of them. Where each part is one position, the join asks for the mask, too: what makes
the parts ends with those that count then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt, prod

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, TensorType, i1
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass

from lamina.dialects.errors import InputError
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, ReshapeOp, YieldOp, before_reshapes
from lamina.dialects.loop.access import Forms, flatten, forms_of, map_of, shape_of, substitute
from lamina.dialects.loop.contraction import is_product
from lamina.dialects.loop.identities import identity_value
from lamina.dialects.loop.labels import names_of, set_names
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.monoid import COMBINE, join_body, kept_monoids
from lamina.dialects.loop.scalar_ops import select_op
from lamina.passes.cost.fusion_limits import (
    COLUMN_PARTS,
    ENOUGH_RESULTS,
    LEAST_COLUMN_POINTS,
    LEAST_MASKED_PART,
    LEAST_NARROW_ROWS,
    LEAST_PART_ROWS,
    LEAST_POINTS,
    MASKED_PARTS,
    PARTS,
    WIDE,
)
from lamina.passes.cost.row_limits import ROW_STREAMS
from lamina.passes.defined_functions import defined_functions
from lamina.passes.fusion.fusion_rules import initial_rows
from lamina.passes.fusion.position_masks import is_masked
from lamina.passes.loop.join_softmaxes import join_softmax
from lamina.passes.loop.loop_rewriting import rebuild
from lamina.passes.loop.split_dim import replace_positions


@dataclass(frozen=True)
class SplitReductionsPass(ModulePass):
    """Split reductions that would run on one thread into about `parts` partial ones."""

    name = "split-reductions"

    parts: int = PARTS

    def __post_init__(self) -> None:
        """Raises InputError for a number of parts that is none."""
        if self.parts < 1:
            raise InputError(f"{self.name}: parts = {self.parts}; a reduction has 1 part or more")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for nest in block_ops(function.body.block):
                if isinstance(nest, GenericOp):
                    _split(nest, self.parts)
            for nest in block_ops(function.body.block):
                if isinstance(nest, GenericOp) and nest.combiner_names == ("add",):
                    join_softmax(nest)


def _split(op: GenericOp, parts: int) -> None:
    reduced = op.reduction_dims
    if not reduced or is_product(op) or "store" in op.combiner_names or len(op.reductions) != 1:
        return
    results = prod(e for d, e in enumerate(op.extents) if d not in reduced)
    reads = [r for m in op.read_maps if (r := forms_of(m, op.extents)) is not None]
    written = [w for m in op.write_maps if (w := forms_of(m, op.extents)) is not None]
    if len(written) < len(op.res) or len(reads) < len(op.inputs):
        return
    if results < ENOUGH_RESULTS:
        dim = _divided(op, parts, reads)
        count = _parts_along(op, dim, parts)
        if prod(op.extents) >= LEAST_POINTS and count > 1:
            rebuild_split(
                op, dim, count, reads, written, in_front=_keeps_columns(op, reads, written)
            )
        return
    dim = max(reduced, key=lambda d: op.extents[d])
    count = largest_divisor(op.extents[dim], min(COLUMN_PARTS, op.extents[dim] // LEAST_PART_ROWS))
    if count > 1 and _sums_long_columns(op, dim, results, reads, written[0]):
        rebuild_split(op, dim, count, reads, written, in_front=True)


def _parts_along(op: GenericOp, dim: int, parts: int) -> int:
    """How many parts to make along a dimension: of lines of an image, of which a mask says how many
    count, one of each, since loops over parts of several would not end with these."""
    extent = op.extents[dim]
    points = prod(op.extents[d] for d in op.reduction_dims) // max(extent, 1)
    if extent <= MASKED_PARTS and points >= LEAST_MASKED_PART and _mask_along(op, dim) is not None:
        return extent
    return largest_divisor(extent, parts)


def _divided(op: GenericOp, parts: int, reads: Sequence[Forms]) -> int:
    """The reduced dimension to divide: of those that give parts enough the one whose positions are
    furthest apart in the largest operand, so that parts are runs of memory; else the longest."""
    longest = max(op.reduction_dims, key=lambda d: op.extents[d])
    enough = [
        d for d in op.reduction_dims if largest_divisor(op.extents[d], parts) >= ENOUGH_RESULTS
    ]
    if not enough or not reads:
        return longest
    sizes = [prod(shape_of(value)) for value in op.inputs]
    number = sizes.index(max(sizes))
    offset = flatten(reads[number], shape_of(op.inputs[number]))
    return max(enough, key=lambda d: abs(offset.coefficient(d)))


def _keeps_columns(op: GenericOp, reads: Sequence[Forms], written: Sequence[Forms]) -> bool:
    """Whether rows of a few columns lie behind one another in the largest operand: parts in front
    leave each its rows side by side, which fill vectors together (see `narrow_columns`)."""
    if not reads or any(not forms for forms in written):
        return False
    sizes = [prod(shape_of(value)) for value in op.inputs]
    number = sizes.index(max(sizes))
    offset = flatten(reads[number], shape_of(op.inputs[number]))
    column = written[0][-1].pure_dim
    if column is None or offset.coefficient(column) != 1 or op.extents[column] == 1:
        return False
    return any(
        offset.coefficient(d) == op.extents[column] and op.extents[d] >= LEAST_NARROW_ROWS
        for d in op.reduction_dims
    )


def _sums_long_columns(
    op: GenericOp, dim: int, results: int, reads: list[Forms], written: Forms
) -> bool:
    """Whether a nest reduces rows into columns on its own, and memory bounds it.

    One whose operands or results belong to larger nests may share a kernel with them instead.
    """
    if prod(op.extents) < LEAST_COLUMN_POINTS or not written:
        return False
    column = next((d for d, c in written[-1].terms if c == 1), None)
    if column is None or op.extents[column] >= WIDE:
        return False
    if results // op.extents[column] >= COLUMN_PARTS:
        return False  # there are tasks enough beside the columns, each of which reads whole rows
    offsets = [
        flatten(forms, shape_of(value)) for forms, value in zip(reads, op.inputs, strict=True)
    ]
    wide = [o for o in offsets if o.coefficient(column)]
    along = [o.coefficient(dim) for o in wide if o.coefficient(dim)]
    if 1 in along or not any(o.coefficient(column) == 1 for o in offsets):
        return False
    if not all(isinstance(before_reshapes(value), BlockArgument) for value in op.inputs):
        return False
    if any(offset.coefficient(dim) and walks_rows(op, n, dim) for n, offset in enumerate(offsets)):
        return False
    return all(not _is_larger(use.operation, results) for use in op.res[0].uses)


def walks_rows(op: GenericOp, number: int, dim: int) -> bool:
    """Whether another nest walks what read `number` reads along `dim`, row by row.

    It may make the sums of `op` beside its rows (see `fuse-column-sums`).
    """
    value = op.inputs[number]
    read = forms_of(op.read_maps[number], op.extents) or ()
    steps = [form.coefficient(dim) for form in read]
    for use in value.uses:
        other = use.operation
        if other is op or not isinstance(other, GenericOp) or use.index >= len(other.inputs):
            continue
        forms = forms_of(other.read_maps[use.index], other.extents) or ()
        if any(
            [form.coefficient(row) for form in forms] == steps
            and other.extents[row] == op.extents[dim]
            for row in initial_rows(other)[:1]
        ):
            return True
    return False


def _is_larger(reader: Operation, points: int) -> bool:
    if isinstance(reader, ReshapeOp):
        return any(_is_larger(use.operation, points) for use in reader.result.uses)
    return isinstance(reader, GenericOp) and prod(reader.extents) > points


def largest_divisor(extent: int, wanted: int) -> int:
    """The largest divisor of the extent that is at most `wanted`; 1 if there is none."""
    return max((d for d in range(1, min(wanted, extent) + 1) if extent % d == 0), default=1)


def rebuild_split(
    op: GenericOp,
    dim: int,
    count: int,
    reads: list[Forms],
    written: list[Forms],
    *,
    in_front: bool = False,
) -> None:
    """Split a reduced dimension into `count` parts: the last dimension, or `in_front` the first.

    Where parts are dealt out, their number has several digits, a dimension each.
    """
    rank = len(op.extents)
    part = op.extents[dim] // count
    mask = _mask_along(op, dim) if part == 1 else None
    digits = _dealt(count) if mask is None and is_masked(op, dim) else [count]
    extents = list(op.extents)
    extents[dim] = part
    shift, number = (len(digits), 0) if in_front else (0, rank)
    extents[number:number] = digits
    values = [Linear.dim(d + shift) for d in range(rank)]
    steps = {number + d: part * prod(digits[:d]) for d in range(len(digits))}
    values[dim] = Linear.of({dim + shift: 1, **steps})
    target = Linear.of({number + d: prod(digits[d + 1 :]) for d in range(len(digits))})
    whole = rank + len(digits)

    def partial_map(forms: Forms) -> AffineMap:
        moved = tuple(substitute(f, values) for f in forms)
        return map_of((target, *moved) if in_front else (*moved, target), whole)

    def partial_type(kind: Attribute) -> TensorType:
        assert isinstance(kind, TensorType)
        shape = kind.get_shape()
        return TensorType(kind.element_type, (count, *shape) if in_front else (*shape, count))

    partial = rebuild(
        op,
        domain=extents,
        input_maps=[map_of([substitute(f, values) for f in r], whole) for r in reads],
        output_maps=[partial_map(forms) for forms in written],
        result_types=[partial_type(r.type) for r in op.res],
        replace_results=False,
    )
    replace_positions(partial, values)
    place = 0 if in_front else len(written[0])
    if mask is None:
        join = join_partial(partial, range(len(op.res)), place)
    else:
        join = _join_masked(partial, place, mask)
    join.location = op.location
    if names_of(op):
        set_names(join, ["join"])
    block = op.parent_block()
    assert block is not None
    block.insert_op_after(join, partial)
    for old, new in zip(op.res, join.res, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    block.erase_op(op)


def _dealt(count: int) -> list[int]:
    """Digits of a number of parts: the first counts neighbours, which one task may run together.

    The others deal out what is left, so that each run of tasks has parts from all over.
    """
    together = next(n for n in (*ROW_STREAMS, 1) if count % n == 0)
    rest = count // together
    across = next(n for n in range(isqrt(rest), 0, -1) if rest % n == 0)
    return [digit for digit in (together, across, rest // across) if digit > 1] or [1]


def _mask_along(op: GenericOp, dim: int) -> SSAValue | None:
    """The row of truth values along a dimension without which a nest gives what leaves its only
    result as it is; None if there is none."""
    if len(op.res) != 1 or op.combiner_names[0] == COMBINE:
        return None
    value = op.yielded[0]
    kept = identity_value(op.combiner_names[0], value.type)
    while isinstance(choice := value.owner, arith.SelectOp):
        other = choice.rhs.owner
        if not isinstance(other, arith.ConstantOp) or other.value != kept:
            return None
        asked = choice.cond
        if isinstance(asked, BlockArgument) and _is_row_along(op, asked.index, dim):
            return op.inputs[asked.index]
        value = choice.lhs
    return None


def _is_row_along(op: GenericOp, number: int, dim: int) -> bool:
    """Whether a read is that of a vector at the position in a dimension."""
    along = AffineMap(len(op.extents), 0, (AffineExpr.dimension(dim),))
    return number < len(op.inputs) and op.read_maps[number] == along


def _join_masked(partial: GenericOp, place: int, mask: SSAValue) -> GenericOp:
    """As `join_partial` of one result, of those parts for which a mask holds."""
    kind, name = partial.res[0].type, partial.combiner_names[0]
    assert isinstance(kind, TensorType)
    extents, element = list(kind.get_shape()), kind.element_type
    block = Block(arg_types=[i1, element])
    none = arith.ConstantOp(identity_value(name, element))
    chosen = select_op(block.args[0], block.args[1], none.result)
    block.add_ops([none, chosen, YieldOp([chosen.result])])
    dims = [Linear.dim(d) for d in range(len(extents))]
    return GenericOp(
        extents,
        [mask, partial.res[0]],
        [map_of([dims[place]], len(dims)), map_of(dims, len(dims))],
        [map_of([*dims[:place], *dims[place + 1 :]], len(dims))],
        [name],
        [TensorType(element, [*extents[:place], *extents[place + 1 :]])],
        Region(block),
    )


def join_partial(partial: GenericOp, numbers: Sequence[int], dim: int) -> GenericOp:
    """A nest that joins these results of `partial` along a dimension of them, not in a block."""
    kinds = [kind for n in numbers if isinstance(kind := partial.res[n].type, TensorType)]
    extents, elements = kinds[0].get_shape(), [kind.element_type for kind in kinds]
    rank = len(extents)
    dims = [Linear.dim(d) for d in range(rank)]
    kept = [d for place, d in enumerate(dims) if place != dim]
    shape = [e for place, e in enumerate(extents) if place != dim]
    names = partial.combiner_names
    return GenericOp(
        extents,
        [partial.res[n] for n in numbers],
        [map_of(dims, rank)] * len(numbers),
        [map_of(kept, rank)] * len(numbers),
        [names[n] for n in numbers],
        [TensorType(element, shape) for element in elements],
        join_body(elements),
        monoids=kept_monoids(names, partial.monoids, numbers),
    )
