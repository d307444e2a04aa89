"""`derive-sizes`: sizes of results that follow from numbers of a call alone.

A result whose size follows from others (a sum of two, a multiple of one) ends at a number that the
program computes in front of its kernels. Where that is arithmetic on inputs, whoever calls the
program can do it first, and take no more memory for the result than it will have. `lamina.derived`
of the argument that is such a size says how:

    %x: memref<64x8xf32>, %a: memref<i64>, %y: memref<64x8xf32>, %b: memref<i64>,
    %out: memref<128x8xf32> {lamina.kind = "output", lamina.sizes = [0, -1]},
    %n: memref<i64> {lamina.kind = "size", lamina.derived = #lamina.formula<arg1 + arg3>}

The program computes it as well. Where a result ends at a multiple of another number, kernels may
end at that: `limit-arguments` and `compact-arguments` ask here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects.loop import GenericOp, ReshapeOp
from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.kernel import before_reshapes
from lamina.dialects.loop.scalar_ops import constant_integer
from lamina.dialects.records import mutable_record
from lamina.dialects.sizes import Formula, FormulaAttr
from lamina.passes.contracts.declared import Declared, arguments_of
from lamina.passes.contracts.derived_sizes import DERIVED
from lamina.passes.fusion.demanded_elements import is_count
from lamina.passes.fusion.outline_kernels import kernel_functions
from lamina.passes.memory.bufferize import ENTRY
from lamina.passes.schedule.call_extents import note_on_arguments

_JOINED: dict[type[Operation], str] = {
    arith.AddiOp: "add",
    arith.MuliOp: "mul",
    arith.FloorDivSIOp: "floordiv",
    arith.DivSIOp: "divsi",
    arith.MaxSIOp: "max",
    arith.MinSIOp: "min",
}
"""Ops on two numbers of i64, and what a formula calls them."""

Known = Callable[[int], Formula | None]
"""What the arguments of a kernel hold, by their places."""


class DeriveSizesPass(ModulePass):
    """Note on sizes of results how they follow from the numbers that calls bring."""

    name = "derive-sizes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]
        entries = [f for f in functions if ENTRY in f.attributes]
        kernels = {kernel.sym_name.data: kernel for kernel in kernel_functions(op)}
        for entry in entries:
            arguments = arguments_of(entry)
            program = ProgramNumbers(entry, arguments, kernels)
            found: dict[int, Attribute] = {
                declared.number: FormulaAttr(formula)
                for value, declared in zip(entry.body.block.args, arguments, strict=True)
                if declared.kind == "size" and (formula := program.of(value)) is not None
            }
            note_on_arguments(entry, DERIVED, found)


@mutable_record
class _Kernel:
    """What a kernel computes that are single numbers of i64."""

    kernel: func.FuncOp
    known: Known

    def __post_init__(self) -> None:
        self._scalars: dict[SSAValue, Formula | None] = {}
        self._order = {op: place for place, op in enumerate(self.kernel.body.block.ops)}

    def argument(self, place: int) -> Formula | None:
        """What it leaves in one of its arguments."""
        return self._made(self.kernel.body.block.args[place])

    def _memory(self, value: SSAValue, reader: GenericOp) -> Formula | None:
        """What a nest finds in a buffer that it reads."""
        writers = writers_of(value)
        if not writers:
            return self.known(value.index) if isinstance(value, BlockArgument) else None
        is_before = self._order.get(writers[0], len(self._order)) < self._order[reader]
        return self._made(value) if is_before else None

    def _made(self, memory: SSAValue) -> Formula | None:
        """What the only op that writes a buffer stores to it."""
        writers = writers_of(memory)
        if len(writers) != 1 or prod(shape_of(memory)) != 1:
            return None
        (nest,) = writers
        if (
            not isinstance(nest, GenericOp)
            or nest not in self._order
            or prod(nest.extents) != 1
            or nest.monoids
            or memory in nest.inputs
        ):
            return None
        place = list(nest.outs).index(memory)
        return self._scalar(nest, nest.yielded[place]) if nest.is_pointwise else None

    def _scalar(self, nest: GenericOp, value: SSAValue) -> Formula | None:
        if value not in self._scalars:
            self._scalars[value] = self._computed(nest, value)
        return self._scalars[value]

    def _computed(self, nest: GenericOp, value: SSAValue) -> Formula | None:
        if value.type != i64:
            return None
        if isinstance(value, BlockArgument):
            if value.index >= len(nest.inputs) or nest.pad_values[value.index] is not None:
                return None
            return self._memory(nest.inputs[value.index], nest)
        if (number := constant_integer(value)) is not None:
            return Formula.number(number)
        op = value.owner
        assert isinstance(op, Operation)
        if isinstance(op, arith.SubiOp):
            left, right = (self._scalar(nest, operand) for operand in op.operands)
            right = None if right is None else _joined("mul", right, Formula.number(-1))
            return _joined("add", left, right)
        kind = _JOINED.get(type(op))
        if kind is None:
            return None
        left, right = (self._scalar(nest, operand) for operand in op.operands)
        return _joined(kind, left, right)


def numbers_of(module: ModuleOp) -> dict[func.FuncOp, ProgramNumbers]:
    """What is known of the numbers of each entry."""
    kernels = {kernel.sym_name.data: kernel for kernel in kernel_functions(module)}
    return {
        function: ProgramNumbers(function, arguments_of(function), kernels)
        for function in module.body.block.ops
        if isinstance(function, func.FuncOp) and ENTRY in function.attributes
    }


@mutable_record
class ProgramNumbers:
    """What the buffers of an entry hold that are single numbers."""

    entry: func.FuncOp
    arguments: Sequence[Declared]
    kernels: Mapping[str, func.FuncOp]
    _found: dict[SSAValue, Formula | None] = field(default_factory=dict[SSAValue, Formula | None])
    _calls: dict[func.CallOp, _Kernel] = field(default_factory=dict[func.CallOp, _Kernel])

    def of(self, value: SSAValue) -> Formula | None:
        """How a number follows from inputs; None where that is not known."""
        base = before_reshapes(value)
        if base not in self._found:
            self._found[base] = None  # what follows from itself is not known
            self._found[base] = self._of(base)
        return self._found[base]

    def is_input(self, value: SSAValue) -> bool:
        """Whether it comes with the call of the program."""
        return isinstance(value, BlockArgument) and self._kind(value) == "input"

    def _of(self, base: SSAValue) -> Formula | None:
        if isinstance(base, BlockArgument) and self.is_input(base):
            return Formula.argument(base.index) if is_count(base) else None
        if (write := self.only_write(base)) is None:
            return None
        call, place, kernel = write
        if call not in self._calls:
            self._calls[call] = _Kernel(kernel, lambda n: self.of(call.arguments[n]))
        return self._calls[call].argument(place)

    def _kind(self, value: BlockArgument) -> str:
        is_own = value.owner is self.entry.body.block
        return self.arguments[value.index].kind if is_own else ""

    def only_write(self, value: SSAValue) -> tuple[func.CallOp, int, func.FuncOp] | None:
        """The only call that writes a buffer, which argument it is, and the kernel."""
        writes = list(self._writes(before_reshapes(value)))
        return writes[0] if len(writes) == 1 else None

    def _writes(self, value: SSAValue) -> Iterator[tuple[func.CallOp, int, func.FuncOp] | None]:
        """The calls that write a buffer, in whatever shape; None for what may."""
        for use in value.uses:
            op = use.operation
            if isinstance(op, ReshapeOp):
                yield from self._writes(op.result)
            elif isinstance(op, func.CallOp):
                kernel = self.kernels.get(op.callee.string_value())
                if kernel is None or op.parent is not self.entry.body.block:
                    yield None
                elif writers_of(kernel.body.block.args[use.index]):
                    yield op, use.index, kernel
            elif not isinstance(op, func.ReturnOp):
                yield None


def _joined(kind: str, left: Formula | None, right: Formula | None) -> Formula | None:
    """Two formulas in one, unless that is none, or too large."""
    if left is None or right is None:
        return None
    try:
        found = Formula.joined(kind, left, right)
    except ValueError:
        return None
    return found if found.is_small else None


def writers_of(memory: SSAValue) -> list[Operation]:
    """The ops of a kernel that write a buffer of it, or may."""
    return [
        use.operation
        for use in memory.uses
        if not isinstance(use.operation, GenericOp) or memory in use.operation.outs
    ]
