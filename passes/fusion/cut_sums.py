"""Sums of products end where both operands end in zeros (`lamina.cut`), so that nobody reads
these: what makes an operand ends there as well.

A mask makes what is summed 0 behind the number of a call, often in the kernel of a product, whose
rows would all run to give zeros. A cut is part of what a nest means, whatever schedule it gets, so
it is noted before rows are limited. Packed products have their operands from outside of the kernel;
others may have made the left one before, as the weights of attention, which are 0 of masked keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import BlockArgument, SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, before_reshapes
from lamina.dialects.loop.access import row_major_strides, shape_of
from lamina.dialects.loop.bounded_dims import bounds_of, kernel_facts
from lamina.dialects.loop.bounds import BOUNDS, CUT, ENDS, FIRST_COUNT, Bound
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.counted_dims import counts_of
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.packing import is_packed
from lamina.dialects.loop.zero_axes import axis_alone
from lamina.passes.fusion.element_limits import Reach
from lamina.passes.fusion.kernel_ends import KernelCall, Numbers, common_masks, reaches
from lamina.passes.fusion.padding_values import Paddings
from lamina.passes.fusion.row_counts import CountFacts
from lamina.passes.fusion.zero_results import number_of

_NOTED = (BOUNDS, CUT, ENDS)

_Made = dict[tuple[GenericOp, int, func.CallOp], list[SSAValue]]
"""Of reads of products that their kernel makes: the numbers from which on they are 0 in a call."""


def cut_sums(
    kernel: func.FuncOp, calls: Sequence[func.CallOp], facts: Sequence[CountFacts]
) -> None:
    """Cut the sums of a kernel, where all its calls have a number for it, by what is known of
    values of the programs that call it (`facts` of each call); such numbers become arguments of the
    kernel."""
    if not calls or not any(own.paddings for own in facts):
        return
    nests = [op for op in block_ops(kernel.body.block) if isinstance(op, GenericOp)]
    summed = {nest: dim for nest in nests if (dim := _summed(nest)) is not None}
    made = _made_zeros(kernel, nests, summed, calls, facts)
    for nest, dim in summed.items():
        counts = [
            _count(nest, dim, call, known, made) for call, known in zip(calls, facts, strict=True)
        ]
        known = [count for count in counts if count is not None]
        if len(known) == len(calls):
            number = Linear.dim(FIRST_COUNT + _number(kernel, calls, known))
            nest.attributes[CUT] = bounds_of(nest, dim, [Bound(True, number)])


def _summed(nest: GenericOp) -> int | None:
    """The only dimension that a product may be cut along: of floats, not in pairs."""
    shape = Contraction.of(nest)
    if shape is None or shape.pairs is not None:
        return None
    if shape.task_packed and len(shape.summed) != 1:
        return None
    if any(name in nest.attributes for name in _NOTED):
        return None
    if isinstance(nest.yielded[0].type, IntegerType):
        return None
    wide = [d for d in shape.summed if nest.extents[d] != 1]
    return wide[0] if len(wide) == 1 else None


def _made_zeros(
    kernel: func.FuncOp,
    nests: Sequence[GenericOp],
    summed: Mapping[GenericOp, int],
    calls: Sequence[func.CallOp],
    facts: Sequence[CountFacts],
) -> _Made:
    """Where reads of products that the kernel makes itself end in zeros along what is summed, in
    each call."""
    found: _Made = {}
    rows = [nest for nest in summed if not is_packed(nest)]  # blocks of rows keep to bounds
    if not any(_is_made(value) for nest in rows for value in nest.inputs):
        return found
    arguments = kernel.body.block.args
    own = [_kernel_call(call, known) for call, known in zip(calls, facts, strict=True)]
    known = Numbers(len(arguments), own, {})
    masks: dict[SSAValue, int] = {
        arguments[mask]: known.of(Reach(count)) for mask, count in common_masks(own)
    }
    zeros = kernel_facts(nests, masks, counts_of(kernel.body.block)).zero_reads
    for nest, place, dim, bound in zeros:
        number = number_of(bound)
        if number is None or nest not in rows or summed[nest] != dim:
            continue
        if not _is_made(nest.inputs[place]):
            continue
        for call in own:
            end = known.end(number, call)
            if end is not None and end == Reach(end.count):
                found.setdefault((nest, place, call.op), []).append(end.count)
    return found


def _is_made(read: SSAValue) -> bool:
    """Whether a kernel makes what it reads."""
    return not isinstance(read, BlockArgument)


def _kernel_call(call: func.CallOp, facts: CountFacts) -> KernelCall:
    """A call, and which of its arguments are masks, and sizes."""
    ends = {place: facts.end_of(value) for place, value in enumerate(call.arguments)}
    counts = {n: facts.counts[v] for n, v in enumerate(call.arguments) if v in facts.counts}
    masks = {place: end for place, end in ends.items() if end is not None}
    return KernelCall(call, masks=masks, counts=counts)


def _count(
    nest: GenericOp, dim: int, call: func.CallOp, facts: CountFacts, made: _Made
) -> SSAValue | None:
    """The number from which on both operands are 0 in a call; None without one."""
    shape = Contraction.of(nest)
    assert shape is not None
    if shape.task_packed and any(_is_given(nest.inputs[n], call) for n in (shape.a, shape.b)):
        return None  # tasks read it in panels and tiles, which are not within what a call brings
    left, right = (
        [*_zeros(nest, n, dim, call, facts.paddings), *made.get((nest, n, call), ())]
        for n in (shape.a, shape.b)
    )
    return next((count for count in left if any(count is other for other in right)), None)


def _is_given(read: SSAValue, call: func.CallOp) -> bool:
    """Whether a kernel reads an argument of the program in a call."""
    if not isinstance(read, BlockArgument):
        return False
    return isinstance(before_reshapes(call.arguments[read.index]), BlockArgument)


def _zeros(
    nest: GenericOp,
    place: int,
    dim: int,
    call: func.CallOp,
    paddings: Mapping[SSAValue, Paddings],
) -> list[SSAValue]:
    """The numbers from which on a read is 0 along a dimension."""
    read, axis = nest.inputs[place], axis_alone(nest, place, dim)
    if not isinstance(read, BlockArgument) or axis is None:
        return []
    at = row_major_strides(shape_of(read))[axis], shape_of(read)[axis]
    return [
        limit.end.count
        for limit, number in paddings.get(call.arguments[read.index], {}).items()
        if (limit.stride, limit.extent) == at
        and number == 0
        and isinstance(limit.end, Reach)
        and limit.end == Reach(limit.end.count)
        and reaches(limit.end.count, call)
    ]


def _number(kernel: func.FuncOp, calls: Sequence[func.CallOp], counts: Sequence[SSAValue]) -> int:
    """The argument that has these numbers in the calls of a kernel; a new one if there is none."""
    for argument in kernel.body.block.args:
        given = (call.arguments[argument.index] for call in calls)
        if all(one is other for one, other in zip(given, counts, strict=True)):
            return argument.index
    block = kernel.body.block
    made = block.insert_arg(counts[0].type, len(block.args))
    made.name_hint = "count"
    for call, count in zip(calls, counts, strict=True):
        call.operands = [*call.operands, count]
    kernel.update_function_type()
    return made.index
