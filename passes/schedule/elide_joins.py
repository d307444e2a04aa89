"""`elide-joins`: what moves joined elements together is left out where they lie together.

A program joins dimensions of open sizes (`view(-1, d)`, `unfold`). A version has room behind each
of these, so that elements are moved together: a kernel reads, for position p of the joined one,
the element at (p / w, p mod w). But where the buffer that it reads lies as calls have it, row-major
over h and w (`compact-buffers`), and what it writes does over their product, each element goes to
the place at which it is: such a result is made where it is wanted.

    func.call @maker(%0, %h, %w)                 // %0: memref<64x64xf32> {lamina.extents = [1, 2]}
    func.call @joins(%0, %h, %w, %hw, %out)      // %out: memref<4096xf32>, of which %hw count

becomes

    %0 = loop.reshape %out : memref<4096xf32> -> memref<64x64xf32>
    func.call @maker(%0, %h, %w)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, IndexOp, ReadOp, ReshapeOp
from lamina.dialects.loop.access import forms_of, shape_of
from lamina.dialects.loop.kernel import before_reshapes
from lamina.dialects.records import record
from lamina.dialects.sizes import Formula
from lamina.passes.contracts.declared import Declared, arguments_of
from lamina.passes.fusion.element_limits import Limit, Reach
from lamina.passes.fusion.outline_kernels import kernel_calls
from lamina.passes.memory.bufferize import ENTRY
from lamina.passes.schedule.call_extents import dimensions_of, extents_of, limits_of
from lamina.passes.schedule.derive_sizes import ProgramNumbers, writers_of
from lamina.passes.schedule.joined_places import Digit, JoinedPlaces, Product, are_digits
from lamina.passes.schedule.limit_arguments import limits_of_arguments


@dataclass(frozen=True)
class ElideJoinsPass(ModulePass):
    """Leave out kernels that move elements together which lie so, behind `compact-buffers`."""

    name = "elide-joins"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        calls = kernel_calls(op)
        kernels = {kernel.sym_name.data: kernel for kernel in calls}
        functions = [f for f in block_ops(op.body.block) if isinstance(f, func.FuncOp)]
        for entry in (f for f in functions if ENTRY in f.attributes):
            program = _Program(entry, arguments_of(entry), kernels)
            for call in [c for c in block_ops(entry.body.block) if isinstance(c, func.CallOp)]:
                if (move := program.move(call)) is not None:
                    _leave_out(move, kernels)
        for kernel, own in kernel_calls(op).items():
            if calls[kernel] and not own:
                op.body.block.erase_op(kernel)


@record
class _Move:
    """A call that copies a buffer of the program to a result, each element to its place."""

    call: func.CallOp
    buffer: memref.ViewOp
    result: BlockArgument


class _Program:
    """An entry, and what is known of the buffers and numbers that it passes on."""

    def __init__(
        self,
        entry: func.FuncOp,
        arguments: Sequence[Declared],
        kernels: Mapping[str, func.FuncOp],
    ) -> None:
        self.entry, self.arguments, self.kernels = entry, arguments, kernels
        self.numbers = ProgramNumbers(entry, arguments, kernels)

    def move(self, call: func.CallOp) -> _Move | None:
        """What a call moves, if that lies where it goes; None if not."""
        kernel = self.kernels.get(call.callee.string_value())
        copied = None if kernel is None else _copied(kernel)
        if copied is None:
            return None
        nest, read = copied
        assert isinstance(read.source, BlockArgument)
        source, out = nest.sources[read.source.index - len(nest.inputs)], nest.outs[0]
        if not isinstance(source, BlockArgument) or not isinstance(out, BlockArgument):
            return None
        result, buffer = call.arguments[out.index], before_reshapes(call.arguments[source.index])
        if not isinstance(result, BlockArgument) or not isinstance(buffer.owner, memref.ViewOp):
            return None
        is_result = self.arguments[result.index].kind == "output"
        once = all(use.operation in (call, self.entry.body.block.last_op) for use in result.uses)
        if not is_result or not once or sum(a is result for a in call.arguments) != 1:
            return None
        sizes = self._result_sizes(result)
        own = self._passed_sizes(call, source)
        if sizes is None or own is None or not self._is_same(nest, read, call, own, sizes):
            return None
        move = _Move(call, buffer.owner, result)
        return move if self._ends_with_the_call(move) else None

    def _result_sizes(self, result: BlockArgument) -> list[Product] | None:
        """Of each dimension of a result how many positions lie in its memory."""
        limits, extents = limits_of(result), extents_of(result)
        shape = shape_of(result)
        if limits is None or (extents is None and any(n >= 0 for n in limits[1:])):
            return None
        if extents is not None and extents != limits:
            return None
        arguments = self.entry.body.block.args
        return self._products([None if n < 0 else arguments[n] for n in limits], shape)

    def _passed_sizes(self, call: func.CallOp, source: BlockArgument) -> list[Product] | None:
        """The same of a buffer that lies as calls have it, in the shape that a kernel gets."""
        if (extents := extents_of(source)) is None:
            return None
        numbers = [None if n < 0 else call.arguments[n] for n in extents]
        return self._products(numbers, shape_of(source))

    def _products(
        self, numbers: Sequence[SSAValue | None], shape: Sequence[int]
    ) -> list[Product] | None:
        found: list[Product] = []
        for number, extent in zip(numbers, shape, strict=True):
            formula = Formula.number(extent) if number is None else self.numbers.of(number)
            product = None if formula is None else Product.of(formula)
            if product is None:
                return None
            found.append(product)
        return found

    def _is_same(
        self,
        nest: GenericOp,
        read: ReadOp,
        call: func.CallOp,
        own: Sequence[Product],
        sizes: Sequence[Product],
    ) -> bool:
        """Whether a nest reads, at each point, the element whose row-major number in what it reads
        is that of the element which it writes."""
        axes = list(zip(read.indices, own, strict=True))
        for dim, size in enumerate(sizes):
            places = JoinedPlaces(size, self.numbers.of, self.numbers.only_write)
            digits: list[Digit] = []
            radix: list[Product] = []
            held = Product()
            while axes and (held != size or not digits):
                index, extent = axes.pop(0)
                if (digit := places.of(index, nest, call, dim)) is None:
                    return False
                digits.append(digit)
                radix.append(extent)
                held = held * extent
            if held != size or not are_digits(digits, radix):
                return False
        return not axes

    def _ends_with_the_call(self, move: _Move) -> bool:
        """Whether all that touches a buffer keeps to the elements that calls have, in front of the
        move where it writes them."""
        for call, place in _calls(move.buffer.result):
            kernel = None if call is None else self.kernels.get(call.callee.string_value())
            if call is None or kernel is None or call.parent is not move.call.parent:
                return False
            if call is move.call:
                continue
            argument = kernel.body.block.args[place]
            extents = extents_of(argument)
            if writers_of(argument) and not call.is_before_in_block(move.call):
                return False
            if extents is None:
                return False
            limits = limits_of_arguments(kernel).get(place, frozenset())
            for (stride, extent), number in zip(dimensions_of(argument), extents, strict=True):
                end = None if number < 0 else Reach(kernel.body.block.args[number])
                if end is not None and Limit(stride, extent, end) not in limits:
                    return False
        return True


def _copied(kernel: func.FuncOp) -> tuple[GenericOp, ReadOp] | None:
    """The nest of a kernel that gives its only result, and the read that this is; None if it
    computes more, or what else the kernel does may fail."""
    if len(kernel.body.blocks) != 1:
        return None
    nests: list[GenericOp] = []
    for op in block_ops(kernel.body.block):
        if isinstance(op, GenericOp):
            nests.append(op)
        elif not isinstance(op, memref.AllocOp | func.ReturnOp):
            return None
    written = [n for n in nests if any(isinstance(out, BlockArgument) for out in n.outs)]
    if len(written) != 1 or any(nest.sources for nest in nests if nest is not written[0]):
        return None
    (nest,) = written
    reads = [op for op in block_ops(nest.block) if isinstance(op, ReadOp)]
    if len(nest.outs) != 1 or not nest.is_pointwise or len(reads) != 1:
        return None
    forms = forms_of(nest.write_maps[0], nest.extents)
    dims = [form.pure_dim for form in forms or ()]
    (read,), (value,) = reads, nest.yielded
    is_copy = value is read.result and dims == list(range(len(nest.extents)))
    plain = all(
        isinstance(op, arith.IndexCastOp | IndexOp | ReadOp) or not op.results
        for op in block_ops(nest.block)
    )
    found = isinstance(read.source, BlockArgument) and read.source.block is nest.block
    return (nest, read) if is_copy and plain and found else None


def _calls(value: SSAValue) -> Iterator[tuple[func.CallOp | None, int]]:
    """The calls that a buffer goes to, in whatever shape, and where; None for other uses."""
    for use in value.uses:
        op = use.operation
        if isinstance(op, ReshapeOp):
            yield from _calls(op.result)
        else:
            yield (op if isinstance(op, func.CallOp) else None), use.index


def _leave_out(move: _Move, kernels: Mapping[str, func.FuncOp]) -> None:
    """Have a buffer be where it would be moved to, and forget what computes places for that."""
    view, block = move.buffer, move.call.parent
    assert block is not None
    passed = list(move.call.arguments)
    block.erase_op(move.call)
    same = ReshapeOp(move.result, view.result.type)
    block.insert_op_before(same, view)
    view.result.replace_all_uses_with(same.result)
    block.erase_op(view)
    for value in dict.fromkeys(map(before_reshapes, passed)):
        if isinstance(value.owner, memref.ViewOp):
            _forget(value, kernels)


def _forget(value: SSAValue, kernels: Mapping[str, func.FuncOp]) -> None:
    """Leave out the call that makes a buffer of the program, if that is all it does, and nobody
    reads it any more."""
    calls = [call for call, _ in _calls(value)]
    if len(calls) != 1 or (call := calls[0]) is None:
        return
    kernel = kernels.get(call.callee.string_value())
    if kernel is None or not _computes_alone(kernel):
        return
    passed = [before_reshapes(argument) for argument in call.arguments]
    for argument, memory in zip(kernel.body.block.args, passed, strict=True):
        mine = isinstance(memory.owner, memref.ViewOp) and [c for c, _ in _calls(memory)] == [call]
        if writers_of(argument) and not mine:
            return
    block = call.parent
    assert block is not None
    block.erase_op(call)
    for other in dict.fromkeys(passed):
        if other is not value and isinstance(other.owner, memref.ViewOp):
            _forget(other, kernels)


def _computes_alone(kernel: func.FuncOp) -> bool:
    """Whether a kernel can do no more than compute: it looks nothing up, which might fail."""
    plain = (memref.AllocOp, func.ReturnOp)
    return all(
        (isinstance(op, GenericOp) and not op.sources) or isinstance(op, plain)
        for op in block_ops(kernel.body.block)
    )
