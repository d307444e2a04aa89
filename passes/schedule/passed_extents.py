"""How what the calls of a kernel pass lies in memory: `lamina.extents` of its arguments.

Buffers and arguments of an entry have numbers of the program as extents. A kernel that gets one,
perhaps in another shape, has to get these numbers, too; those that it has not are added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import BlockArgument, SSAValue

from lamina.dialects.loop.kernel import before_reshapes
from lamina.dialects.records import record
from lamina.dialects.sizes import Formula, FormulaAttr
from lamina.passes.contracts.derived_sizes import DERIVED, multiple_of
from lamina.passes.schedule.call_extents import dimensions_of, extents_of
from lamina.passes.schedule.compact_accesses import Extents, note_extents, refused
from lamina.passes.schedule.derive_sizes import ProgramNumbers

Numbers = tuple[SSAValue | None, ...]
"""For each dimension of a buffer the number of the program that is its extent in memory, or None
for that of the type."""


@record
class Passed:
    """A call of a kernel, its arguments, and what each of these is in whatever shape."""

    call: func.CallOp
    arguments: tuple[SSAValue, ...]
    bases: tuple[SSAValue, ...]

    @staticmethod
    def by(kernels: Mapping[func.FuncOp, Sequence[func.CallOp]]) -> dict[func.FuncOp, list[Passed]]:
        """The calls of each kernel."""
        return {kernel: list(map(Passed._of, calls)) for kernel, calls in kernels.items()}

    @staticmethod
    def _of(call: func.CallOp) -> Passed:
        arguments = tuple(call.arguments)
        return Passed(call, arguments, tuple(map(before_reshapes, arguments)))


class PassedExtents:
    """A kernel, and how what its calls pass lies in memory.

    `wanted` has the extents of what entries pass. `extents` are those of arguments, in places of
    arguments, of which `new` are to come: for each its value in each call. With `are_buffers` there
    is memory wherever the types of arguments have it.
    """

    def __init__(
        self,
        kernel: func.FuncOp,
        calls: Sequence[Passed],
        wanted: Mapping[SSAValue, Numbers],
        programs: Mapping[func.FuncOp, ProgramNumbers],
        *,
        are_buffers: bool,
    ) -> None:
        self.kernel, self.calls = kernel, calls
        self.new: list[tuple[SSAValue, ...]] = []
        self.extents: dict[int, Extents] = {}
        self._programs, self._are_buffers = programs, are_buffers
        if not any(base in wanted for call in calls for base in call.bases):
            return
        for place in range(len(kernel.body.block.args)):
            passed = [_passed(call, place, wanted, programs) for call in calls]
            known = [numbers for numbers in passed if numbers is not None]
            if calls and len(known) == len(calls) and (own := self._agreed(known)) is not None:
                self.extents[place] = own

    def _agreed(self, passed: Sequence[Numbers]) -> Extents | None:
        """Extents that are open in all calls or in none."""
        found: list[int] = []
        for along in zip(*passed, strict=True):
            numbers = tuple(number for number in along if number is not None)
            if len(numbers) not in (0, len(along)):
                return None
            place = self._place(numbers) if numbers else -1
            if place is None:
                return None
            found.append(place)
        return tuple(found)

    def _place(self, numbers: tuple[SSAValue, ...]) -> int | None:
        """Which argument is this number in each call; None where it is not made before."""
        arguments = list(zip(*(passed.arguments for passed in self.calls), strict=True))
        if numbers in arguments:  # the last, which is that of live rows where sizes stand twice
            return len(arguments) - 1 - arguments[::-1].index(numbers)
        if not all(map(self._is_ready, numbers, (passed.call for passed in self.calls))):
            return None
        if numbers not in self.new:
            self.new.append(numbers)
        return len(arguments) + self.new.index(numbers)

    def _is_ready(self, number: SSAValue, call: func.CallOp) -> bool:
        """Whether a number of a program is known in front of a call: it comes with that of the
        program, or another call has made it."""
        block = number.owner if isinstance(number, BlockArgument) else number.owner.parent
        entry = None if block is None else block.parent_op()
        program = self._programs.get(entry) if isinstance(entry, func.FuncOp) else None
        if program is None:
            return False
        if program.is_input(number):
            return True
        write = program.only_write(number)
        if write is None or write[0].parent is not call.parent:
            return False
        return write[0].is_before_in_block(call)

    def _all_extents(self) -> dict[int, Extents]:
        """Those of arguments of entries as well, where these are buffers."""
        if not self._are_buffers:
            return self.extents
        known = {a.index: extents_of(a) for a in self.kernel.body.block.args}
        return {n: e for n, e in known.items() if e is not None} | self.extents

    def possible(self) -> frozenset[int]:
        """The arguments that the kernel can touch so."""
        if not self.extents:
            return frozenset()
        buffers = self.extents if self._are_buffers else ()
        bad = refused(self.kernel, self._all_extents(), buffers)
        return frozenset(self.extents) - bad

    def note(self) -> list[SSAValue]:
        """Say so, and pass numbers that the kernel has not been given, which are returned."""
        if not self.extents and self._are_buffers:
            return []
        block, noted = self.kernel.body.block, self._all_extents()
        for numbers in self.new:
            block.insert_arg(numbers[0].type, len(block.args)).name_hint = "extent"
            for passed, number in zip(self.calls, numbers, strict=True):
                passed.call.operands = [*passed.call.operands, number]
        if self.new:
            self.kernel.update_function_type()
            arguments = self.kernel.arg_attrs
            if arguments is not None:
                more = [DictionaryAttr({})] * len(self.new)
                self.kernel.properties["arg_attrs"] = ArrayAttr([*arguments, *more])
        note_extents(self.kernel, noted)
        return [number for numbers in self.new for number in numbers]


def _passed(
    call: Passed,
    place: int,
    wanted: Mapping[SSAValue, Numbers],
    programs: Mapping[func.FuncOp, ProgramNumbers],
) -> Numbers | None:
    """The extents of an argument in the shape that a call has of it; None where an open dimension
    is split or joined there by what is no number of the program."""
    passed, value = call.arguments[place], call.bases[place]
    if value not in wanted:
        return None
    numbers = wanted[value]
    if passed is value:
        return numbers
    entry = call.call.parent_op()
    program = programs.get(entry) if isinstance(entry, func.FuncOp) else None
    dimensions = dimensions_of(passed)
    found: list[SSAValue | None] = [None] * len(dimensions)
    for number, dimension in zip(numbers, dimensions_of(value), strict=True):
        if number is None or dimension[1] == 1:  # of one element, the number is taken as 1 as well
            continue
        if dimension not in dimensions:
            other = _otherwise(number, dimension, dimensions, call, program)
            if other is None:
                return None
            number, dimension = other
        found[dimensions.index(dimension)] = number
    return tuple(found)


def _otherwise(
    number: SSAValue,
    dimension: tuple[int, int],
    dimensions: Sequence[tuple[int, int]],
    call: Passed,
    program: ProgramNumbers | None,
) -> tuple[SSAValue, tuple[int, int]] | None:
    """The number, and the dimension, of a shape in which an open dimension is split in groups of
    which there are so many, or joined with all known ones behind it."""
    formula = None if program is None else _formula(number, program)
    if program is None or formula is None:
        return None
    stride, extent = dimension
    if (multiple := multiple_of(formula)) is not None:
        at, factor = multiple
        groups = (factor * stride, extent // factor)
        if extent % factor == 0 and groups in dimensions:
            return program.entry.body.block.args[at], groups
    for step, size in dimensions:
        factor, rest = divmod(stride, step)
        if rest or size != factor * extent:
            continue
        for passed in call.arguments:
            if _formula(passed, program) == formula * factor:
                return passed, (step, size)
    return None


def _formula(number: SSAValue, program: ProgramNumbers) -> Formula | None:
    """How a number follows from those of a call, as the entry says or is seen in it."""
    if isinstance(number, BlockArgument) and number.owner is program.entry.body.block:
        said = program.arguments[number.index].entries.get(DERIVED)
        if isinstance(said, FormulaAttr):
            return said.data
    return program.of(number)
