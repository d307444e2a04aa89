"""`split-domains`: a nest that chooses by its position becomes a nest for each part of its domain.

A concatenation is one nest that computes every piece everywhere and chooses one. In parts, each
piece is computed only where it is wanted, straight into its slice of the result, and its reads need
no pads. Parts that would spare little, such as the edges of a padding, are left together.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, ModuleOp, f32, f64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import UNSTRUCTURED_OPS, GenericOp, IndexOp
from lamina.dialects.loop.access import flatten, forms_of, map_of, shape_of, substitute
from lamina.dialects.loop.bounded_dims import bounded_dims, bounds_of
from lamina.dialects.loop.bounds import (
    BOUNDS,
    ENDS,
    Bound,
    BoundsAttr,
    ends_of,
    masks_of,
    zeros_of,
)
from lamina.dialects.loop.counted_dims import EndsFault, drop_ends, verify_ends
from lamina.dialects.loop.kernel_contract import masks_in
from lamina.dialects.loop.kernel_nests import live_rows_of, rows_of, set_live_rows, set_part
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.packing import is_packed
from lamina.dialects.op_disposal import erase
from lamina.dialects.op_effects import is_free_of_effects
from lamina.passes.cost.fusion_cost import body_cost, op_cost
from lamina.passes.cost.fusion_limits import LEAST_PAIRS, LEAST_SHARE, MANY_CUTS, MAX_PARTS
from lamina.passes.fusion.outline_kernels import kernel_functions
from lamina.passes.loop.body_folding import simplify_body
from lamina.passes.loop.canonicalize_loop import drop_unused_operands
from lamina.passes.loop.loop_rewriting import change
from lamina.passes.loop.position_choices import settle_choices, settled, thresholds


class SplitDomainsPass(ModulePass):
    """Split pointwise nests of bufferized kernels where their bodies choose by position."""

    name = "split-domains"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in kernel_functions(op):
            _split_kernel(function)


def _split_kernel(function: func.FuncOp) -> None:
    ops = block_ops(function.body.block)
    nests = [op for op in ops if isinstance(op, GenericOp)]
    if any(isinstance(op, UNSTRUCTURED_OPS) or is_packed(op) for op in ops):
        return
    for nest in nests:
        if nest.is_pointwise and thresholds(nest) and all(map(_is_written_once, nest.outs)):
            # Nests of one kernel share its rows, so that only a lone one may divide those.
            kept = frozenset(() if len(nests) == 1 else rows_of(nest))
            pairs = _pairs(nest)
            parts = _parts_of(nest, kept | pairs)
            if pairs and len(parts) > 1:
                parts = [piece for part in parts for piece in _parts_of(part, kept)]
            if len(parts) > 1:
                _check_ends(function)
                _check_bounds(function)
            if len(nests) == 1 and len(parts) > 1:
                for number, part in enumerate(parts):
                    set_part(part, number)


def _check_ends(function: func.FuncOp) -> None:
    """Have all loops of a kernel go to the end of their dimensions, if the ends of parts, which
    begin elsewhere, do not follow from it any more."""
    nests = [op for op in function.body.walk() if isinstance(op, GenericOp)]
    arguments = function.body.block.args
    masks: dict[SSAValue, int] = {arguments[m]: n for m, n in masks_of(function).items()}
    try:
        verify_ends(nests, masks)
    except EndsFault:
        drop_ends(nests)


def _check_bounds(function: func.FuncOp) -> None:
    """Give the nests of a kernel the bounds that follow from it now: nothing is known of what
    several parts write."""
    nests = [op for op in function.body.walk() if isinstance(op, GenericOp)]
    if not any(BOUNDS in nest.attributes for nest in nests):
        return
    known = bounded_dims(nests, masks_in(nests), zeros_of(function))
    for nest in nests:
        nest.attributes.pop(BOUNDS, None)
        if nest in known:
            nest.attributes[BOUNDS] = bounds_of(nest, *known[nest])


def _is_written_once(memory: SSAValue) -> bool:
    """Whether no other op of a kernel writes a result. Others may read it, behind all parts."""
    return sum(memory in getattr(use.operation, "outs", ()) for use in memory.uses) == 1


def _pairs(nest: GenericOp) -> frozenset[int]:
    """The last dimension, if it has two positions side by side in memory and pairs of them are too.

    Divided, each half would be stored in every second place: `pair-results` gives both at once.
    """
    last = len(nest.extents) - 1
    if last < 1 or nest.extents[last] != 2:
        return frozenset()
    for out, index_map in zip(nest.outs, nest.write_maps, strict=True):
        forms = forms_of(index_map, nest.extents)
        if forms is None or out.type.element_type not in (f32, f64):  # pyright: ignore
            return frozenset()
        offset = flatten(forms, shape_of(out))
        along = [d for d in range(last) if offset.coefficient(d) == 2]
        if offset.coefficient(last) != 1 or all(nest.extents[d] < LEAST_PAIRS for d in along):
            return frozenset()
    return frozenset({last})


def _parts_of(whole: GenericOp, kept: frozenset[int]) -> list[GenericOp]:
    """The nests that stand for it, in order; dimensions in `kept` are not divided."""
    parts: list[GenericOp] = []
    waiting = [whole]
    while waiting:
        nest = waiting.pop()
        found = None if len(parts) + len(waiting) >= MAX_PARTS else _split(nest, kept)
        if found is None:
            parts.append(nest)
        else:
            waiting += reversed(found)
    return parts


def _split(nest: GenericOp, kept: frozenset[int]) -> list[GenericOp] | None:
    """Two nests for the halves of the domain that spare most, or None if no halves spare enough.

    Of many cuts the middle one that spares enough is taken: to try them all, again in either half,
    would take cubic time in the pieces of a concatenation.
    """
    whole = prod(nest.extents) * max(1, body_cost(nest))
    best: tuple[int, int] | None = None
    least = whole - whole // LEAST_SHARE
    limits = thresholds(nest)
    cuts = _cuts(nest, limits.values(), kept)
    for dim, limit in cuts:
        extent = nest.extents[dim]
        points = prod(nest.extents) // extent
        cost = sum(
            points * (high - low) * max(1, _cost_within(nest, limits, dim, low, high))
            for low, high in ((0, limit), (limit, extent))
        )
        if cost <= least:
            best, least = (dim, limit), cost
            if len(cuts) > MANY_CUTS:
                break
    if best is None:
        return None
    dim, limit = best
    halves = [domain_part(nest, dim, 0, limit), domain_part(nest, dim, limit, nest.extents[dim])]
    erase(nest)
    return halves


def _cuts(
    nest: GenericOp, limits: Iterable[tuple[int, int]], kept: frozenset[int]
) -> list[tuple[int, int]]:
    """(dimension, position) of each place where a comparison changes; of many, the middle first."""
    cuts = [
        (d, at) for d, at in dict.fromkeys(limits) if d not in kept and 0 < at < nest.extents[d]
    ]
    if len(cuts) > MANY_CUTS:
        cuts.sort()
        middle = len(cuts) // 2
        cuts = [*cuts[middle:], *reversed(cuts[:middle])]
    return cuts


def _cost_within(
    nest: GenericOp, limits: Mapping[Operation, tuple[int, int]], dim: int, low: int, high: int
) -> int:
    """`body_cost` of a point of a part of the domain, without what its settled choices leave out.

    The part need not be made for it. What `simplify_body` finds beyond choices, and ops on
    constants alone, is not foreseen.
    """
    known: dict[SSAValue, bool] = {}
    same: dict[SSAValue, SSAValue] = {}
    fixed: set[SSAValue] = set()
    ops = block_ops(nest.block)
    moved: set[Operation] = set()  # those that ask where they are
    for op in ops:
        cut = limits.get(op)
        operands = [same.get(operand, operand) for operand in op.operands]
        if cut is not None and cut[0] == dim:
            if (answer := settled(cut[1], low, high - low)) is not None:
                known[op.results[0]] = answer
        elif isinstance(op, arith.SelectOp) and operands[0] in known:
            same[op.result] = operands[1 if known[operands[0]] else 2]
        elif isinstance(op, arith.AndIOp | arith.OrIOp) and any(o in known for o in operands):
            _settle(op, operands, known, same)
        elif isinstance(op, arith.ConstantOp) or _folds(op, operands, fixed):
            fixed.update(op.results)
        elif low and cut is None and any(_is_position(o, dim) for o in operands):
            moved.add(op)
    return _live_cost(ops, known, same, fixed, moved)


def _is_position(value: SSAValue, dim: int) -> bool:
    return isinstance(value.owner, IndexOp) and value.owner.dim.value.data == dim


def _folds(op: Operation, operands: list[SSAValue], fixed: set[SSAValue]) -> bool:
    return bool(operands) and op.name.startswith("arith.") and fixed.issuperset(operands)


def _settle(
    op: arith.AndIOp | arith.OrIOp,
    operands: list[SSAValue],
    settled: dict[SSAValue, bool],
    same: dict[SSAValue, SSAValue],
) -> None:
    """Note what a conjunction or disjunction is, one side of which is settled."""
    deciding = isinstance(op, arith.OrIOp)  # what makes the result, whatever the other side is
    left, right = operands
    for side, other in ((left, right), (right, left)):
        if side in settled:
            if settled[side] is deciding:
                settled[op.result] = deciding
            elif other in settled:
                settled[op.result] = settled[other]
            else:
                same[op.result] = other
            return


def _live_cost(
    ops: list[Operation],
    settled: Container[SSAValue],
    same: Mapping[SSAValue, SSAValue],
    fixed: Container[SSAValue],
    moved: Container[Operation],
) -> int:
    """Cost of the ops that are read, of those left; one more where positions are moved."""
    cost, is_moved = 0, False
    live: set[SSAValue] = set()
    for op in reversed(ops):
        if op.results:
            result = op.results[0]
            if result in settled or result in same or result in fixed:
                continue
            if live.isdisjoint(op.results) and is_free_of_effects(op):
                continue
        live.update([same.get(operand, operand) for operand in op.operands])
        cost += op_cost(op)
        is_moved = is_moved or op in moved
    return cost + is_moved


def domain_part(nest: GenericOp, dim: int, low: int, high: int) -> GenericOp:
    """The nest over a range of one dimension, simplified for it, in front of the whole nest."""
    part = nest.clone()
    block = nest.parent_block()
    assert block is not None
    block.insert_op_before(part, nest)
    part.location = nest.location
    extents = list(nest.extents)
    extents[dim] = high - low
    moved = [Linear.dim(d) for d in range(len(extents))]
    moved[dim] = Linear.of({dim: 1}, low)
    maps = []
    for index_map in (*nest.read_maps, *nest.write_maps):
        forms = forms_of(index_map, nest.extents)
        assert forms is not None
        maps.append(tuple(substitute(form, moved) for form in forms))
    reads = maps[: len(nest.inputs)]
    pads = [
        None if _is_inside(forms, shape_of(value), extents) else pad
        for forms, value, pad in zip(reads, nest.inputs, nest.pad_values, strict=True)
    ]
    part = change(
        part,
        domain=extents,
        input_maps=[map_of(forms, len(extents)) for forms in reads],
        output_maps=[map_of(forms, len(extents)) for forms in maps[len(nest.inputs) :]],
        pads=pads,
    )
    if ends := ends_of(nest, nest.extents):
        part.attributes[ENDS] = ArrayAttr(
            BoundsAttr.of(d, [_moved(b, d, dim, low) for b in own], len(extents))
            for d, own in sorted(ends.items())
        )
    if (live := live_rows_of(nest)) is not None:
        rows = rows_of(nest)
        whole, cut = ([e[d] for d in rows] for e in (nest.extents, extents))
        set_live_rows(part, live.cut(whole, cut))
    _specialize(part, dim, low)
    return drop_unused_operands(part)


def _moved(bound: Bound, along: int, dim: int, low: int) -> Bound:
    """A bound of the dimension `along`, where positions of `dim` are counted from `low` on."""
    less = low if along == dim else -low * bound.form.coefficient(dim)
    return Bound(bound.is_upper, Linear(bound.form.terms, bound.form.constant - less))


def _is_inside(forms: tuple[Linear, ...], shape: tuple[int, ...], extents: list[int]) -> bool:
    ranges = [form.range(extents) for form in forms]
    return all(low >= 0 and high < e for (low, high), e in zip(ranges, shape, strict=True))


def _specialize(part: GenericOp, dim: int, low: int) -> None:
    """Move positions along `dim`, which now begin at `low`, and fold the settled choices."""
    if low:
        for op in block_ops(part.block):
            if isinstance(op, IndexOp) and op.dim.value.data == dim and op.result.first_use:
                step = arith.ConstantOp(IntegerAttr(low, IndexType()))
                shifted = arith.AddiOp(op.result, step.result)
                op.result.replace_uses_with_if(
                    shifted.result, lambda use, own=shifted: use.operation is not own
                )
                part.block.insert_ops_after([step, shifted], op)
    settle_choices(part)
    simplify_body(part.block)
