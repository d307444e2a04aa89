"""`compact-buffers`: buffers between kernels lie as calls have them, row-major.

A version for sizes up to bounds has room for these in what goes from kernel to kernel, too. Where
all that kernels write of a buffer ends at numbers of the call, rows of the call may follow one
another: they are few pages and lines of a cache then, where else they are as far apart as those of
the largest call. `lamina.extents` of kernels' arguments says so, as it does of what calls bring
(`compact-arguments`):

    %0 = memref.view %arena[%c0][] : memref<1048576xi8> to memref<64x16x16x16xf32>
    func.call @maker(%0, %b, %h, %w) : ...
    func.call @reader(%0, %b, %h, %w, ...) : ...

What is read behind these numbers is what nobody has written, in either layout. A kernel that has
not been given the numbers gets them as arguments; those that the program computes are kept at the
end of the arena, as they are asked for longer than it was planned.

What else shares the memory of a buffer in one call has to lie as it does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import combinations

from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import (
    ComplexType,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    i8,
)
from xdsl.ir import Block, BlockArgument, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import ReshapeOp
from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.memory_ops import ALIGNMENT
from lamina.dialects.loop.scalar_ops import constant_integer, constant_op
from lamina.dialects.records import record
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.fusion.demanded_elements import is_count
from lamina.passes.fusion.element_limits import EVERYTHING, Demand, Reach
from lamina.passes.fusion.outline_kernels import kernel_calls
from lamina.passes.memory.bufferize import ENTRY
from lamina.passes.memory.plan_memory import ARENA, byte_size
from lamina.passes.schedule.call_extents import (
    dimensions_of,
    open_axes,
)
from lamina.passes.schedule.derive_sizes import ProgramNumbers, numbers_of, writers_of
from lamina.passes.schedule.limit_arguments import limits_of_arguments
from lamina.passes.schedule.passed_extents import Numbers, Passed, PassedExtents


class CompactBuffersPass(ModulePass):
    """Note on arguments of kernels that buffers of the arena lie by numbers of the call."""

    name = "compact-buffers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in block_ops(op.body.block) if isinstance(f, func.FuncOp)]
        entries = [_Entry.of(function) for function in functions if ENTRY in function.attributes]
        arenas = [entry for entry in entries if entry is not None]
        if not arenas:
            return
        kernels = {kernel: calls for kernel, calls in kernel_calls(op).items() if calls}
        uses = _Uses({kernel.sym_name.data: kernel for kernel in kernels})
        wanted = {value: n for entry in arenas for value, n in _candidates(entry, uses)}
        if not wanted:
            return
        programs = numbers_of(op)
        passed = Passed.by(kernels)
        _keep_possible(wanted, passed, programs)
        given: list[SSAValue] = []
        for kernel, calls in passed.items():
            given += PassedExtents(kernel, calls, wanted, programs, are_buffers=True).note()
        for entry in arenas:
            _keep(entry.arena, dict.fromkeys(n for n in given if _is_view(n, entry.arena)))
            entry.function.update_function_type()


@record
class _Entry:
    """A function of open sizes, whose buffers are views of an arena."""

    function: func.FuncOp
    arena: BlockArgument
    inputs: frozenset[SSAValue]
    """The numbers that a call brings."""

    @staticmethod
    def of(function: func.FuncOp) -> _Entry | None:
        """None without an arena, and where all sizes are known."""
        arguments, values = arguments_of(function), function.body.block.args
        kinds = [declared.kind for declared in arguments]
        numbers = [v for v, k in zip(values, kinds, strict=True) if k == "input" and is_count(v)]
        if ARENA.data not in kinds or not numbers:
            return None
        return _Entry(function, values[kinds.index(ARENA.data)], frozenset(numbers))

    def buffers(self) -> Iterator[OpResult]:
        """The views in the block of the function; those of loops and branches are theirs."""
        for use in self.arena.uses:
            op = use.operation
            if isinstance(op, memref.ViewOp) and op.parent is self.arena.owner:
                yield op.result


def _is_view(value: SSAValue, arena: BlockArgument) -> bool:
    return isinstance(value.owner, memref.ViewOp) and value.owner.source is arena


@record
class _Uses:
    """Which kernels buffers go to, and where what these touch of them ends."""

    kernels: Mapping[str, func.FuncOp]
    _known: dict[str, Mapping[int, Demand]] = field(default_factory=dict[str, Mapping[int, Demand]])
    _written: dict[tuple[str, int], bool] = field(default_factory=dict[tuple[str, int], bool])

    def of(self, value: SSAValue) -> list[tuple[func.CallOp, int]] | None:
        """The calls that a buffer goes to, in whatever shape, and where; None if it goes elsewhere,
        or into a loop or a branch."""
        found: list[tuple[func.CallOp, int]] = []
        for use in value.uses:
            op = use.operation
            if isinstance(op, ReshapeOp) and (below := self.of(op.result)) is not None:
                found += below
            elif isinstance(op, func.CallOp) and op.callee.string_value() in self.kernels:
                found.append((op, use.index))
            else:
                return None
        home = value.owner if isinstance(value.owner, Block) else value.owner.parent
        return found if all(call.parent is home for call, _ in found) else None

    def writes(self, call: func.CallOp, place: int) -> bool:
        """Whether a call writes an argument, or may."""
        name = call.callee.string_value()
        if (name, place) not in self._written:
            arguments = self.kernels[name].body.block.args
            self._written[name, place] = bool(writers_of(arguments[place]))
        return self._written[name, place]

    def ends(self, value: SSAValue, call: func.CallOp, place: int) -> list[list[SSAValue]]:
        """For each dimension of a buffer the numbers of the program from which on a call touches
        nothing of it, whatever shape it has there."""
        name = call.callee.string_value()
        if name not in self._known:
            self._known[name] = limits_of_arguments(self.kernels[name])
        found = {dimension: list[SSAValue]() for dimension in dimensions_of(value)}
        for limit in self._known[name].get(place, EVERYTHING):
            along, end = (limit.stride, limit.extent), limit.end
            if along in found and isinstance(end, Reach) and end == Reach(end.count):
                assert isinstance(end.count, BlockArgument)
                found[along].append(call.arguments[end.count.index])
        return [found[dimension] for dimension in dimensions_of(value)]


def _candidates(entry: _Entry, uses: _Uses) -> Iterator[tuple[SSAValue, Numbers]]:
    """The buffers of an entry that are written up to numbers of the call only."""
    for value in entry.buffers():
        kind = value.type
        assert isinstance(kind, MemRefType)
        calls = uses.of(value)
        if not calls or len(shape_of(value)) < 2 or isinstance(kind.element_type, ComplexType):
            continue
        ends = [uses.ends(value, *use) for use in calls if uses.writes(*use)]
        before = [call for call, _ in calls]
        numbers = tuple(
            _number([n for n in along[0] if all(n in own for own in along)], before, entry, uses)
            for along in zip(*ends, strict=True)
        )
        if _is_open(value, numbers):
            yield value, numbers


def _number(
    among: Sequence[SSAValue], calls: Sequence[func.CallOp], entry: _Entry, uses: _Uses
) -> SSAValue | None:
    """One of some numbers that is known before all of these calls, and not written again."""
    for number in sorted(among, key=lambda n: n not in entry.inputs):
        if number in entry.inputs:
            return number
        written = [call for call, place in uses.of(number) or () if uses.writes(call, place)]
        if len(written) != 1 or not _is_view(number, entry.arena):
            continue
        if all(written[0].is_before_in_block(call) for call in calls):
            return number
    return None


def _is_open(value: SSAValue, numbers: Numbers) -> bool:
    """Whether some elements of a buffer lie elsewhere where these are its extents."""
    shape = shape_of(value)
    known = [-1 if n is None or e == 1 else 0 for n, e in zip(numbers, shape, strict=False)]
    return any(shape[axis] > 1 for axis in open_axes(known))


def _keep_possible(
    wanted: dict[SSAValue, Numbers],
    kernels: Mapping[func.FuncOp, Sequence[Passed]],
    programs: Mapping[func.FuncOp, ProgramNumbers],
) -> None:
    """Leave out buffers that some use needs in another layout; in place."""
    asked = kernels
    bases = {base for calls in kernels.values() for call in calls for base in call.bases}
    spans = {base: _span(base) for base in bases}
    while asked:
        gone: set[SSAValue] = set()
        for kernel, calls in asked.items():
            found = PassedExtents(kernel, calls, wanted, programs, are_buffers=True)
            possible = found.possible()
            for call in calls:
                gone.update(
                    base
                    for place, base in enumerate(call.bases)
                    if base in wanted and place not in possible
                )
                gone.update(_lying_otherwise(dict.fromkeys(call.bases), wanted, spans))
        for value in gone:
            del wanted[value]
        asked = {
            kernel: calls
            for kernel, calls in kernels.items()
            if any(not gone.isdisjoint(call.bases) for call in calls)
        }


def _lying_otherwise(
    buffers: Iterable[SSAValue],
    wanted: Mapping[SSAValue, Numbers],
    spans: Mapping[SSAValue, tuple[int, int] | None],
) -> Iterator[SSAValue]:
    """Those of a call's buffers that share memory with another one, which lies otherwise."""
    views = [(value, span) for value in buffers if (span := spans[value]) is not None]
    for (one, (first, end)), (other, (begin, last)) in combinations(views, 2):
        if first >= last or begin >= end or (one not in wanted and other not in wanted):
            continue
        if one.type != other.type or wanted.get(one) != wanted.get(other):
            yield from (value for value in (one, other) if value in wanted)


def _span(value: SSAValue) -> tuple[int, int] | None:
    """The bytes of an arena that a view is of, all of them where that is not known; None for what
    is none."""
    op, kind = value.owner, value.type
    if not isinstance(op, memref.ViewOp):
        return None
    assert isinstance(kind, MemRefType)
    first = constant_integer(op.byte_shift)
    return (0, sys.maxsize) if first is None else (first, first + byte_size(kind))


def _keep(arena: BlockArgument, numbers: Iterable[SSAValue]) -> None:
    """Give numbers places of their own, behind all others of an arena."""
    kind = arena.type
    assert isinstance(kind, MemRefType)
    (size,) = kind.get_shape()
    size = -(-size // ALIGNMENT) * ALIGNMENT
    for number in numbers:
        view = number.owner
        assert isinstance(view, memref.ViewOp) and view.parent is not None
        offset = constant_op(IntegerAttr(size, IndexType()))
        view.parent.insert_op_before(offset, view)
        view.operands[1] = offset.result
        size += ALIGNMENT
    if numbers:
        Rewriter.replace_value_with_new_type(arena, MemRefType(i8, [size]))
