"""`drop-unit-dims`: lone nests have no dimensions of one position.

What packs a product whose columns are one panel has a dimension for panels all the same. Such a
dimension is no row of its kernel (what shares rows with it need not have it), and as a loop of its
own it keeps tasks from being made of all others: of lines and columns that are turned in tiles.
Behind fusion nobody shares the rows of a kernel of one nest any more.

    writes([d0, d1, d2, d3] store : tensor<64x1x56x32xf32>)   // in [64, 1, 56, 32]
    writes([d0, 0, d1, d2] store : tensor<64x1x56x32xf32>)    // in [64, 56, 32]
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, IndexOp, KernelOp
from lamina.dialects.loop.access import forms_of, map_of, substitute
from lamina.dialects.loop.kernel_nests import renumber_rows, rows_of
from lamina.dialects.loop.linear import Linear
from lamina.dialects.records import record
from lamina.passes.defined_functions import defined_functions
from lamina.passes.loop.loop_rewriting import rebuild

_KEPT = ("lamina.nest", "lamina.op")
"""What a nest may be noted for that names no other dimensions than rows."""


@record
class DropUnitDimsPass(ModulePass):
    """Drop the dimensions of one position of nests that are alone in their kernel."""

    name = "drop-unit-dims"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for kernel in block_ops(function.body.block):
                if isinstance(kernel, KernelOp):
                    nests = [n for n in block_ops(kernel.body.block) if isinstance(n, GenericOp)]
                    if len(nests) == 1 == len(block_ops(kernel.body.block)) - 1:
                        _drop(nests[0])


def _drop(nest: GenericOp) -> None:
    wide = [dim for dim, extent in enumerate(nest.extents) if extent != 1]
    unit = set(range(len(nest.extents))) - set(wide)
    asked = {op.dim.value.data for op in block_ops(nest.block) if isinstance(op, IndexOp)}
    if not unit or not wide or not nest.is_pointwise or asked or unit & set(rows_of(nest)):
        return
    maps = [forms_of(index_map, nest.extents) for index_map in (*nest.read_maps, *nest.write_maps)]
    if any(forms is None for forms in maps) or any(key not in _KEPT for key in nest.attributes):
        return
    numbers = {dim: number for number, dim in enumerate(wide)}
    moved = [
        Linear.dim(numbers[dim]) if dim in numbers else Linear(())
        for dim in range(len(nest.extents))
    ]
    left = [map_of([substitute(f, moved) for f in forms or ()], len(wide)) for forms in maps]
    count = len(nest.inputs)
    rows = [numbers[dim] for dim in rows_of(nest)]
    made = rebuild(
        nest,
        domain=[nest.extents[dim] for dim in wide],
        input_maps=left[:count],
        output_maps=left[count:],
    )
    renumber_rows(made, rows)
