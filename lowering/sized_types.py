"""Conversions of functions whose sizes are open: lowerings see sizes where they else see numbers.

While a function is converted, its tensors have types whose extents are `Size`s, as result rules
are asked with (see `symbolic_shapes`), and numbers that are sizes are read as such. What a lowering
computes of shapes, it computes of sizes; what it puts into an op is a value that the function
computes of the extents of its arguments. Behind the conversion types say `?` again.

A lowering that asks what the ranges of sizes do not decide is refused, with the op.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntAttr,
    IntegerAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from lamina.dialects.control import RegionOp
from lamina.dialects.sizes import Extent, Size, SizeName, quotients, telling
from lamina.dialects.sizes.size_values import size_values
from lamina.passes.contracts.argument_sizes import NUMBERS, is_size, shape_of, size_names
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.contracts.symbolic_shapes import SymbolicShapes, infer_shapes
from lamina.passes.refusal import unsupported

INDEX = IndexType()


class FunctionSizes:
    """The sizes of a function as values that it computes first of all, each once."""

    def __init__(self, function: FuncOp, known: SymbolicShapes) -> None:
        self._block = function.body.block
        self._numbers: dict[SSAValue, Extent] = dict(known.numbers)
        self._made: dict[Extent, SSAValue] = {}
        self._last: Operation | None = None
        self._told = _told_by(function)
        for op in takewhile(_is_of_sizes, self._block.ops):  # those of a conversion before
            self._last = op
            value = op.results[0]
            if value.type == INDEX and value in self._numbers:
                self._made.setdefault(self._numbers[value], value)

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
            made = self._add(tensor.DimOp(argument, self.value(dim)))
        else:
            made = self._add(arith.IndexCastOp(argument, INDEX))
        factor = dict(size.terms)[(name,)]
        rest = size - Size.of(name) * factor
        if rest != 0:
            made = self._add(arith.SubiOp(made, self.value(rest)))
        if factor != 1:
            made = self._add(arith.FloorDivSIOp(made, self.value(factor)))
        return made

    def _add(self, op: Operation) -> SSAValue:
        if self._last is not None:
            self._block.insert_op_after(op, self._last)
        elif self._block.first_op is not None:
            self._block.insert_op_before(op, self._block.first_op)
        else:
            self._block.add_op(op)
        self._last = op
        return op.results[0]


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
        held = FunctionSizes(function, known)
        for value in list(known.shapes):
            _retype(value, known.shape(value))
        token = size_values.set(held)
        try:
            yield held
        finally:
            size_values.reset(token)
            for op in reversed([op for op in function.body.block.ops if _is_of_sizes(op)]):
                if not op.results[0].uses:
                    Rewriter.erase_op(op)
            for value in _values(function.body.block):
                if isinstance(value.type, TensorType):
                    extents = value.type.get_shape()
                    _retype(value, [DYNAMIC_INDEX if isinstance(e, Size) else e for e in extents])


def becomes_size(op: Operation) -> bool:
    """Puts the value of a size in the place of an op that asks for a number, where it is one."""
    held, result = size_values.get(), op.results[0]
    size = None if held is None else held.extent(result)
    if held is None or size is None:
        return False
    result.replace_all_uses_with(held.number(size, result.type))
    Rewriter.erase_op(op)
    return True


def refuse_sizes_within(op: RegionOp) -> None:
    """Raises UnsupportedError for a branch or loop in which a tensor has an open size: the values
    of sizes stand outside of it."""
    held = [value for block in op.blocks for value in _values(block)]
    tensors = [value.type for value in held if isinstance(value.type, TensorType)]
    if any(isinstance(extent, Size) for kind in tensors for extent in kind.get_shape()):
        raise unsupported(op, "sizes of arguments are not followed into its regions", NUMBERS)


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
