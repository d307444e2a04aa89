"""Functions whose nests are bounded: the walk over their ops, and what they return."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from lamina.dialects.control import RegionOp, WhileOp, YieldOp
from lamina.dialects.control import ScanOp as ControlScanOp
from lamina.dialects.loop import (
    ExternOp,
    FourierOp,
    GenericOp,
    ReadOp,
    ReshapeOp,
    ScanOp,
    ScatterOp,
    SegmentReduceOp,
    SortOp,
)
from lamina.dialects.loop.body_ops import element_type
from lamina.dialects.sizes import Extent, Size, quotients
from lamina.lowering.bound_dynamic_shapes.arguments import (
    PaddedArgument,
    count_name,
    pad_arguments,
)
from lamina.lowering.bound_nests.nests import NUMBERS_INSTEAD, bound_generic, bound_ordered
from lamina.lowering.bound_nests.reshapes import bound_reshape
from lamina.lowering.bound_nests.rows import bound_sort, bound_transform
from lamina.lowering.bound_nests.size_tensors import SizeTensors, bound, fixed
from lamina.lowering.bound_nests.values import Shape, Values
from lamina.passes.contracts.argument_numbers import COUNTS
from lamina.passes.contracts.argument_sizes import DIMS, has_open_sizes
from lamina.passes.contracts.size_numbers import SIZE_OPS
from lamina.passes.contracts.symbolic_shapes import SymbolicShapes, infer_shapes
from lamina.passes.numerics.materialize_random_state import STATE_NAME
from lamina.passes.refusal import unsupported
from lamina.passes.regions.unroll_layers import unroll_in


def bound_nests(function: FuncOp) -> None:
    """Pad what a function of the loop layer has of open sizes up to their bounds, in place.

    Raises UnsupportedError for sizes without a bound, and for ops through which padding is not
    followed.
    """
    if not has_open_sizes(function):
        return
    unroll_in(function.body.block)
    with quotients():
        _Bounding(function, infer_shapes(function)).apply()


class _Bounding:
    def __init__(self, function: FuncOp, known: SymbolicShapes) -> None:
        self._function, self._block = function, function.body.block
        self._numbers = {value: fixed(size) for value, size in known.numbers.items()}
        self._given = {v: tuple(map(fixed, shape)) for v, shape in known.shapes.items()}
        self._arguments: dict[str, Shape] = {}

    def apply(self) -> None:
        concerned = _concerned(self._block)  # operands are padded by and by
        inputs, padded = pad_arguments(self._function)
        self._inputs = {count: count_name(name.text) for name, count in inputs.items()}
        self._values = Values(SizeTensors(self._block, inputs))
        for argument in padded:
            self._replace_argument(argument)
        end = self._block.last_op
        assert isinstance(end, ReturnOp)
        replaced = self._walk(concerned, self._values)
        self._return(end)
        _erase(replaced)
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

    def _walk(self, concerned: Sequence[Operation], values: Values) -> list[Operation]:
        """Bound ops of a block; those that others have taken the place of are left to be erased."""
        replaced: list[Operation] = []
        values.pending = set(concerned)
        for op in concerned:
            values.pending.discard(op)
            if isinstance(op, RegionOp):
                self._bound_regions(op, values)
                continue
            if op.name not in SIZE_OPS:
                self._bound(op, values)
            replaced.append(op)
        return replaced

    def _shape(self, value: SSAValue) -> Shape:
        """The shape of a value as it was."""
        return self._given.get(value) or _extents(value)

    def _bound(self, op: Operation, values: Values) -> None:
        rule = _RULES.get(type(op))
        if rule is None:
            raise unsupported(op, "sizes of arguments are not bounded through it", NUMBERS_INSTEAD)
        sizes = [self._numbers[value] for value in getattr(op, "sizes", ())]
        shapes = [self._shape(result) for result in op.results]
        made = rule(op, sizes, shapes, values)
        for result, shape, value in zip(op.results, shapes, made, strict=True):
            values.note(value, shape)
            value.name_hint = value.name_hint or result.name_hint
            result.replace_all_uses_with(value)

    # Branches and loops

    def _bound_regions(self, op: RegionOp, values: Values) -> None:
        """A branch or loop on padded tensors, whose regions get the sizes of arguments as tensors.

        What it gives has the same sizes from all branches and rounds (`verify-loop`).
        """
        if isinstance(op, ControlScanOp):
            _verify_steps(op, values.shape(op.sequences[0])[0])
        given = [list(block.args) for block in op.blocks]
        first = len(op.groups[-1])
        names = values.tensors.names
        added = [op.add_input(values.tensors.of(Size.of(name))) for name in names]
        for number, block in enumerate(op.blocks):
            sizes = {name: own[number] for name, own in zip(names, added, strict=True)}
            inner, concerned = Values(SizeTensors(block, sizes)), _concerned(block)
            for argument in given[number]:
                self._pad(argument, inner)
            _erase(self._walk(concerned, inner))
        for result in list(op.results):
            self._pad(result, values)
        for place in reversed(range(first, first + len(names))):
            if not any(argument.first_use for argument in added[place - first]):
                op.drop_input(place)
        op.drop_unused((IndexType,))

    def _pad(self, value: SSAValue, values: Values) -> None:
        if _is_open_type(value.type):
            shape = self._shape(value)
            kind = TensorType(element_type(value.type), list(map(bound, shape)))
            values.note(Rewriter.replace_value_with_new_type(value, kind), shape)

    # Results

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


def _extents(value: SSAValue) -> Shape:
    assert isinstance(value.type, TensorType)
    return tuple(value.type.get_shape())


def _is_open_type(kind: Attribute) -> bool:
    return isinstance(kind, TensorType) and not kind.has_static_shape()


def _concerned(block: Block) -> list[Operation]:
    """The ops of a block that compute with sizes, or on tensors that have open ones."""
    return [op for op in block.ops if not isinstance(op, _ENDS) and _has_sizes(op)]


def _has_sizes(op: Operation) -> bool:
    values = (*op.operands, *op.results)
    return op.name in SIZE_OPS or any(
        _is_open_type(value.type) or isinstance(value.type, IndexType) for value in values
    )


def _erase(ops: Sequence[Operation]) -> None:
    for op in reversed(ops):
        op.detach()
        op.erase()


def _verify_steps(op: ControlScanOp, steps: Extent) -> None:
    """Steps of padding run, too. Raises UnsupportedError where that would be noticed."""
    if not isinstance(steps, Size):
        return
    if op.starts:
        raise unsupported(op, f"it hands values on over {steps} steps", NUMBERS_INSTEAD)
    for inner in op.body_region.walk():
        if isinstance(inner, _FAIL):
            reason = f"{inner.name} runs in each of {steps} steps, and may fail"
            raise unsupported(op, reason, NUMBERS_INSTEAD)


_ENDS = (ReturnOp, YieldOp)

_FAIL = (ReadOp, ScatterOp, SegmentReduceOp, ExternOp, WhileOp)
"""Ops that may fail, or never end, on what padding holds."""

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
