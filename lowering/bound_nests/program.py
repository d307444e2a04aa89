"""Functions whose nests are bounded: the walk over their ops, and what they return."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from lamina.dialects.loop import (
    FourierOp,
    GenericOp,
    ReshapeOp,
    ScanOp,
    ScatterOp,
    SegmentReduceOp,
    SortOp,
)
from lamina.dialects.loop.open_nests import is_open
from lamina.dialects.sizes import Extent, Size, quotients
from lamina.lowering.bound_dynamic_shapes.arguments import (
    PaddedArgument,
    count_name,
    pad_arguments,
)
from lamina.lowering.bound_nests.nests import NUMBERS_INSTEAD, bound_generic, bound_ordered
from lamina.lowering.bound_nests.reshapes import bound_reshape
from lamina.lowering.bound_nests.rows import bound_sort, bound_transform
from lamina.lowering.bound_nests.size_tensors import SizeTensors, fixed
from lamina.lowering.bound_nests.values import Shape, Values
from lamina.passes.contracts.argument_sizes import DIMS, has_open_sizes
from lamina.passes.contracts.entry_attributes import COUNTS
from lamina.passes.contracts.size_numbers import SIZE_OPS
from lamina.passes.contracts.symbolic_shapes import SymbolicShapes, infer_shapes
from lamina.passes.numerics.materialize_random_state import STATE_NAME
from lamina.passes.refusal import unsupported


def bound_nests(function: FuncOp) -> None:
    """Pad what a function of the loop layer has of open sizes up to their bounds, in place.

    Raises UnsupportedError for sizes without a bound, and for ops through which padding is not
    followed.
    """
    if not has_open_sizes(function):
        return
    with quotients():
        _Bounding(function, infer_shapes(function)).apply()


class _Bounding:
    def __init__(self, function: FuncOp, known: SymbolicShapes) -> None:
        self._function, self._block = function, function.body.block
        self._numbers = {value: fixed(size) for value, size in known.numbers.items()}
        self._given = {v: tuple(map(fixed, shape)) for v, shape in known.shapes.items()}
        self._arguments: dict[str, Shape] = {}

    def apply(self) -> None:
        ops = list(self._block.ops)
        concerned = set(filter(_is_concerned, ops))  # operands are padded by and by
        inputs, padded = pad_arguments(self._function)
        self._inputs = {count: count_name(name.text) for name, count in inputs.items()}
        self._values = Values(SizeTensors(self._block, inputs))
        for argument in padded:
            self._replace_argument(argument)
        replaced: list[Operation] = []
        for op in ops:
            if isinstance(op, ReturnOp):
                self._return(op)
            elif op.name in SIZE_OPS:
                replaced.append(op)
            elif op in concerned:
                self._bound(op)
                replaced.append(op)
        for op in reversed(replaced):
            op.detach()
            op.erase()
        for argument in padded:
            self._block.erase_arg(argument.given)
        self._function.update_function_type()

    def _replace_argument(self, argument: PaddedArgument) -> None:
        shape = tuple(map(fixed, argument.shape))
        if isinstance(argument.given.type, TensorType):
            self._values.note(argument.padded, shape)
            self._arguments[argument.name] = shape
            # What computes sizes goes; it may ask the argument as it was until then.
            argument.given.replace_uses_with_if(
                argument.padded, lambda use: use.operation.name not in SIZE_OPS
            )

    def _bound(self, op: Operation) -> None:
        rule = _RULES.get(type(op))
        if rule is None:
            raise unsupported(op, "sizes of arguments are not bounded through it", NUMBERS_INSTEAD)
        sizes = [self._numbers[value] for value in getattr(op, "sizes", ())]
        shapes = [self._given.get(result, ()) for result in op.results]
        shapes = [shape or _shape(result) for shape, result in zip(shapes, op.results, strict=True)]
        made = rule(op, sizes, shapes, self._values)
        for result, shape, value in zip(op.results, shapes, made, strict=True):
            self._values.note(value, shape)
            value.name_hint = value.name_hint or result.name_hint
            result.replace_all_uses_with(value)

    def _return(self, op: ReturnOp) -> None:
        results = self._function.res_attrs
        attributes: list[dict[str, Attribute]] = (
            [dict(entry.data) for entry in results.data if isinstance(entry, DictionaryAttr)]
            if results is not None
            else [{} for _ in op.operands]
        )
        counts: dict[SSAValue, int] = {}
        for entry, value in zip(attributes, op.operands, strict=True):
            entry.pop(DIMS, None)
            if not isinstance(value.type, TensorType):
                raise unsupported(op, "gives a number", "a tensor of one element")
            shape = self._values.shape(value)
            if entry.get("lamina.kind") == StringAttr("mutation"):
                self._verify_written(op, entry["lamina.target"], value, shape)
            if not any(isinstance(extent, Size) for extent in shape):
                continue
            held = [self._values.tensors.of(e) if isinstance(e, Size) else None for e in shape]
            entry["lamina.sizes"] = ArrayAttr(
                IntegerAttr(-1 if size is None else counts.setdefault(size, len(counts)), i64)
                for size in held
            )
            # Of what follows from inputs, `lamina.sizes` alone knows.
            if any(size is not None for size in held[1:]):
                told = ["" if size is None else self._inputs.get(size, "") for size in held]
                entry[COUNTS] = ArrayAttr(map(StringAttr, told))
        if self._function.sym_name.data != "main" and counts:
            raise unsupported(op, "gives what is of open size outside of @main")
        kind: dict[str, Attribute] = {"lamina.kind": StringAttr("size")}
        behind = len(attributes) - sum(map(_is_state, attributes))  # it stays last
        attributes[behind:behind] = [kind] * len(counts)
        op.operands = [*op.operands[:behind], *counts, *op.operands[behind:]]
        self._function.properties.pop("res_attrs", None)
        if any(attributes):
            self._function.properties["res_attrs"] = ArrayAttr(
                [DictionaryAttr(entry) for entry in attributes]
            )

    def _verify_written(
        self, op: Operation, target: Attribute, value: SSAValue, shape: Shape
    ) -> None:
        """What is written to an argument is padded as it is, and has its sizes."""
        assert isinstance(target, StringAttr)
        own = self._arguments.get(target.data, shape)
        if own != shape:
            raise unsupported(op, f"writes {value.type}, of other sizes, to '{target.data}'")


def _is_state(entries: Mapping[str, Attribute]) -> bool:
    """Whether a result is the state of random numbers behind a call."""
    return entries.get("lamina.target") == StringAttr(STATE_NAME)


def _shape(value: SSAValue) -> Shape:
    assert isinstance(value.type, TensorType)
    return tuple(value.type.get_shape())


def _is_concerned(op: Operation) -> bool:
    kinds = [value.type for value in (*op.operands, *op.results)]
    return is_open(op) or any(isinstance(k, TensorType) and not k.has_static_shape() for k in kinds)


_Rule = Callable[[Any, Sequence[Extent], Sequence[Shape], Values], list[SSAValue]]

_RULES: Mapping[type[Operation], _Rule] = {
    GenericOp: bound_generic,
    ScanOp: bound_ordered,
    ScatterOp: bound_ordered,
    SegmentReduceOp: bound_ordered,
    ReshapeOp: lambda op, sizes, shapes, values: bound_reshape(op, shapes[0], values),
    SortOp: bound_sort,
    FourierOp: bound_transform,
}
"""How ops are bounded, of which others are refused."""
