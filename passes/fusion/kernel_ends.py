"""Masks of kernels, and where their loops end that are not over rows: what all calls agree on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from lamina.dialects.loop import GenericOp, ScatterOp
from lamina.dialects.loop.agreed_bounds import are_walked
from lamina.dialects.loop.bounded_dims import (
    bounded_dims,
    bounds_of,
    counted_dims,
    leaves_kernel,
    written_by,
)
from lamina.dialects.loop.bounds import (
    BOUNDS,
    FIRST_COUNT,
    MASKS,
    Bound,
    masks_of,
)
from lamina.dialects.loop.counted_dims import counts_of, set_ends
from lamina.dialects.loop.counted_rows import counted_sums, row_number
from lamina.dialects.loop.kernel_nests import rows_of, summed_rows
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.live_rows import Digit, LiveRows
from lamina.dialects.loop.masked_reads import masked_reads
from lamina.dialects.loop.packing import is_packed
from lamina.dialects.loop.scatter_masks import masks_within_rows
from lamina.dialects.records import record
from lamina.passes.fusion.element_limits import (
    Demand,
    PointLimit,
    Points,
    Reach,
)
from lamina.passes.fusion.false_masks import false_masks, note_zeros_of
from lamina.passes.fusion.row_limits import Rows

Masks = dict[int, SSAValue]
"""For each argument of a kernel that is a mask of one dimension the size below which it is true."""


@record
class KernelCall:
    """A call of a kernel, and what limits it there."""

    op: func.CallOp
    rows: Rows = field(default_factory=Rows)
    copied: Rows = field(default_factory=Rows)
    """Of scatters, the limits of what they copy."""
    taken: Rows = field(default_factory=Rows)
    """Of sorts, the limits of the first elements that they are asked for."""
    masks: Masks = field(default_factory=Masks)
    counts: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    """For each argument of the kernel that is a size that one."""
    points: dict[GenericOp, Points] = field(default_factory=dict[GenericOp, Points])
    """Which points of each nest somebody reads."""
    zeros: dict[int, Demand] = field(default_factory=dict[int, Demand])
    """For each argument limits outside of which it is 0, or false."""
    sizes: Mapping[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The sizes of the call that stand for those which its limits name, if these are another
    call's."""

    def size(self, named: SSAValue) -> SSAValue:
        """The size of the call that its limits name so."""
        return self.sizes.get(named, named)

    def knows(self, named: SSAValue) -> bool:
        """Whether the size that limits name so is known where the kernel is called."""
        return reaches(self.size(named), self.op)


def reaches(value: SSAValue, call: func.CallOp) -> bool:
    """Whether a size of the program is known where a kernel is called."""
    block = call.parent
    if isinstance(value, BlockArgument):
        return value.block is block
    assert isinstance(value.owner, Operation) and isinstance(block, Block)
    return value.owner.parent is block and value.owner.is_before_in_block(call)


def note_bounds(
    kernel: func.FuncOp,
    nests: Sequence[GenericOp],
    calls: Sequence[KernelCall],
    numbers: dict[Reach, int],
    *,
    walked: bool,
) -> None:
    """Note the masks that all calls of a kernel agree on, and the bounds that follow from them.

    They are noted if it is `walked` whether something else than sums of products has them, and
    where tiles of products keep to them: loops over rows have ends instead (`note_ends`).
    """
    if not any(map(is_packed, nests)):
        return
    known = dict(numbers)
    masks: dict[int, int] = {}
    for argument, count in common_masks(calls):
        first = len(kernel.body.block.args) + len(known)
        masks[argument] = known.setdefault(Reach(count), first)
    false = false_masks(nests, lambda argument: common_zeros(argument, calls), known)
    if not masks and not false:  # other bounds are numbers, and noted by `bound-dims`
        return
    arguments = kernel.body.block.args
    given: dict[SSAValue, int] = {arguments[mask]: number for mask, number in masks.items()}
    found = bounded_dims(nests, given, false)
    if are_walked(found) != walked:
        return
    noted = {nest: bounds_of(nest, dim, bounds) for nest, (dim, bounds) in found.items()}
    if not any(bounds.counts for bounds in noted.values()):
        return
    numbers.update(known)
    if masks:
        _note_masks(kernel, masks)
    note_zeros_of(kernel, false)
    for nest, bounds in noted.items():
        nest.attributes[BOUNDS] = bounds


def note_ends(
    kernel: func.FuncOp,
    nests: Sequence[GenericOp],
    calls: Sequence[KernelCall],
    numbers: dict[Reach, int],
) -> None:
    """Note where loops of nests end that are not over the kernel's rows.

    Products have bounds instead; what sums over rows takes them in turn.
    """
    if any(is_packed(nest) or BOUNDS in nest.attributes for nest in nests):
        return
    found, known, masks = counted_in_calls(kernel, nests, calls, numbers)
    note_found(kernel, found, known, masks, numbers)


def counted_in_calls(
    kernel: func.FuncOp,
    nests: Sequence[GenericOp],
    calls: Sequence[KernelCall],
    numbers: Mapping[Reach, int],
) -> tuple[dict[GenericOp, dict[int, set[Bound]]], Numbers, dict[int, int]]:
    """The ends of all dimensions of nests that follow from what all calls agree on; the numbers
    that they name, and those of masks that end at one."""
    arguments = kernel.body.block.args
    known = Numbers(len(arguments), calls, dict(numbers))
    masks = {argument: known.of(Reach(count)) for argument, count in common_masks(calls)}
    given: dict[SSAValue, int] = {arguments[m]: number for m, number in masks.items()}
    kept = {nest: kept_bounds(nest, calls, known) for nest in nests}
    return counted_dims(nests, given, counts_of(kernel.body.block), kept), known, masks


def note_found(
    kernel: func.FuncOp,
    counted: Mapping[GenericOp, Mapping[int, set[Bound]]],
    known: Numbers,
    masks: Mapping[int, int],
    numbers: dict[Reach, int],
) -> dict[int, int]:
    """Note ends, and the masks that they follow from: numbers that they name become arguments.

    Gives what becomes of the numbers that are arguments in `known`.
    """
    arguments = kernel.body.block.args
    found = _alike(counted)
    bounds = {b for dims in found.values() for own in dims.values() for b in own}
    if not bounds:
        return {}
    # Only what is used becomes an argument.
    used = {d - FIRST_COUNT for bound in bounds for d, _ in bound.form.terms if d >= FIRST_COUNT}
    renamed: dict[int, int] = {}
    for reach, number in known.made.items():
        if number in used and number >= len(arguments):
            renamed[number] = numbers.setdefault(reach, len(arguments) + len(numbers))
    for nest, dims in found.items():
        set_ends(nest, {d: [_renamed(b, renamed) for b in own] for d, own in dims.items()})
    # An end may follow from a mask by what another nest stores: all masks of these numbers count.
    left = {m: renamed.get(number, number) for m, number in masks.items() if number in used}
    if left:
        _note_masks(kernel, left)
    return renamed


def note_padded_masks(
    kernel: func.FuncOp,
    nests: Sequence[GenericOp],
    calls: Sequence[KernelCall],
    numbers: dict[Reach, int],
) -> None:
    """Note the masks that are read beyond their edges, beside what they mask: where reads of that
    end at the same numbers (`limit-padded-reads`) they say nothing more."""
    arguments = kernel.body.block.args
    padded = {v for nest in nests for v, _, pad in nest.reads if pad is not None}
    wanted = [(mask, count) for mask, count in common_masks(calls) if arguments[mask] in padded]
    known = Numbers(len(arguments), calls, numbers)
    if wanted:
        _note_masks(kernel, {mask: known.of(Reach(count)) for mask, count in wanted})


def note_masked_reads(
    kernel: func.FuncOp,
    nests: Sequence[GenericOp],
    calls: Sequence[KernelCall],
    numbers: dict[Reach, int],
) -> None:
    """Note the masks that say what a kernel wants of its arguments, where it copies these: what is
    behind need not be there, though panels of products that it fills are whole."""
    common = dict(common_masks(calls))
    arguments = kernel.body.block.args
    given = {arguments[mask] for mask in common}
    wanted = {
        nest.inputs[guard.read]
        for nest in nests
        if nest.is_pointwise and given.intersection(nest.inputs)
        for number, guards in masked_reads(nest, given).items()
        if nest.inputs[number] in arguments or leaves_kernel(nest.inputs[number])
        for guard in guards
    }
    if wanted:
        known = Numbers(len(arguments), calls, numbers)
        _note_masks(
            kernel,
            {m: known.of(Reach(count)) for m, count in common.items() if arguments[m] in wanted},
        )


def note_scatter_masks(
    kernel: func.FuncOp,
    op: ScatterOp,
    calls: Sequence[KernelCall],
    numbers: Mapping[Reach, int],
) -> None:
    """Note the masks of a scatter, the only op of a kernel, that are true at all points of the rows
    that count."""
    arguments = kernel.body.block.args
    known = [(mask, numbers.get(Reach(count))) for mask, count in common_masks(calls)]
    masks: dict[SSAValue, int] = {arguments[m]: number for m, number in known if number is not None}
    true = set(masks_within_rows(op, masks).values())
    if true:
        _note_masks(kernel, {v.index: masks[v] for v in arguments if v in true})


def live_sums(
    kernel: func.FuncOp,
    nests: Sequence[GenericOp],
    calls: Sequence[KernelCall],
    numbers: dict[Reach, int],
) -> LiveRows | None:
    """The rows that count of a part of a kernel that sums over rows, if they are those in front.

    Those behind add nothing to sums, and nobody reads what else they give.
    """
    if not any(map(summed_rows, nests)) or any(map(is_packed, nests)):
        return None
    arguments = kernel.body.block.args
    known = Numbers(len(arguments), calls, dict(numbers))
    masks = {argument: known.of(Reach(count)) for argument, count in common_masks(calls)}
    given: dict[SSAValue, int] = {arguments[m]: number for m, number in masks.items()}
    rows = prod(nests[0].extents[d] for d in rows_of(nests[0]))
    for number in counted_sums(nests, given, counts_of(kernel.body.block)):
        ends = [known.end(number, call) for call in calls]
        if rows < 2 or not all(_is_unread(nest, calls, ends) for nest in nests):
            continue
        chosen, new = number, ends[0]
        if number >= len(arguments) and new is not None:
            chosen = numbers.setdefault(new, len(arguments) + len(numbers))
        left = {m: chosen for m, own in masks.items() if own == number}
        if left:
            _note_masks(kernel, left)
        return LiveRows((Digit(rows, chosen),))
    return None


def _is_unread(nest: GenericOp, calls: Sequence[KernelCall], ends: Sequence[Reach | None]) -> bool:
    """Whether no caller of a kernel reads what a nest gives it of rows behind its end."""
    if summed_rows(nest) or not any(map(leaves_kernel, written_by(nest))):
        return True
    row = row_number(nest)
    rows = prod(nest.extents[d] for d in rows_of(nest))
    return all(
        end is not None and PointLimit(row, rows, 1, rows, end) in call.points.get(nest, Points())
        for call, end in zip(calls, ends, strict=True)
    )


class Numbers:
    """Arguments of a kernel that are sizes: those that it has, and new ones behind them."""

    def __init__(self, first: int, calls: Sequence[KernelCall], made: dict[Reach, int]) -> None:
        self._first, self._calls, self.made = first, calls, made

    def of(self, end: Reach) -> int:
        """The argument that is a number in all calls."""
        if end in self.made:
            return self.made[end]
        if end == Reach(end.count):
            given = (
                {number for number, size in call.counts.items() if size is end.count}
                for call in self._calls
            )
            if found := set[int].intersection(*given):
                return min(found)
        return self.made.setdefault(end, self._first + len(self.made))

    def end(self, number: int, call: KernelCall) -> Reach | None:
        """What the number in an argument is in a call, if that is known."""
        made = {own: end for end, own in self.made.items()}
        size = call.counts.get(number)
        return made.get(number) or (None if size is None else Reach(size))


def common_masks(calls: Sequence[KernelCall]) -> list[tuple[int, SSAValue]]:
    """The masks of a kernel in all calls, of sizes that are known there."""
    common = set[tuple[int, SSAValue]].intersection(*(set(call.masks.items()) for call in calls))
    return [
        (argument, count)
        for argument, count in sorted(common, key=lambda pair: pair[0])
        if all(call.knows(count) for call in calls)
    ]


def common_zeros(argument: int, calls: Sequence[KernelCall]) -> Demand:
    """Outside of which limits an argument is 0 in all calls, of sizes that are known there."""
    common = frozenset.intersection(*(call.zeros.get(argument, frozenset()) for call in calls))
    ends = {limit: limit.end for limit in common}
    return frozenset(
        limit
        for limit, end in ends.items()
        if isinstance(end, Reach) and all(call.knows(end.count) for call in calls)
    )


def _by_form(one: tuple[PointLimit, Reach]) -> tuple[object, ...]:
    point, end = one
    return point.form.terms, *end.numbers


def kept_bounds(
    nest: GenericOp, calls: Sequence[KernelCall], known: Numbers
) -> dict[int, list[Bound]]:
    """Bounds of dimensions, beside the rows, outside of which no call needs what a nest gives."""
    agreed = Points.intersection(*(call.points.get(nest, Points()) for call in calls))
    found: dict[int, list[Bound]] = {}
    ends = [(point, point.end) for point in agreed if isinstance(point.end, Reach)]
    for point, end in sorted(ends, key=_by_form):
        dim = point.form.pure_dim
        if dim is None or dim in rows_of(nest) or point.form != Linear.dim(dim):
            continue
        whole = point.stride == 1 and point.extent == nest.extents[dim]
        if whole and all(call.knows(end.count) for call in calls):
            bound = Bound(True, Linear.dim(FIRST_COUNT + known.of(end)))
            found.setdefault(dim, []).append(bound)
    return found


def _alike(
    found: Mapping[GenericOp, Mapping[int, set[Bound]]],
) -> dict[GenericOp, dict[int, set[Bound]]]:
    """What is worth an end: dimensions of several positions."""
    return {
        nest: {d: own for d, own in dims.items() if own and nest.extents[d] > 1}
        for nest, dims in found.items()
    }


def _renamed(bound: Bound, numbers: Mapping[int, int]) -> Bound:
    terms = {
        FIRST_COUNT + numbers.get(d - FIRST_COUNT, d - FIRST_COUNT) if d >= FIRST_COUNT else d: c
        for d, c in bound.form.terms
    }
    return Bound(bound.is_upper, Linear.of(terms, bound.form.constant))


def _note_masks(kernel: func.FuncOp, masks: Mapping[int, int]) -> None:
    pairs = [number for pair in sorted({**masks_of(kernel), **masks}.items()) for number in pair]
    kernel.attributes[MASKS] = DenseArrayBase.from_list(i64, pairs)
