"""`split-reductions`: a long reduction with few results becomes partial results, then their join.

The partial results can be made in parallel, and each sums fewer terms: the rounding error of a sum
grows with the length of its chains. Only a factor that divides the reduced dimension is used, so
that no part needs an edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute, Block, Region
from xdsl.passes import ModulePass

from lamina.dialects.loop import GenericOp, IndexOp, YieldOp
from lamina.dialects.loop.access import Forms, forms_of, is_contraction, map_of, substitute
from lamina.dialects.loop.linear import Linear
from lamina.passes.loop_rewriting import rebuild

ENOUGH_RESULTS = 16
"""With this many results there is parallel work as it is."""
LEAST_POINTS = 1 << 16
"""Domain points below which one thread is done before a second has started."""
PARTS = 64
"""Parts to aim for: enough for any usual number of threads to share evenly."""


@dataclass(frozen=True)
class SplitReductionsPass(ModulePass):
    """Split reductions that would run on one thread into about `parts` partial ones."""

    name = "split-reductions"

    parts: int = PARTS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp) and function.body.blocks:
                for nest in list(function.body.block.ops):
                    if isinstance(nest, GenericOp):
                        _split(nest, self.parts)


def _split(op: GenericOp, parts: int) -> None:
    reduced = op.reduction_dims
    if not reduced or is_contraction(op) or len(op.res) != 1 or op.combiner_names == ("store",):
        return
    results = prod(e for d, e in enumerate(op.extents) if d not in reduced)
    if results >= ENOUGH_RESULTS or prod(op.extents) < LEAST_POINTS:
        return
    dim = max(reduced, key=lambda d: op.extents[d])
    count = _divisor(op.extents[dim], parts)
    indexed = any(isinstance(o, IndexOp) and o.dim.value.data == dim for o in op.block.ops)
    if count < 2 or indexed:
        return
    reads = [forms_of(m, op.extents) for m in op.read_maps]
    written = forms_of(op.write_maps[0], op.extents)
    if written is None or any(r is None for r in reads):
        return
    _rebuild_split(op, dim, count, [r for r in reads if r is not None], written)


def _divisor(extent: int, wanted: int) -> int:
    """The largest divisor of the extent that is at most `wanted`."""
    return max(d for d in range(1, min(wanted, extent) + 1) if extent % d == 0)


def _rebuild_split(op: GenericOp, dim: int, count: int, reads: list[Forms], written: Forms) -> None:
    rank = len(op.extents)
    part = op.extents[dim] // count
    extents = [*op.extents, count]
    extents[dim] = part
    values = [Linear.dim(d) for d in range(rank)]
    values[dim] = Linear.of({dim: 1, rank: part})
    result_type = op.res[0].type
    assert isinstance(result_type, TensorType)
    shape = result_type.get_shape()
    element = result_type.element_type
    combiner = op.combiner_names[0]
    label = op.attributes.get("lamina.op")
    partial = rebuild(
        op,
        domain=extents,
        input_maps=[map_of([substitute(f, values) for f in r], rank + 1) for r in reads],
        output_maps=[map_of([*written, Linear.dim(rank)], rank + 1)],
        result_types=[TensorType(element, [*shape, count])],
        replace_results=False,
    )
    join = _join(partial, shape, count, element, combiner)
    join.location = op.location
    if isinstance(label, StringAttr):
        join.attributes["lamina.op"] = StringAttr("join")
    block = op.parent_block()
    assert block is not None
    block.insert_op_after(join, partial)
    join.res[0].name_hint = op.res[0].name_hint
    op.res[0].replace_all_uses_with(join.res[0])
    block.erase_op(op)


def _join(
    partial: GenericOp, shape: tuple[int, ...], count: int, element: Attribute, combiner: str
) -> GenericOp:
    rank = len(shape)
    body = Block(arg_types=[element])
    body.add_op(YieldOp([body.args[0]]))
    dims = [Linear.dim(d) for d in range(rank + 1)]
    return GenericOp(
        [*shape, count],
        [partial.res[0]],
        [map_of(dims, rank + 1)],
        [map_of(dims[:rank], rank + 1)],
        [combiner],
        [TensorType(element, shape)],
        Region(body),
    )
