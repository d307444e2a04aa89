"""`split-products`: a product of long sums with few results becomes partial products, and a sum.

Tasks that divide the columns of a product read all of its rows each, and one panel of columns is
one task. Parts of the sum share nothing: each operand is read once, and each part is a task, or
several. Their results are little where a sum is many times as long as there are rows or columns.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from lamina.codegen.target import Target
from lamina.dialects.errors import InputError
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, before_reshapes
from lamina.dialects.loop.access import flatten, forms_of, shape_of
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.records import record
from lamina.passes.cost.fusion_limits import (
    LEAST_LONG_POINTS,
    LEAST_PANEL_POINTS,
    LEAST_PART_TERMS,
    LEAST_PRODUCT_POINTS,
    LEAST_ROW_TERMS,
    PRODUCT_PARTS,
    ROW_COLUMNS,
)
from lamina.passes.cost.product_limits import PANEL_VECTORS
from lamina.passes.defined_functions import defined_functions
from lamina.passes.fusion.position_masks import is_masked
from lamina.passes.loop.split_reductions import largest_divisor, rebuild_split


@record
class SplitProductsPass(ModulePass):
    """Split products whose rows and columns are few into `parts` at most."""

    name = "split-products"

    target: str = "host"
    parts: int = PRODUCT_PARTS

    def __post_init__(self) -> None:
        """Raises InputError for a number of parts that is none."""
        if self.parts < 1:
            raise InputError(f"{self.name}: parts = {self.parts}; a product has 1 part or more")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target.parse(self.target)
        for function in defined_functions(op):
            for nest in block_ops(function.body.block):
                if isinstance(nest, GenericOp):
                    _split(nest, self.parts, target)


def _split(nest: GenericOp, parts: int, target: Target) -> None:
    shape = Contraction.of(nest)
    if shape is None or 0 in nest.extents or shape.size(shape.batch) != 1:
        return
    if not _comes_from_outside(nest.inputs):
        return
    summed = [d for d in shape.summed if nest.extents[d] != 1]
    if len(summed) != 1 or any(pad is not None for pad in nest.pad_values):
        return
    (dim,) = summed
    count = min(parts, _most_parts(shape, nest.extents[dim], target))
    count = largest_divisor(nest.extents[dim], count)
    if count < 2 or _counts_in_part(nest, dim):
        return
    reads = [r for m in nest.read_maps if (r := forms_of(m, nest.extents)) is not None]
    written = [w for m in nest.write_maps if (w := forms_of(m, nest.extents)) is not None]
    if len(reads) < len(nest.inputs) or len(written) != 1:
        return
    along = flatten(reads[shape.b], shape_of(nest.inputs[shape.b])).coefficient(dim)
    if not shape.rows and along == 1:
        return  # rows of dot products, each of which is a task
    rebuild_split(nest, dim, count, reads, written, in_front=True)


def _most_parts(shape: Contraction, terms: int, target: Target) -> int:
    """Into how many parts of a sum of so many terms a product may be cut, 1 where none gain."""
    rows, columns = shape.size(shape.rows), shape.size(shape.columns)
    points = rows * columns * terms
    if rows == 1:
        is_long_run = columns > ROW_COLUMNS
        return 1 if is_long_run or points < LEAST_PANEL_POINTS else terms // LEAST_ROW_TERMS
    panel = PANEL_VECTORS * target.lanes(32)
    parts = terms // (LEAST_PART_TERMS * max(rows, columns))
    least = LEAST_LONG_POINTS if parts > PRODUCT_PARTS else LEAST_PRODUCT_POINTS
    return 1 if points < (LEAST_PANEL_POINTS if columns <= panel else least) else parts


def _comes_from_outside(values: Iterable[SSAValue]) -> bool:
    """Whether values are arguments or constants, or made of these element by element: what sums
    make, as weights of attention, is of the kernel that multiplies it."""
    waiting, seen = list(values), set[Operation]()
    while waiting:
        maker = before_reshapes(waiting.pop()).owner
        if not isinstance(maker, Operation) or maker in seen:
            continue
        seen.add(maker)
        if isinstance(maker, GenericOp) and not maker.is_pointwise:
            return False
        if not isinstance(maker, GenericOp) and maker.operands:
            return False
        waiting += maker.operands
    return True


def _counts_in_part(nest: GenericOp, dim: int) -> bool:
    """Whether a size of the call says how many terms count: those are in the first parts."""
    made = [value.owner for value in nest.inputs]
    return is_masked(nest, dim) or any(
        isinstance(maker, GenericOp) and any(is_masked(maker, d) for d in range(len(maker.extents)))
        for maker in made
    )
