"""Conversions of functions whose sizes are open: lowerings see sizes where they else see numbers.

While a function is converted, its tensors have types whose extents are `Size`s, as result rules
are asked with (see `symbolic_shapes`), and numbers that are sizes are read as such. What a lowering
computes of shapes, it computes of sizes; what it puts into an op is a value that the function
computes of the extents of its arguments. Behind the conversion types say `?` again.

A lowering that asks what the ranges of sizes do not decide is refused, with the op.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import takewhile

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from lamina.dialects.control import RegionOp
from lamina.dialects.sizes import Extent, Size, SizeName, quotients, telling
from lamina.dialects.sizes.size_values import size_values
from lamina.passes.contracts.argument_sizes import NUMBERS, is_size, shape_of, size_names
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.contracts.symbolic_shapes import UNKNOWN, SymbolicShapes, infer_shapes
from lamina.passes.refusal import unsupported

INDEX = IndexType()


class BlockSizes(ABC):
    """The sizes of a block as values that it computes first of all, each once.

    `numbers` are the integers of the function that are sizes, which gets those that are made.
    """

    def __init__(self, block: Block, numbers: dict[SSAValue, Extent]) -> None:
        self._block, self._numbers = block, numbers
        self._made: dict[Extent, SSAValue] = {}
        self._last: Operation | None = None
        for op in takewhile(_is_of_sizes, self._block.ops):  # those of a conversion before
            self._last = op
            value = op.results[0]
            if value.type == INDEX and value in self._numbers:
                self._made.setdefault(self._numbers[value], value)

    @property
    def numbers(self) -> dict[SSAValue, Extent]:
        """All integers that are sizes."""
        return self._numbers

    def extent(self, value: SSAValue) -> Extent | None:
        """What a number is in sizes of the arguments; None if it is no size."""
        return self._numbers.get(value)

    def value(self, size: Extent) -> SSAValue:
        """`size` as a value of index type."""
        found = self._made.get(size)
        if found is None:
            found = self._made[size] = self._compute(size)
            self._numbers[found] = size
        return found

    def number(self, size: Extent, kind: Attribute) -> SSAValue:
        """`size` as a value of an integer type, or index."""
        made = self.value(size)
        if kind == INDEX:
            return made
        made = self._add(arith.IndexCastOp(made, kind))
        self._numbers[made] = size
        return made

    def _compute(self, size: Extent) -> SSAValue:
        if not isinstance(size, Size):
            return self._add(arith.ConstantOp(IntegerAttr(size, INDEX)))
        return self._of_size(size)

    @abstractmethod
    def _of_size(self, size: Size) -> SSAValue:
        """What is no number, as a value of index type."""

    def _add(self, op: Operation) -> SSAValue:
        if self._last is not None:
            self._block.insert_op_after(op, self._last)
        elif self._block.first_op is not None:
            self._block.insert_op_before(op, self._block.first_op)
        else:
            self._block.add_op(op)
        self._last = op
        return op.results[0]


class FunctionSizes(BlockSizes):
    """The sizes of a function, computed of the extents of its arguments."""

    def __init__(self, function: FuncOp, known: SymbolicShapes) -> None:
        super().__init__(function.body.block, dict(known.numbers))
        self._told = _told_by(function)

    def _of_size(self, size: Size) -> SSAValue:
        if size.is_name and not size.has_quotients:
            return self._of_name(next(iter(size.names)))
        if size.is_name:
            divided, by = next(iter(size.names)).quotient  # pyright: ignore[reportGeneralTypeIssues]
            return self._add(arith.FloorDivSIOp(self.value(divided), self.value(by)))
        total: SSAValue | None = None
        for names, coefficient in size.terms:
            term: SSAValue | None = None
            for name in names:
                factor = self.value(Size.of(name))
                term = factor if term is None else self._add(arith.MuliOp(term, factor))
            if term is None:
                term = self.value(coefficient)
            elif coefficient != 1:
                term = self._add(arith.MuliOp(term, self.value(coefficient)))
            total = term if total is None else self._add(arith.AddiOp(total, term))
        assert total is not None, "a size has terms"
        return total

    def _of_name(self, name: SizeName) -> SSAValue:
        """The value of a name: an extent, less what else is in it, divided by its factor."""
        number, dim, size = self._told[name]
        argument = self._block.args[number]
        if isinstance(argument.type, TensorType):
            from xdsl.dialects.tensor import DimOp  # of programs with fixed sizes nobody needs it

            made = self._add(DimOp(argument, self.value(dim)))
        else:
            made = self._add(arith.IndexCastOp(argument, INDEX))
        factor = dict(size.terms)[(name,)]
        rest = size - Size.of(name) * factor
        if rest != 0:
            made = self._add(arith.SubiOp(made, self.value(rest)))
        if factor != 1:
            made = self._add(arith.FloorDivSIOp(made, self.value(factor)))
        return made


class RegionSizes(BlockSizes):
    """The sizes of one region of a branch or loop, which are operands of it."""

    def __init__(self, op: RegionOp | NewRegions, block: Block, outer: BlockSizes) -> None:
        super().__init__(block, outer.numbers)
        self._op, self._outer = op, outer

    def _of_size(self, size: Size) -> SSAValue:
        inputs = self._op.groups[-1]
        first = len(self._block.args) - len(inputs)
        for place, operand in enumerate(inputs):
            if operand.type == INDEX and self._numbers.get(operand) == size:
                return self._block.args[first + place]
        arguments = self._op.add_input(self._outer.value(size))
        self._numbers.update((argument, size) for argument in arguments)
        return arguments[self._op.blocks.index(self._block)]


class NewRegions:
    """Regions that a lowering makes, of an op whose operands `inputs` stay the same.

    Where sizes are open, what a region needs of them is one more of these, and an argument of each
    region behind its others.

        regions = NewRegions([x, weight])
        with regions.sizes_of(block):
            ...  # ops in the block
        CondOp(predicate, regions.inputs, types, then_region, else_region)
    """

    def __init__(self, inputs: Sequence[SSAValue]) -> None:
        self.inputs: list[SSAValue] = list(inputs)
        self.blocks: list[Block] = []
        self._given = len(self.inputs)

    @property
    def groups(self) -> tuple[Sequence[SSAValue], ...]:
        """As those of a `RegionOp`: what stays the same is the last one."""
        return (self.inputs,)

    def add_input(self, value: SSAValue) -> list[BlockArgument]:
        """As that of a `RegionOp`."""
        self.inputs.append(value)
        return [block.insert_arg(value.type, len(block.args)) for block in self.blocks]

    @contextmanager
    def sizes_of(self, block: Block) -> Iterator[None]:
        """In this scope sizes have the values that a new region's block has of them."""
        outer = size_values.get()
        if not isinstance(outer, BlockSizes):
            yield
            return
        for value in self.inputs[self._given :]:
            argument = block.insert_arg(value.type, len(block.args))
            outer.numbers[argument] = outer.numbers[value]
        self.blocks.append(block)
        token = size_values.set(RegionSizes(self, block, outer))
        try:
            yield
        finally:
            size_values.reset(token)


def _is_of_sizes(op: Operation) -> bool:
    return op.name == "tensor.dim" or op.name.startswith("arith.")


def _told_by(function: FuncOp) -> dict[SizeName, tuple[int, int, Size]]:
    """For each name the argument and dimension that tell it, and what size that is."""
    arguments = arguments_of(function)
    names = size_names(arguments)
    places = [
        (number, dim, extent)
        for number, declared in enumerate(arguments)
        if isinstance(declared.type, TensorType) or is_size(declared)
        for dim, extent in enumerate(shape_of(declared, names))
        if isinstance(extent, Size)
    ]
    order, _ = telling([extent for *_, extent in places])
    told: dict[SizeName, tuple[int, int, Size]] = {}
    for place in order:
        number, dim, extent = places[place]
        for name in extent.names - told.keys():
            told[name] = number, dim, extent
    return told


@contextmanager
def sized_types(function: FuncOp) -> Iterator[FunctionSizes]:
    """In this scope the tensors of a function have sizes for extents, and so do those it gets.

    Raises InputError where the program needs sizes to be equal which need not be.
    """
    with quotients():
        known = infer_shapes(function)
        _refuse_unknown(function, known)
        held = FunctionSizes(function, known)
        for value in list(known.shapes):
            _retype(value, known.shape(value))
        token = size_values.set(held)
        try:
            yield held
        finally:
            size_values.reset(token)
            _drop_unused(function.body.block)
            for value in _values(function.body.block):
                if isinstance(value.type, TensorType):
                    extents = value.type.get_shape()
                    _retype(value, [DYNAMIC_INDEX if isinstance(e, Size) else e for e in extents])


def _refuse_unknown(function: FuncOp, known: SymbolicShapes) -> None:
    """Raises UnsupportedError for a branch or loop that takes or gives what has no size that
    follows from those of arguments: what grows from round to round, and what data decide."""
    for op in function.walk():
        if isinstance(op, RegionOp):
            values = [*op.results, *(argument for block in op.blocks for argument in block.args)]
            tensors = [value for value in values if isinstance(value.type, TensorType)]
            if any(UNKNOWN in known.shape(value) for value in tensors):
                reason = "sizes of what it takes or gives do not follow from those of arguments"
                raise unsupported(op, reason, NUMBERS)


def becomes_size(op: Operation) -> bool:
    """Puts the value of a size in the place of an op that asks for a number, where it is one."""
    held, result = size_values.get(), op.results[0]
    size = None if held is None else held.extent(result)
    if held is None or size is None:
        return False
    result.replace_all_uses_with(held.number(size, result.type))
    Rewriter.erase_op(op)
    return True


@contextmanager
def sizes_within(op: Operation, block: Block) -> Iterator[None]:
    """In this scope sizes have the values that a block of an op computes: of a branch or loop, it
    has them from outside."""
    outer = size_values.get()
    if not isinstance(op, RegionOp) or not isinstance(outer, BlockSizes):
        yield
        return
    token = size_values.set(RegionSizes(op, block, outer))
    try:
        yield
    finally:
        size_values.reset(token)


@contextmanager
def sizes_around(op: Operation) -> Iterator[None]:
    """In this scope sizes have the values of the block that an op stands in."""
    held: list[tuple[Operation, Block]] = []
    block = op.parent_block()
    while block is not None and (parent := block.parent_op()) is not None:
        held.append((parent, block))
        block = parent.parent_block()
    with ExitStack() as stack:
        for parent, inner in reversed(held):
            stack.enter_context(sizes_within(parent, inner))
        yield


def _drop_unused(block: Block) -> None:
    """Erase what computes sizes that nobody needs, and take them from branches and loops."""
    for op in reversed(list(block.ops)):
        if isinstance(op, RegionOp):
            for inner in op.blocks:
                _drop_unused(inner)
            op.drop_unused((IndexType, IntegerType))
        elif _is_of_sizes(op) and not op.results[0].uses:
            Rewriter.erase_op(op)


def _values(block: Block) -> list[SSAValue]:
    found: list[SSAValue] = list(block.args)
    for op in block.ops:
        found += op.results
        for region in op.regions:
            for inner in region.blocks:
                found += _values(inner)
    return found


def _retype(value: SSAValue, shape: Sequence[Extent]) -> None:
    kind = value.type
    assert isinstance(kind, TensorType)
    if list(kind.get_shape()) == list(shape):
        return
    extents = [extent if isinstance(extent, int) else IntAttr(extent) for extent in shape]  # pyright: ignore
    Rewriter.replace_value_with_new_type(
        value, TensorType(kind.element_type, extents, kind.encoding)
    )
