"""What it costs to compute a pointwise producer again in a reader, against storing its result.

Both sides are counted from the nests, bytes and operations, and weighed by the target's roofline.
Where the reader takes row after row as the producer makes them, a stored row stays in a near cache,
and only a body of a few additions is worth computing again; where the whole result is stored
before it is read, bytes come from as far away as the arrays are large.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from lamina.codegen.roofline import Roofline
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, KernelOp, ReadOp
from lamina.dialects.loop.access import Forms, forms_of, shape_of
from lamina.dialects.loop.contraction import is_product
from lamina.dialects.loop.kernel_nests import rows_of
from lamina.dialects.loop.packing import is_packed
from lamina.passes.cost.fusion_cost import body_cost, value_bytes
from lamina.passes.cost.fusion_estimate import KERNEL_SECONDS, LINE_BYTES, Estimate

GUARD_COST = 2
"""Comparing a position with a bound and choosing, at each point of a padded read."""

LOAD_COST = 1
"""A load of a vector from the nearest cache takes as long as an add."""


def estimate(
    producer: GenericOp, reader: GenericOp, value: SSAValue, machine: Roofline, *, padded: bool
) -> Estimate:
    """Of computing pointwise `producer` at every point of `reader`, instead of reading `value`.

    The store of the value, and what the producer reads for it, is shared by all its readers: it
    goes when each of them computes the value itself. A reader that reads several places computes
    the value at each of them, where storing it moves its bytes once.
    """
    readers, is_kept = _readers(value)
    size = value_bytes(value)
    own = {v: value_bytes(v) for v in (*producer.inputs, *producer.sources)}
    again = sum(n for v, n in own.items() if v not in reader.inputs)
    saved = size - again
    points, once = prod(reader.extents), prod(producer.extents)
    cost = body_cost(producer)
    if not own:  # a mask of positions, say, takes the place of a load
        cost = max(0, cost - LOAD_COST)
    reads = sum(v is value for v in reader.inputs)
    flops = points * cost * reads
    if padded:
        flops = _points_inside(reader, value) * cost + points * GUARD_COST * reads
    if not is_kept:
        saved += (size + sum(own.values())) // readers
        flops -= once * cost // readers
    is_own_kernel = padded and readers == 1 and not is_kept
    footprint = size + sum(own.values())
    if not padded and _row_by_row(reader, value):
        footprint = min(footprint, machine.near_bytes)
    spared = is_own_kernel * KERNEL_SECONDS
    return _of_value(value, saved, flops, saved / machine.bandwidth(footprint) + spared, machine)


def estimate_gather(
    producer: GenericOp, reader: GenericOp, value: SSAValue, machine: Roofline
) -> Estimate:
    """Of computing pointwise `producer` where `reader` looks `value` up, instead of storing it.

    Each look-up moves a whole line, of the value or of each input of the producer.
    """
    readers, is_kept = _readers(value)
    points, once = prod(reader.extents) * max(1, look_ups(reader, value)), prod(producer.extents)
    cost, size = body_cost(producer), value_bytes(value)
    saved = points * LINE_BYTES * (1 - len(producer.inputs))
    flops = points * cost
    if not is_kept:
        saved += size // readers
        if readers == 1:
            saved += sum(value_bytes(v) for v in dict.fromkeys(producer.inputs))
            flops -= once * cost
    return _of_value(value, saved, flops, saved / machine.bandwidth(size), machine)


def _readers(value: SSAValue) -> tuple[int, bool]:
    """How many nests read a value that may compute it themselves, and whether something else does:
    products take their rows as they stand."""
    users = {use.operation for use in value.uses}
    nests = sum(isinstance(user, GenericOp) and not is_product(user) for user in users)
    return nests, nests < len(users)


def _of_value(
    value: SSAValue, saved: int, flops: int, seconds: float, machine: Roofline
) -> Estimate:
    """Of computing a value again, which saves so many bytes and seconds, and adds operations."""
    assert isinstance(value.type, TensorType)
    wide = getattr(value.type.element_type, "bitwidth", 32) == 64
    added = max(0, flops) * (2 if wide else 1) / machine.peak_flops
    return Estimate(saved, max(0, flops), seconds, added)


def look_ups(reader: GenericOp, value: SSAValue) -> int:
    """How often the body of `reader` looks up a source."""
    argument = reader.block.args[len(reader.inputs) + list(reader.sources).index(value)]
    return sum(isinstance(use.operation, ReadOp) for use in argument.uses)


def estimate_column_sums(
    walkers: Sequence[KernelOp],
    kernel: KernelOp,
    nest: GenericOp,
    rows: Sequence[int],
    machine: Roofline,
) -> Estimate:
    """Of making `nest`, alone in `kernel`, beside the rows of the `walkers`, dimensions `rows`.

    What both read, or the one makes for the other, is read once. The column sums are read and
    written for each row, in the nearest cache that holds them. Tasks then walk row after row, so
    that no register tile spans rows, which would share what they read alike.
    """
    touched = {v for k in walkers for v in (*k.inputs, *k.res)}
    shared = sum(value_bytes(v) for v in kernel.inputs if v in touched)
    footprint = sum(value_bytes(v) for v in (*kernel.inputs, *touched.difference(kernel.inputs)))
    sums = sum(map(value_bytes, nest.res))
    kept = prod(nest.extents[d] for d in rows if d not in nest.reduction_dims)
    totals = prod(nest.extents[d] for d in rows) * sums // max(1, kept)
    summed = [place for place, d in enumerate(rows) if d in nest.reduction_dims]
    shared_reads = _shared_seconds(walkers, summed, machine)
    return Estimate(
        bytes_saved=shared,
        flops_added=0,
        seconds_saved=shared / machine.bandwidth(footprint) + KERNEL_SECONDS,
        seconds_added=2 * totals / machine.bandwidth(sums) + shared_reads,
    )


def _shared_seconds(walkers: Sequence[KernelOp], summed: Sequence[int], machine: Roofline) -> float:
    """Seconds in which reductions read what is the same along the last of the `summed` rows.

    The weight of a depthwise convolution with channels innermost is: each vector of it is read for
    each point, from the nearest cache that holds all of it.
    """
    nests = [op for k in walkers for op in block_ops(k.block) if isinstance(op, GenericOp)]
    total = 0.0
    for nest in nests:
        rows = rows_of(nest)
        if nest.is_pointwise or is_packed(nest) or not rows:
            continue
        walked = {rows[place] for place in summed}
        columns = set(range(len(nest.extents))).difference(nest.reduction_dims, walked)
        for value, index_map in zip(nest.inputs, nest.read_maps, strict=True):
            used = index_map.used_dims()
            is_same = rows[summed[-1]] not in used
            if is_same and used & columns and used.intersection(nest.reduction_dims):
                size = value_bytes(value)
                reads = prod(nest.extents) * size // prod(shape_of(value))
                total += reads / machine.bandwidth(size)
    return total


def _points_inside(reader: GenericOp, value: SSAValue) -> int:
    """Points of the reader that read the value inside its edges, in each of its reads of it.

    The others can be split off.
    """
    total = 0
    for number, operand in enumerate(reader.inputs):
        if operand is not value:
            continue
        points = prod(reader.extents)
        read = forms_of(reader.read_maps[number], reader.extents)
        for form, extent in zip(read or (), shape_of(value), strict=False):
            low, high = form.range(reader.extents)
            points = points * min(extent, high - low + 1) // max(1, high - low + 1)
        total += points
    return total


def _row_by_row(reader: GenericOp, value: SSAValue) -> bool:
    """Whether the reader's outer parallel dimensions walk the first axis of the value."""
    number = next((i for i, v in enumerate(reader.inputs) if v is value), None)
    read = None if number is None else forms_of(reader.read_maps[number], reader.extents)
    return read is not None and _walks_first_axis(reader, read, shape_of(value))


def _walks_first_axis(reader: GenericOp, read: Forms, shape: tuple[int, ...]) -> bool:
    for form, extent in zip(read, shape, strict=True):
        if extent != 1:
            dim = form.pure_dim
            return dim is not None and dim not in reader.reduction_dims
    return True
