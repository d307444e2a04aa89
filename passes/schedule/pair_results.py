"""`pair-results`: nests over the two parts of complex numbers give both parts at each point.

Parts lie side by side in memory, so the last dimension of a nest that writes them has an extent of
two: vectors along it have two lanes. Along the dimension in front of it both parts are vectors, and
two shuffles make what is stored of them.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from lamina.codegen.target import Target
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, IndexOp, YieldOp
from lamina.dialects.loop.access import flatten, forms_of, shape_of
from lamina.dialects.loop.counted_dims import drop_ends
from lamina.dialects.loop.kernel_nests import (
    interleaves,
    part_of,
    renumber_rows,
    rows_of,
    set_interleaved,
    set_live_rows,
    set_rows,
)
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.live_rows import LiveRows
from lamina.dialects.loop.packing import is_packed
from lamina.dialects.loop.scalar_ops import constant_op
from lamina.dialects.records import record
from lamina.passes.cost.fusion_limits import MOST_PAIR_OPS
from lamina.passes.fusion.outline_kernels import kernel_functions
from lamina.passes.loop.body_folding import simplify_body
from lamina.passes.loop.canonicalize_loop import drop_unused_operands
from lamina.passes.loop.position_choices import settle_choices
from lamina.passes.schedule.live_rows import live_digits
from lamina.passes.schedule.strided_access import MOST_STRIDE, Elements, can_interleave


@record
class PairResultsPass(ModulePass):
    """Give both parts of complex results at each point, where vectors of `target` gain by it."""

    name = "pair-results"

    target: str = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lanes = Target.parse(self.target).lanes(32)
        for function in kernel_functions(op):
            nests = [nest for nest in block_ops(function.body.block) if isinstance(nest, GenericOp)]
            nests = [nest for nest in nests if 0 not in nest.extents]
            if not any(is_packed(nest) for nest in nests):
                for number, nest in enumerate(nests):
                    nests[number] = _paired(nest, nests, lanes)


def _paired(nest: GenericOp, nests: list[GenericOp], lanes: int) -> GenericOp:
    if not _gains(nest, nests, lanes):
        return nest
    drop_ends(nests)
    last = len(nest.extents) - 1
    block = Block()
    reads: list[tuple[SSAValue, AffineMap, Attribute | None]] = []
    results: list[SSAValue] = []
    for part in range(2):
        for value, index_map, pad in nest.reads:
            reads.append((value, _at(index_map, last, part), pad))
    for value, *_ in reads:
        block.insert_arg(_element(value), len(block.args))
    for source in nest.sources:
        block.insert_arg(source.type, len(block.args))
    count = len(nest.inputs)
    for part in range(2):
        known: dict[SSAValue, SSAValue] = {}
        known.update(zip(nest.block.args, block.args[part * count :][:count], strict=False))
        known.update(zip(nest.block.args[count:], block.args[2 * count :], strict=True))
        for op in nest.block.ops:
            if isinstance(op, YieldOp):
                results += [known[v] for v in op.values]
                continue
            if isinstance(op, IndexOp) and op.dim.value.data == last:
                copy = constant_op(IntegerAttr(part, IndexType()))
            else:
                copy = op.clone(known)
            block.add_op(copy)
            known.update(zip(op.results, copy.results, strict=True))
    outs, maps = list(nest.outs), nest.write_maps
    # Both parts of the first result, then of the next one.
    order = [part * len(outs) + number for number in range(len(outs)) for part in range(2)]
    block.add_op(YieldOp([results[place] for place in order]))
    extents = nest.extents[:last]
    new = GenericOp(
        extents,
        [value for value, *_ in reads],
        [index_map for _, index_map, _ in reads],
        [_at(maps[n], last, part) for n in range(len(outs)) for part in range(2)],
        ["store"] * (2 * len(outs)),
        [],
        Region(block),
        sources=list(nest.sources),
        outs=[out for out in outs for _ in range(2)],
        pads=[
            None if pad is None or _is_inside(index_map, value, extents) else pad
            for value, index_map, pad in reads
        ],
    )
    new.attributes.update(nest.attributes)
    rows = rows_of(nest)
    if last in rows:  # it has no other nest beside it
        live = _live_apart_from(nest, last)
        set_rows(new, [d for d in rows if d != last])
        set_live_rows(new, live)
    else:
        renumber_rows(new, rows)
    set_interleaved(new)
    new.location = nest.location
    Rewriter.replace_op(nest, new, [])
    settle_choices(new)
    simplify_body(new.block)
    return drop_unused_operands(new)


def _live_apart_from(nest: GenericOp, dim: int) -> LiveRows | None:
    """Which rows count where a dimension is no longer one of them; None where that is not said."""
    digits = live_digits(nest)
    if not digits or any(digit.count is not None for digit in digits[dim]):
        return None
    return LiveRows(tuple(x for row, own in digits.items() if row != dim for x in own))


def _gains(nest: GenericOp, nests: list[GenericOp], lanes: int) -> bool:
    """Whether a nest writes parts of f32 or f64 side by side that are not read in the same way."""
    last = len(nest.extents) - 1
    if last < 1 or nest.extents[-1] != 2 or lanes < 4 or len(block_ops(nest.block)) > MOST_PAIR_OPS:
        return False
    if any(combiner != "store" for combiner in nest.combiner_names):
        return False
    if last in rows_of(nest) and any(
        other is not nest and part_of(other) == part_of(nest) for other in nests
    ):
        return False  # they share its rows
    along: int | None = None
    for out, index_map in zip(nest.outs, nest.write_maps, strict=True):
        uses = sum(operand is out for other in nests for operand in other.operands)
        form = _offset(out, index_map, nest.extents)
        if uses != 1 or form is None or form.coefficient(last) != 1:
            return False
        if getattr(_element(out), "bitwidth", 0) < 32:
            return False
        along = next((d for d in range(last) if form.coefficient(d) == 2), None)
        if along is None or 2 * nest.extents[along] < lanes:
            return False
    assert along is not None
    turned = any(
        isinstance(op, IndexOp) and op.dim.value.data == last for op in block_ops(nest.block)
    )
    for value, index_map in zip(nest.inputs, nest.read_maps, strict=True):
        form = _offset(value, index_map, nest.extents)
        if form is None:
            return False
        in_reach = 0 <= form.coefficient(along) <= MOST_STRIDE
        if not in_reach and not _is_turned(form, nest.extents, along, lanes):
            return False
        turned |= form.coefficient(along) != 2 * form.coefficient(last)
    return turned


def _is_turned(form: Linear, extents: tuple[int, ...], along: int, lanes: int) -> bool:
    """Whether vectors of a read run along another dimension that fills a tile of registers."""
    dims = [d for d in range(len(extents) - 1) if d != along and 2 * extents[d] >= lanes]
    return any(form.coefficient(d) == 1 for d in dims)


def _element(value: SSAValue) -> Attribute:
    return value.type.element_type  # pyright: ignore


def _offset(value: SSAValue, index_map: AffineMap, extents: tuple[int, ...]) -> Linear | None:
    forms = forms_of(index_map, extents)
    return None if forms is None else flatten(forms, shape_of(value))


def _at(index_map: AffineMap, last: int, part: int) -> AffineMap:
    """The map where the last dimension has a certain position, over the others."""
    dims = [AffineDimExpr(d) for d in range(last)]
    return index_map.replace_dims_and_symbols([*dims, AffineConstantExpr(part)], [], last, 0)


def _is_inside(index_map: AffineMap, value: SSAValue, extents: tuple[int, ...]) -> bool:
    forms = forms_of(index_map, extents)
    if forms is None:
        return False
    ranges = [form.range(extents) for form in forms]
    return all(
        low >= 0 and high < extent
        for (low, high), extent in zip(ranges, shape_of(value), strict=True)
    )


def stores_pairs(op: GenericOp, where: Elements) -> bool:
    """Whether vectors of both parts are stored together: they lie two elements apart each."""
    return where.stride == 2 and interleaves(op) and can_interleave(where)
