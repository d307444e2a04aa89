"""Numbers at which rows end: which values are sizes or masks, and how others are computed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import field
from math import prod

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    ArrayAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue, SSAValues
from xdsl.ir.affine import AffineMap

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, ReshapeOp, YieldOp
from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.kernel_nests import set_rows
from lamina.dialects.loop.predicates import EQ, SGE, SLE
from lamina.dialects.loop.scalar_ops import constant_integer
from lamina.dialects.records import mutable_record
from lamina.passes.fusion.demanded_elements import NestDemand, is_count
from lamina.passes.fusion.element_limits import (
    EVERYTHING,
    NO_ORDERS,
    Demand,
    End,
    Orders,
    Reach,
)
from lamina.passes.fusion.masked_points import MaskedPoints
from lamina.passes.fusion.outline_kernels import KERNEL, kernel_functions
from lamina.passes.fusion.padding_values import Paddings, paddings_of
from lamina.passes.fusion.undefined_padding import undefined_results

_NUMBER = TensorType(i64, [])


@mutable_record
class CountFacts:
    """Of values: the size of the program that each is, where each may be true, and what stands in
    padding."""

    counts: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    masks: dict[SSAValue, Demand] = field(default_factory=dict[SSAValue, Demand])
    prefixes: set[SSAValue] = field(default_factory=set[SSAValue])
    """Masks of one dimension that are true at all elements at which they may be."""
    paddings: dict[SSAValue, Paddings] = field(default_factory=dict[SSAValue, Paddings])
    most: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """Of sizes: the most that they are, where results are cut to them."""
    related: dict[SSAValue, tuple[SSAValue, int, int]] = field(
        default_factory=dict[SSAValue, tuple[SSAValue, int, int]]
    )
    """Sizes that kernels compute of another, times a factor, and a number: all three."""
    orders: dict[SSAValue, Orders] = field(default_factory=dict[SSAValue, Orders])
    """Of booleans: pairs of sizes of which they say that the first is not above the second."""
    checked: set[tuple[SSAValue, SSAValue]] = field(default_factory=set[tuple[SSAValue, SSAValue]])
    """Such pairs of which calls check it: where it is not so, nobody sees any result."""
    undefined: dict[SSAValue, Demand] = field(default_factory=dict[SSAValue, Demand])
    """Outside of which limits elements follow from what callers left behind an argument's."""

    def note_count(self, value: SSAValue) -> None:
        """A value of the program that may be a size: its own, if it is no copy of another."""
        if is_count(value):
            self.counts.setdefault(value, value)

    def name_counts(self, kernel: func.FuncOp, call: func.CallOp) -> None:
        """Numbers that a kernel computes and returns are what its call gives."""
        end = kernel.body.block.last_op
        assert isinstance(end, func.ReturnOp)
        for value, made in zip(end.operands, call.res, strict=True):
            if is_count(value) and isinstance(value.owner, GenericOp):
                self.counts.setdefault(value, made)
                source, factor, offset = _related(value) or (value, 1, 0)
                if source is not value and source in self.counts:
                    self.related[made] = self.counts[source], factor, offset

    def note_order(self, value: SSAValue) -> None:
        """A boolean that a kernel computes of two sizes."""
        found = _compared(value)
        if found and all(n in self.counts for pair in found for n in pair):
            self.orders[value] = {(self.counts[low], self.counts[high]) for low, high in found}

    def same(self, value: SSAValue, other: SSAValue, known: CountFacts | None = None) -> None:
        """`value` is what another is known to be."""
        known = known or self
        if other in known.counts:
            self.counts[value] = known.counts[other]
        if other in known.masks:
            self.masks[value] = known.masks[other]
        if other in known.prefixes:
            self.prefixes.add(value)
        if other in known.paddings:
            self.paddings[value] = known.paddings[other]
        if other in known.undefined:
            self.undefined[value] = known.undefined[other]
        if other in known.orders:
            self.orders[value] = known.orders[other]

    def known_of(self, value: SSAValue) -> Hashable:
        """All that `same` hands on of a value."""
        return (
            self.counts.get(value),
            self.masks.get(value),
            value in self.prefixes,
            frozenset(self.paddings.get(value, {}).items()),
            self.undefined.get(value),
            frozenset(self.orders.get(value, NO_ORDERS)),
        )

    def reshaped(self, op: ReshapeOp) -> None:
        """The same elements; nothing is known of complex numbers by their parts, nor of parts."""
        if prod(shape_of(op.source)) == prod(shape_of(op.result)):
            self.same(op.result, op.source)

    def end_of(self, value: SSAValue) -> SSAValue | None:
        """The size below which a mask of one dimension is true, and from which on it is false, if
        it is one."""
        if value not in self.prefixes:
            return None
        return self._end_of(value)

    def _end_of(self, value: SSAValue) -> SSAValue | None:
        """The size from which on a mask of one dimension is false, if there is one."""
        limits = [x for x in self.masks.get(value, ()) if shape_of(value) == (x.extent,)]
        end = limits[0].end if len(limits) == 1 and limits[0].stride == 1 else None
        return end.count if isinstance(end, Reach) and end == Reach(end.count) else None

    def most_of(self, end: End) -> int | None:
        """What the end of a limit is at most, if that is known."""
        if isinstance(end, int):
            return end
        most = self.most.get(end.count)
        return None if most is None or end.factor < 0 else end.at(most)

    def through(self, kernel: func.FuncOp) -> Sequence[SSAValue]:
        """Follow the ops of a kernel; gives what it returns."""
        for op in kernel.body.block.ops:
            if isinstance(op, func.ReturnOp):
                return op.operands
            self.follow_op(op)
        return ()

    def follow_op(self, op: Operation) -> None:
        """Follow a reshape or a nest; of others nothing is known."""
        if isinstance(op, ReshapeOp):
            self.reshaped(op)
        elif isinstance(op, GenericOp):
            within = MaskedPoints(op, self.masks, self.counts)
            self.undefined |= undefined_results(op, self.undefined, within, self.prefixes)
            if op.is_pointwise:
                self.follow(op)

    def follow(self, nest: GenericOp) -> None:
        """Follow a pointwise nest: its results may be sizes, or masks."""
        demand = NestDemand(nest, [EVERYTHING] * len(nest.res), self.masks, self.counts)
        results = zip(nest.res, nest.write_maps, nest.yielded, strict=True)
        for number, (result, index_map, value) in enumerate(results):
            if is_count(result):
                if isinstance(value, BlockArgument) and value.index < len(nest.inputs):
                    self.same(result, nest.inputs[value.index])
                continue
            limits = demand.result_limits(result, index_map, demand.truth(value))
            if limits:
                self.masks[result] = limits
                is_all = demand.is_all_of_truth(value, self.prefixes)
                if is_all and self._end_of(result) is not None:
                    self.prefixes.add(result)
            elif paddings := paddings_of(demand, number, self.paddings):
                self.paddings[result] = paddings


def _compared(value: SSAValue) -> Orders:
    """Pairs of numbers of which a nest gives whether the first is not above the second; of equal
    ones both are not above each other."""
    nest = value.owner
    if not isinstance(value, OpResult) or not isinstance(nest, GenericOp) or nest.extents:
        return NO_ORDERS
    made = nest.yielded[value.index].owner
    if not isinstance(made, arith.CmpiOp):
        return NO_ORDERS
    left, right = made.operands
    if not isinstance(left, BlockArgument) or not isinstance(right, BlockArgument):
        return NO_ORDERS
    one, other = nest.inputs[left.index], nest.inputs[right.index]
    predicate = made.predicate.value.data
    below = {(one, other)} if predicate in (SLE, EQ) else NO_ORDERS
    return below | {(other, one)} if predicate in (SGE, EQ) else below


def _related(value: SSAValue) -> tuple[SSAValue, int, int] | None:
    """The number of which another is computed as a positive multiple, or by adding a number: with
    the factor, and what is added."""
    nest = value.owner
    assert isinstance(value, OpResult) and isinstance(nest, GenericOp)
    made = nest.yielded[value.index].owner
    if nest.extents or not isinstance(made, arith.MuliOp | arith.AddiOp | arith.SubiOp):
        return None
    operands = [made.operands, reversed(made.operands)]
    for number, other in operands[:1] if isinstance(made, arith.SubiOp) else operands:
        constant = constant_integer(other)
        if not isinstance(number, BlockArgument) or constant is None:
            continue
        if not isinstance(made, arith.MuliOp):
            offset = -constant if isinstance(made, arith.SubiOp) else constant
            return nest.inputs[number.index], 1, offset
        if constant > 0:
            return nest.inputs[number.index], constant, 0
    return None


def numbers_first(module: ModuleOp) -> None:
    """Have the sizes that follow from others alone computed in front of everything else.

    Rows may end at them then: a size of a result is often computed behind what makes the result.
    So is the mask of an image that a convolution made, by a kernel that gives both.
    """
    names = {kernel.sym_name.data for kernel in kernel_functions(module)}
    for function in module.body.block.ops:
        if not isinstance(function, func.FuncOp) or not function.body.blocks:
            continue
        if function.sym_name.data in names:
            continue
        block, first = function.body.block, set[Operation]()
        for op in block_ops(block):
            if not isinstance(op, func.CallOp) or op.callee.string_value() not in names:
                continue
            given = op.operands
            if not given or not all(map(is_count, given)) or not any(map(is_count, op.results)):
                continue
            if all(isinstance(v, BlockArgument) or v.owner in first for v in given):
                place = next((other for other in block_ops(block) if other not in first), op)
                first.add(op)
                if place is not op:
                    op.detach()
                    block.insert_op_before(op, place)


def expose_counts(module: ModuleOp) -> None:
    """Have kernels return the sizes that they compute of others, and read themselves.

    Where these are the ends of masks, other kernels end their rows at them.
    """
    for kernel in kernel_functions(module):
        end = kernel.body.block.last_op
        assert isinstance(end, func.ReturnOp)
        given = set(end.operands)
        made = [value for value in _sizes(kernel) if value not in given]
        if not made:
            continue
        calls = [op for op in module.walk() if isinstance(op, func.CallOp)]
        return_more(kernel, made, [c for c in calls if c.callee == SymbolRefAttr(kernel.sym_name)])


def return_more(
    kernel: func.FuncOp, values: Sequence[SSAValue], calls: Sequence[func.CallOp]
) -> None:
    """Have a kernel return more values, and its calls give them.

    What the calls gave before stays the same values, by which sizes are known.
    """
    end = kernel.body.block.last_op
    assert isinstance(end, func.ReturnOp)
    end.operands = [*end.operands, *values]
    kernel.update_function_type()
    for call in calls:
        first = len(call.results)
        made = [OpResult(value.type, call, first + n) for n, value in enumerate(values)]
        call.results = SSAValues((*call.results, *made))


def _sizes(kernel: func.FuncOp) -> list[SSAValue]:
    """The numbers that a kernel computes and reads: those that follow from other numbers alone, and
    those that are compared in other nests, as with positions."""
    return [
        value
        for nest in kernel.body.block.ops
        if isinstance(nest, GenericOp) and nest.inputs
        for value in nest.res
        if is_count(value) and value.uses and (_follows(nest) or _is_compared(value))
    ]


def _follows(nest: GenericOp) -> bool:
    return not nest.extents and all(map(is_count, nest.inputs))


def _is_compared(number: SSAValue) -> bool:
    readers = {use.operation for use in number.uses}
    return any(
        isinstance(use.operation, arith.CmpiOp)
        for reader in readers
        if isinstance(reader, GenericOp) and reader.extents
        for operand, argument in zip(reader.inputs, reader.block.args, strict=False)
        if operand is number
        for use in argument.uses
    )


class Ends:
    """Makes the numbers of reaches where kernels are called, each once in a program."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._names: dict[tuple[int, int, int, int], str] = {}
        functions = (op for op in block_ops(module.body.block) if isinstance(op, func.FuncOp))
        self._first = sum(op.sym_name.data.startswith("reach_") for op in functions)
        self._made: dict[Reach, SSAValue] = {}

    def value(self, end: Reach, call: func.CallOp) -> SSAValue:
        """The number in front of a call; it stands where what it follows from is first known."""
        if end == Reach(end.count):
            return end.count
        found = self._made.get(end)
        if found is None:
            name = self._function(end)
            made = func.CallOp(name, [end.count], [_NUMBER])
            block = call.parent
            assert block is not None
            owner = end.count.owner
            if isinstance(owner, Block):
                assert owner.first_op is not None
                owner.insert_ops_before([made], owner.first_op)
            else:
                assert owner.parent is not None
                owner.parent.insert_ops_after([made], owner)
            found = self._made[end] = made.res[0]
        return found

    def _function(self, end: Reach) -> str:
        """A kernel of one number."""
        if (key := end.numbers) not in self._names:
            factor, offset, least, divisor = key
            name = self._names[key] = f"reach_{len(self._names) + self._first}"
            body = Block(arg_types=[i64])
            value: SSAValue = body.args[0]
            steps = [(arith.MuliOp, factor, None), (arith.AddiOp, offset + divisor - 1, None)]
            steps += [(arith.DivSIOp, divisor, 1), (arith.MaxSIOp, least, 0)]
            for kind, number, unchanged in steps:
                if number == unchanged:
                    continue
                constant = arith.ConstantOp(IntegerAttr(number, i64))
                step = kind(value, constant.result)
                body.add_ops([constant, step])
                value = step.result
            body.add_op(YieldOp([value]))
            block = Block(arg_types=[_NUMBER])
            at = AffineMap(0, 0, ())
            nest = GenericOp([], [block.args[0]], [at], [at], ["store"], [_NUMBER], Region(body))
            nest.attributes["lamina.op"] = StringAttr("reach")
            set_rows(nest, ())
            block.add_ops([nest, func.ReturnOp(nest.res[0])])
            kind = FunctionType.from_lists([_NUMBER], [_NUMBER])
            made = func.FuncOp(name, kind, Region(block), visibility="private")
            made.attributes[KERNEL] = UnitAttr()
            made.attributes["lamina.ops"] = ArrayAttr([StringAttr("reach")])
            self._module.body.block.add_op(made)
        return self._names[key]
