"""Computing a producer inside a padded read: its value where the read is inside, else the pad.

Beyond the edge the producer's own reads give some number that is not used, so that its body must
be one that can be computed for any number: divisions of integers and indirect reads are not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import isinf

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, IndexOp
from lamina.dialects.loop.access import Forms, forms_of, map_of, shape_of
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.rounding import is_widening
from lamina.dialects.loop.scalar_ops import compare_op
from lamina.dialects.records import record
from lamina.passes.fusion.body_values import value_at
from lamina.passes.loop.body_folding import Number
from lamina.passes.loop.loop_rewriting import change
from lamina.passes.loop.own_axis import with_own_axis

Guard = Callable[[Block, SSAValue], SSAValue]
Pads = list[Attribute | None]

_TRAPS = frozenset({"arith.divsi", "arith.divui", "arith.remsi", "arith.remui"})


def may_be_guarded(producer: GenericOp) -> bool:
    """Whether the body can be computed for any numbers, without a fault."""
    return not producer.sources and not any(op.name in _TRAPS for op in block_ops(producer.block))


def widened_pad(
    producer: GenericOp, composed: Sequence[Forms], forms: Forms, value: SSAValue, pad: Attribute
) -> FloatAttr | None:
    """The pad that a nest which only widens makes of half floats, as one of these: its body then
    gives the pad of the read at `forms` by itself, and there is nothing to choose."""
    if not is_widening(producer) or not isinstance(pad, FloatAttr):
        return None
    if composed[0] != forms or shape_of(producer.inputs[0]) != shape_of(value):
        return None
    if pad.value.data != 0 and not isinf(pad.value.data):
        return None
    return FloatAttr(pad.value.data, producer.block.args[0].type)  # pyright: ignore


def keep_batches_apart(producer: GenericOp, position: Forms, extents: Sequence[int]) -> bool:
    """Where a producer is to stand at a `position` beyond an end of one of its dimensions, which is
    a digit of an index that it reads at, that becomes an axis: the read then ends there, too.

    Says whether the producer reads otherwise now.
    """
    ranges = [form.range(extents) for form in position]
    beyond = [
        dim
        for dim, ((low, high), extent) in enumerate(zip(ranges, producer.extents, strict=True))
        if extent > 1 and (low < 0 or high >= extent)
    ]
    reads, is_changed = producer.reads, False
    for number, (value, read_map, pad) in enumerate(reads):
        forms = forms_of(read_map, producer.extents)
        if pad is not None or forms is None:
            continue
        for dim in reversed(beyond):
            value, forms = with_own_axis(producer, value, forms, dim, range(dim))
        if value is not reads[number][0]:
            reads[number] = value, map_of(forms, len(producer.extents)), pad
            is_changed = True
    if is_changed:
        change(producer, reads=reads)
    return is_changed


@record
class PaddedRead:
    """A padded read, at `forms` over a domain of `extents`, of what a producer makes in `shape`."""

    pad: Attribute
    forms: Forms
    shape: Sequence[int]
    extents: Sequence[int]


def guard_of(read: PaddedRead, producer: GenericOp, composed: Sequence[Forms], pads: Pads) -> Guard:
    """What chooses, at the end of the producer's body, between its value and the pad.

    Nothing chooses along an axis beyond which the body gives the pad by itself: where what it reads
    ends there too, at `composed` places, with these `pads`.
    """
    pad, extents = read.pad, read.extents
    bounds: list[tuple[Linear, int, bool]] = []
    for form, extent in zip(read.forms, read.shape, strict=True):
        known: dict[SSAValue, Attribute] = {
            argument: own
            for value, places, own, argument in zip(
                producer.inputs, composed, pads, producer.block.args, strict=False
            )
            if own is not None and (form, extent) in zip(places, shape_of(value), strict=True)
        }
        if value_at(producer.block, known) == pad:
            continue
        low, high = form.range(extents)
        if low < 0:
            bounds.append((form, 0, False))
        if high >= extent:
            bounds.append((form, extent, True))

    def choose(block: Block, value: SSAValue) -> SSAValue:
        outside = _add(block, arith.ConstantOp(pad))  # pyright: ignore[reportArgumentType]
        for form, limit, is_inside_below in bounds:
            below = _is_below(block, form, limit)
            sides = (value, outside) if is_inside_below else (outside, value)
            value = _add(block, arith.SelectOp(below, *sides))
        return value

    return choose


def pads_for(
    producer: GenericOp, composed: Sequence[Forms], extents: Sequence[int], pad: Attribute
) -> Pads:
    """The pads of the producer's reads at composed places: where one may lie outside, and has none,
    any number will do, such as the pad of the read of its result where masks hand that on."""
    handed = _pads(producer, composed, extents, pad)
    known: dict[SSAValue, Attribute] = {
        argument: own
        for argument, own in zip(producer.block.args, handed, strict=False)
        if own is not None
    }
    if value_at(producer.block, known) == pad:
        return handed
    return _pads(producer, composed, extents, None)


def _pads(
    producer: GenericOp,
    composed: Sequence[Forms],
    extents: Sequence[int],
    handed: Attribute | None,
) -> Pads:
    """The pads of the producer's reads: `handed` of its type, else 0, where it has none of its own
    and may lie outside."""
    pads: Pads = []
    given = zip(producer.inputs, composed, producer.pad_values, producer.block.args, strict=False)
    for value, forms, pad, argument in given:
        ranges = [form.range(extents) for form in forms]
        is_inside = all(
            low >= 0 and high < extent
            for (low, high), extent in zip(ranges, shape_of(value), strict=True)
        )
        fits = isinstance(handed, FloatAttr) and handed.type == argument.type
        any_number = handed if fits else _zero(argument.type)
        pads.append(pad if pad is not None or is_inside else any_number)
    return pads


def _zero(kind: Attribute) -> Number:
    if isinstance(kind, AnyFloat):
        return FloatAttr(0.0, kind)
    return IntegerAttr(0, kind)  # pyright: ignore[reportCallIssue, reportArgumentType]


def _is_below(block: Block, form: Linear, limit: int) -> SSAValue:
    """`form < limit`; of one dimension as it is, so that equal questions are equal ops."""
    if len(form.terms) == 1 and form.terms[0][1] == 1:
        at = _add(block, IndexOp(form.terms[0][0]))
        limit -= form.constant
    else:
        at = index_value(block, form)
    bound = _add(block, arith.ConstantOp(IntegerAttr(limit, IndexType())))
    return _add(block, compare_op(at, bound, "slt"))


def index_value(block: Block, form: Linear) -> SSAValue:
    """Index arithmetic for a linear form, at the end of the block."""
    return linear_value(partial(_add, block), form, lambda dim: _add(block, IndexOp(dim)))


def linear_value(
    add: Callable[[Operation], SSAValue], form: Linear, position: Callable[[int], SSAValue]
) -> SSAValue:
    """Index arithmetic for a linear form of positions; `add` puts an op where it belongs."""

    def constant(value: int) -> SSAValue:
        return add(arith.ConstantOp(IntegerAttr(value, IndexType())))

    total: SSAValue | None = None
    for dim, coefficient in form.terms:
        term = position(dim)
        if coefficient != 1:
            term = add(arith.MuliOp(term, constant(coefficient)))
        total = term if total is None else add(arith.AddiOp(total, term))
    if total is None:
        return constant(form.constant)
    return add(arith.AddiOp(total, constant(form.constant))) if form.constant else total


def _add(block: Block, op: Operation) -> SSAValue:
    block.add_op(op)
    return op.results[0]
