"""Whether ops mean one thing for sizes of other ranges, where that is known for some."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from lamina.dialects.errors import InputError
from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.sizes import Extent, Size, SizeName
from lamina.passes.contracts.argument_sizes import size_names
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.contracts.loop_shapes import Shape
from lamina.passes.contracts.size_numbers import SIZE_OPS, number_of
from lamina.passes.contracts.symbolic_shapes import (
    SymbolicShapes,
    infer_shapes,
    shapes_by_rule,
    verify_results,
)


def holds(function: FuncOp, known: SymbolicShapes | None) -> SymbolicShapes | None:
    """The shapes of all values for the ranges that a function states; None where an op refuses.

    `known` are its shapes for other ranges of the same sizes. Where the rules of its distinct ops
    say the same for these, there is no need to ask for all: programs repeat their layers.
    """
    try:
        if known is not None and known.is_of_rules and _agrees(function, known):
            return known
        return infer_shapes(function)
    except InputError:
        return None


def _agrees(function: FuncOp, known: SymbolicShapes) -> bool:
    """Whether all shapes are as known, with the names of now. Raises InputError as a rule does.

    By induction: arguments are, and so is what rules make of values that are.
    """
    renamed = _Renamed(function, known)
    for op in known.told:
        for operand in op.operands:
            renamed.take(operand)
        if op.name in SIZE_OPS:
            if number_of(op, renamed.now) != renamed.number(op.results[0]):
                return False
        elif isinstance(op, SchemaOp):
            shapes = [renamed.shape(result) for result in op.results]
            if list(shapes_by_rule(op, renamed.now)) != shapes:
                return False
    end = function.body.block.last_op
    if isinstance(end, ReturnOp):
        for operand in end.operands:
            renamed.take(operand)
        verify_results(function, end, renamed.now, renamed.names)
    return True


class _Renamed:
    """Shapes and numbers of values, whose names have the ranges that the function states now."""

    def __init__(self, function: FuncOp, known: SymbolicShapes) -> None:
        self.names = size_names(arguments_of(function))
        self.now = SymbolicShapes()
        self._known = known
        self._made: dict[Shape, Shape] = {}

    def take(self, value: SSAValue) -> None:
        """Tells `now` of a value."""
        shape, number = self.shape(value), self.number(value)
        if shape is not None:
            self.now.shapes[value] = shape
        if number is not None:
            self.now.numbers[value] = number

    def shape(self, value: SSAValue) -> Shape | None:
        """The shape of a value; None if it is not known to be in sizes."""
        shape = self._known.shapes.get(value)
        if shape is None or not isinstance(value.type, TensorType):
            return None
        made = self._made.get(shape)
        if made is None:
            made = self._made[shape] = tuple(map(self._extent, shape))
        return made

    def number(self, value: SSAValue) -> Extent | None:
        """What a value of an integer is; None if it is not known."""
        number = self._known.numbers.get(value)
        return None if number is None else self._extent(number)

    def _extent(self, extent: Extent) -> Extent:
        if not isinstance(extent, Size):
            return extent
        return Size({tuple(map(self._name, monomial)): by for monomial, by in extent.terms})

    def _name(self, name: SizeName) -> SizeName:
        return self.names.get(name.text, name)
