"""`jam`: the clause `jam` of nests in tasks as a nest that does more at each point: unroll-and-jam.

Neighbouring positions of a kept dimension become results of one point, which share what they read.
What is left of the dimension is a nest of its own behind it (peeled).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, IndexOp, YieldOp
from lamina.dialects.loop.access import map_of, substitute
from lamina.dialects.loop.body_ops import element_type
from lamina.dialects.loop.clauses import By
from lamina.dialects.loop.kernel_nests import rows_of
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.packing import is_packed
from lamina.dialects.loop.scalar_ops import binary_op, constant_op
from lamina.dialects.loop.segments import array64, index_maps
from lamina.passes.kernel_passes import KernelPass
from lamina.passes.schedule.illegal import dim_names, illegal
from lamina.passes.schedule.nest_steps import (
    linear_forms,
    nests_to_change,
    put_in_front,
    set_schedule,
    verify_alone,
)
from lamina.passes.schedule.stages import schedule_of


class JamPass(KernelPass):
    """Unroll and jam the nests that have the clause `jam`."""

    name = "jam"

    def apply_to_kernel(self, kernel: func.FuncOp) -> None:
        jam(kernel)


def jam(function: func.FuncOp) -> None:
    """Jam nests of a kernel in place. Raises InputError for a jam that is not legal."""
    wanted = nests_to_change(function, _has_jam)
    for nest in wanted:
        by = schedule_of(nest).jam
        assert by is not None  # as asked for
        _verify(nest, by)
        set_schedule(nest, replace(schedule_of(nest), jam=None))
        extent, count = nest.extents[by.dim], min(by.count, nest.extents[by.dim])
        rest = extent % count
        made = [_jammed(nest, By(by.dim, count), extent // count)]
        if rest:
            made.append(_last(nest, by.dim, rest))
        for part in made:
            part.attributes.update(nest.attributes)
            part.slice_at(nest.slices, nest.symbols, nest.steps)
            put_in_front(part, nest)
        nest.detach()
        nest.erase()


def _has_jam(nest: GenericOp) -> bool:
    return schedule_of(nest).jam is not None and not is_packed(nest)


def _verify(nest: GenericOp, by: By) -> None:
    where = f"jam = d{by.dim}"
    sliced = {d for entry in nest.slices for d in entry.dims}
    taken = {*sliced, *rows_of(nest), *nest.reduction_dims}
    legal = [d for d in range(len(nest.extents)) if d not in taken]
    if by.dim not in legal:
        raise illegal(nest, f"{where}: kept, and a loop of the task: {dim_names(legal)}")
    verify_alone(nest, where)


def _moved(nest: GenericOp, index_map: AffineMap, dim: int, to: Linear) -> AffineMap:
    forms = linear_forms(nest, index_map, f"jam = d{dim}")
    place = [to if d == dim else Linear.dim(d) for d in range(len(nest.extents))]
    return map_of([substitute(form, place) for form in forms], len(nest.extents))


def _jammed(nest: GenericOp, by: By, points: int) -> GenericOp:
    """The nest over fewer points, each of which does what `by.count` of them did."""
    places = [Linear.of({by.dim: by.count}, copy) for copy in range(by.count)]
    block = Block()
    inputs: list[SSAValue] = []
    maps: list[AffineMap] = []
    pads = list(nest.pad_values)[:0]
    arguments: list[dict[SSAValue, SSAValue]] = [{} for _ in places]
    for (value, index_map, pad), argument in zip(nest.reads, nest.block.args, strict=False):
        shared = by.dim not in index_map.used_dims()
        for copy, place in enumerate(places):
            if not shared or copy == 0:
                inputs.append(value)
                maps.append(_moved(nest, index_map, by.dim, place))
                pads.append(pad)
                own = block.insert_arg(element_type(value.type), len(block.args))
                arguments[copy][argument] = own
            else:
                arguments[copy][argument] = arguments[0][argument]
    for source, argument in zip(nest.sources, nest.block.args[len(nest.inputs) :], strict=True):
        own = block.insert_arg(source.type, len(block.args))
        for known in arguments:
            known[argument] = own
    copies = [_copied(nest, block, known, by, copy) for copy, known in enumerate(arguments)]
    block.add_op(YieldOp([value for values in copies for value in values]))
    domain = [points if d == by.dim else e for d, e in enumerate(nest.extents)]
    return GenericOp(
        domain,
        inputs,
        maps,
        [_moved(nest, m, by.dim, place) for place in places for m in nest.write_maps],
        [name for _ in places for name in nest.combiner_names],
        [],
        Region(block),
        sources=list(nest.sources),
        outs=[out for _ in places for out in nest.outs],
        pads=pads,
        monoids=[monoid for _ in places for monoid in nest.monoids],
    )


def _copied(
    nest: GenericOp, block: Block, known: dict[SSAValue, SSAValue], by: By, copy: int
) -> Sequence[SSAValue]:
    """Append a copy of the body; gives what it yields."""
    for op in nest.block.ops:
        if isinstance(op, YieldOp):
            return [known[value] for value in op.values]
        made = op.clone(dict(known))
        block.add_op(made)
        if isinstance(op, IndexOp) and op.dim.value.data == by.dim:
            made = _position(block, made, by.count, copy)
        known.update(zip(op.results, made.results, strict=True))
    raise AssertionError("a body ends in loop.yield")


def _position(block: Block, index: Operation, factor: int, offset: int) -> Operation:
    """The position in the whole dimension: `index * factor + offset`."""
    for kind, number in ((arith.MuliOp, factor), (arith.AddiOp, offset)):
        constant = constant_op(IntegerAttr(number, IndexType()))
        block.add_op(constant)
        index = binary_op(kind, index.results[0], constant.results[0])
        block.add_op(index)
    return index


def _last(nest: GenericOp, dim: int, count: int) -> GenericOp:
    """The nest over the last positions of a dimension."""
    if any(isinstance(op, IndexOp) and op.dim.value.data == dim for op in block_ops(nest.block)):
        raise illegal(nest, f"jam = d{dim}: the body asks for its position, and some are left")
    last, place = nest.clone(), Linear.of({dim: 1}, nest.extents[dim] - count)
    domain = [count if d == dim else e for d, e in enumerate(nest.extents)]
    last.properties["domain"] = array64(*domain)
    for name, maps in (("input_maps", nest.read_maps), ("output_maps", nest.write_maps)):
        last.properties[name] = index_maps(*(_moved(nest, m, dim, place) for m in maps))
    return last
