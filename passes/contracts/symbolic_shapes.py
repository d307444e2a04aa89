"""Shapes of the values of a program in the sizes of its arguments.

The result rules of ops are asked with `Size` in the place of numbers: what they compute of numbers,
they compute of sizes. Where a rule found two sizes different that may be equal, it is asked again
with numbers that make them equal: a size of 0 or 1 is like any other, and an op whose result is
another one there is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import reduce
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.control import CondOp, RegionOp, RepeatOp, ScanOp
from lamina.dialects.ir_links import block_ops
from lamina.dialects.records import mutable_record
from lamina.dialects.schema.inference import as_type, infer_from
from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.schema.result_rules.shapes import show
from lamina.dialects.sizes import (
    Extent,
    Size,
    SizeName,
    UndecidedSizeError,
    assumptions,
)
from lamina.passes.contracts.argument_sizes import is_size, shape_of, size_names
from lamina.passes.contracts.declared import arguments_of, results_of
from lamina.passes.contracts.equal_sizes import UNKNOWN, shape_in, try_equal
from lamina.passes.contracts.loop_shapes import (
    ONE_NAME,
    SIZED_OPS,
    Shape,
    loop_shapes,
    sized_type,
)
from lamina.passes.contracts.size_numbers import SIZE_OPS, number_of
from lamina.passes.contracts.unequal_sizes import UnequalSizesError, names_in, where_told
from lamina.passes.refusal import invalid

EXTERN = "prims.extern"
"""A call of a kernel, whose results are what it says."""


@mutable_record
class SymbolicShapes:
    """Shapes of tensors and values of integers, as far as they follow from sizes of arguments."""

    shapes: dict[SSAValue, Shape] = field(default_factory=dict[SSAValue, Shape])
    numbers: dict[SSAValue, Extent] = field(default_factory=dict[SSAValue, Extent])
    inferred: dict[tuple[Any, ...], tuple[Shape | None, ...]] = field(
        default_factory=dict[tuple[Any, ...], "tuple[Shape | None, ...]"]
    )
    """Shapes of results by all that a rule sees: programs repeat their layers."""
    met: dict[tuple[Any, ...], tuple[list[Any], tuple[Shape | None, ...]]] = field(
        default_factory=dict[tuple[Any, ...], "tuple[list[Any], tuple[Shape | None, ...]]"]
    )
    """The same by identity, with what it is of, which lives as long: hashes of types are dear."""
    shared: dict[Any, Any] = field(default_factory=dict[Any, Any])
    """Of equal shapes, and of equal numbers, the one that stands for all."""
    told: list[Operation] = field(default_factory=list[Operation])
    """Ops that see sizes and whose rules were asked, one of each kind; all that compute sizes."""
    is_of_rules: bool = True
    """Whether `told` has the kinds of all ops that see sizes: no region, call or nest does."""

    def by_identity(self, op: SchemaOp) -> tuple[tuple[Any, ...], list[Any]]:
        """What is asked of an op as a key by identity, and the objects whose it is."""
        shapes, numbers, properties = self.shapes, self.numbers, op.properties
        parts: list[Any] = [type(op), *properties.values()]
        for operand in op._operands:
            number = numbers.get(operand) if numbers else None
            parts += operand.type, shapes.get(operand), number
        parts += [result.type for result in op.results]
        return (*properties, *map(id, parts)), parts

    def asked(self, op: SchemaOp) -> tuple[Any, ...]:
        """All that a rule sees of an op, and what its results are declared to be."""
        shapes, numbers = self.shapes, self.numbers
        seen = tuple([(v.type, shapes.get(v), numbers.get(v)) for v in op.operands])
        return type(op), tuple(op.properties.items()), seen, tuple(op.result_types)

    def shape(self, value: SSAValue) -> Shape:
        """The shape of a tensor; `UNKNOWN` where no size is known."""
        known = self.shapes.get(value)
        if known is None:
            assert isinstance(value.type, TensorType)
            known = tuple(value.type.get_shape())
        return known

    def is_symbolic(self, op: Operation) -> bool:
        """Whether an operand is, or has, a size of arguments."""
        shapes, numbers = self.shapes, self.numbers
        for operand in op._operands:
            if isinstance(numbers.get(operand), Size):
                return True
            for extent in shapes.get(operand, ()):
                if isinstance(extent, Size):
                    return True
        return False

    def seen(self, value: SSAValue) -> Any:
        """What a result rule is asked with."""
        if value in self.numbers:
            return self.numbers[value]
        if isinstance(value.type, TensorType):
            return sized_type(value.type, self.shape(value))
        return as_type(value)


def infer_shapes(function: FuncOp) -> SymbolicShapes:
    """The shapes of all values at the top of a function whose attributes are verified.

    Raises InputError at the first op that needs sizes to be equal which need not be, or whose
    declared result contradicts what its rule says.
    """
    arguments = arguments_of(function)
    names = size_names(arguments)
    known = SymbolicShapes()
    for value, declared in zip(function.body.block.args, arguments, strict=True):
        if isinstance(value.type, TensorType):
            shape = shape_of(declared, names)
            known.shapes[value] = known.shared.setdefault(shape, shape)
        elif is_size(declared):
            (known.numbers[value],) = shape_of(declared, names)
    try:
        _infer_block(function.body.block, known)
    except UnequalSizesError as error:
        error.args = (f"{error}{where_told(arguments, error.names)}",)
        raise
    end = function.body.block.last_op
    if isinstance(end, ReturnOp):
        verify_results(function, end, known, names)
    return known


def _infer_block(block: Block, known: SymbolicShapes) -> None:
    for op in block_ops(block):
        if op.name in SIZE_OPS:
            known.told.append(op)
            found = number_of(op, known)
            if found is not None:
                known.numbers[op.results[0]] = known.shared.setdefault(found, found)
        elif isinstance(op, SchemaOp) and op.name != EXTERN:
            _infer(op, known)
        elif not known.is_symbolic(op):
            continue
        elif op.name == EXTERN:
            known.is_of_rules = False
            _infer_call(op, known)
        elif isinstance(op, RegionOp):
            known.is_of_rules = False
            _infer_regions(op, known)
        elif isinstance(op, SIZED_OPS):
            known.is_of_rules = False
            shapes = loop_shapes(op, known)
            for result, shape in zip(op.results, shapes, strict=True):
                known.shapes[result] = _declared(op, result.type, shape)  # pyright: ignore


def _infer_call(op: Operation, known: SymbolicShapes) -> None:
    """Shapes of what a kernel makes: as its types say, with its sizes for what they leave open."""
    assert isinstance(op, SchemaOp)
    kinds = [result.type for result in op.results]
    open_dims = sum(
        e < 0 for kind in kinds if isinstance(kind, TensorType) for e in kind.get_shape()
    )
    sizes: list[Any] = op.arg("sizes")
    if not sizes:
        return
    if open_dims != len(sizes):
        raise invalid(op, f"has {len(sizes)} sizes for the {open_dims} dimensions it leaves open")
    left = (
        known.numbers.get(size, UNKNOWN) if isinstance(size, SSAValue) else size for size in sizes
    )
    for result, kind in zip(op.results, kinds, strict=True):
        if isinstance(kind, TensorType):
            shape = tuple(extent if extent >= 0 else next(left) for extent in kind.get_shape())
            known.shapes[result] = shape


def _infer_regions(op: RegionOp, known: SymbolicShapes) -> None:
    """Sizes go into branches and loops, and come out where all rounds and branches agree."""
    is_cond = isinstance(op, CondOp)
    carried = 0 if is_cond else len(op.groups[0])
    groups = [list(group) for group in (op.groups[1:] if is_cond else op.groups)]
    values = [(value,) for group in groups for value in group]
    if isinstance(op, RepeatOp):
        own = zip(*op.own_operands, strict=True)
        values = [*zip(op.starts), *own, *zip(op.inputs)]
    given = [reduce(_common, (_seen_shape(v, known) for v in steps)) for steps in values]
    steps: Shape = ()
    if isinstance(op, ScanOp):
        steps = (known.shape(op.sequences[0])[0],)
        given = [
            shape[1:] if carried <= place < carried + len(op.sequences) and shape else shape
            for place, shape in enumerate(given)
        ]
    numbers = [known.numbers.get(steps[0]) if len(steps) == 1 else None for steps in values]
    numbers[:carried] = [None] * carried
    while True:
        for block in op.blocks:
            for argument, shape, number in zip(block.args, given, numbers, strict=True):
                if shape is not None:
                    known.shapes[argument] = shape
                if number is not None:
                    known.numbers[argument] = number
            _infer_block(block, known)
        results = _yielded_shapes(op, known)
        agreed = [_common(one, other) for one, other in zip(given, results[:carried], strict=False)]
        if agreed == given[:carried]:
            break
        given[:carried] = agreed
    if isinstance(op, RepeatOp):
        results = [*results[:carried], *results[carried:] * op.times]
    for place, (result, shape) in enumerate(zip(op.results, results, strict=True)):
        if shape is not None and isinstance(result.type, TensorType):
            shape = shape if place < carried or not steps else (*steps, *shape)
            known.shapes[result] = _declared(op, result.type, shape)


def _seen_shape(value: SSAValue, known: SymbolicShapes) -> Shape | None:
    return known.shape(value) if isinstance(value.type, TensorType) else None


def _yielded_shapes(op: RegionOp, known: SymbolicShapes) -> list[Shape | None]:
    """What all regions that give the results agree on."""
    found: list[list[Shape | None]] = []
    for block, types in zip(op.blocks, op.region_results(), strict=True):
        if types is not None and block.last_op is not None:
            found.append([_seen_shape(value, known) for value in block.last_op.operands])
    first, *others = found
    for other in others:
        first = [_common(a, b) for a, b in zip(first, other, strict=True)]
    return first


def _common(one: Shape | None, other: Shape | None) -> Shape | None:
    if one is None or other is None:
        return None
    return tuple(a if a is b or a == b else UNKNOWN for a, b in zip(one, other, strict=True))


def _infer(op: SchemaOp, known: SymbolicShapes) -> None:
    key, parts = known.by_identity(op)
    met = known.met.get(key)
    if met is not None:
        found = met[1]
    elif not known.is_symbolic(op):
        found = ()
        known.met[key] = parts, found
    else:
        asked = known.asked(op)
        found = known.inferred.get(asked)
        if found is None:
            made = shapes_by_rule(op, known)
            found = tuple([None if s is None else known.shared.setdefault(s, s) for s in made])
            known.inferred[asked] = found
            known.told.append(op)
        known.met[key] = parts, found
    for result, shape in zip(op.results, found, strict=bool(found)):
        if shape is not None:
            known.shapes[result] = shape


def shapes_by_rule(op: SchemaOp, known: SymbolicShapes) -> tuple[Shape | None, ...]:
    """What the op's rule says of its results; None for what is no tensor, and where it cannot."""
    with assumptions() as assumed:
        try:
            inferred = _by_rule(op, known.seen)
        except UnequalSizesError as error:
            error.pairs, error.names = tuple(assumed), names_in(op, known)
            raise
    if inferred is None or len(inferred) != len(op.results):
        return (None,) * len(op.results)
    shapes = [shape_in(kind) for kind in inferred]
    for one, other in dict.fromkeys(assumed):
        try_equal(op, known, shapes, one - other, f"{one} is {other}")
    return tuple(
        _declared(op, result.type, shape)
        if shape is not None and isinstance(result.type, TensorType)
        else None
        for result, shape in zip(op.results, shapes, strict=True)
    )


def _by_rule(op: SchemaOp, seen: Callable[[SSAValue], Any]) -> Sequence[Any] | None:
    """Result types by the rule; None where it cannot follow sizes.

    Raises UnequalSizesError if it refuses.
    """
    try:
        return infer_from(op, seen)
    except (UndecidedSizeError, TypeError, AttributeError, VerifyException):
        return None
    except ValueError as error:
        raise UnequalSizesError(str(invalid(op, f"{error}; {ONE_NAME}"))) from None


def _declared(op: Operation, declared: TensorType, shape: Shape) -> Shape:
    """What is inferred, with what the op's own type says of dimensions that are unknown."""
    said = declared.get_shape()
    if len(said) != len(shape) or any(
        given >= 0 and (isinstance(found, Size) or found not in (given, UNKNOWN))
        for given, found in zip(said, shape, strict=True)
    ):
        raise invalid(op, f"its result has shape {show(shape)}, not that of {declared}")
    return tuple(
        given if not isinstance(found, Size) and found < 0 else found
        for given, found in zip(said, shape, strict=True)
    )


def says_more_of_results(function: FuncOp) -> bool:
    """Whether `lamina.dims` of results says sizes that do not follow from those of arguments."""
    names = size_names(arguments_of(function))
    said = [shape_of(declared, names) for declared in results_of(function)]
    if not any(isinstance(size, Size) for shape in said for size in shape):
        return False
    known, end = infer_shapes(function), function.body.block.last_op
    assert end is not None
    return any(
        isinstance(wanted, Size) and found != wanted
        for value, shape in zip(end.operands, said, strict=True)
        if isinstance(value.type, TensorType)
        for found, wanted in zip(known.shape(value), shape, strict=True)
    )


def verify_results(
    function: FuncOp, op: ReturnOp, known: SymbolicShapes, names: Mapping[str, SizeName]
) -> None:
    """What `lamina.dims` of results says is what the program gives."""
    for value, declared in zip(op.operands, results_of(function), strict=True):
        if not isinstance(value.type, TensorType):
            continue
        found, said = known.shape(value), shape_of(declared, names)
        if any(
            isinstance(wanted, Size) and (isinstance(given, Size) or given >= 0) and given != wanted
            for given, wanted in zip(found, said, strict=True)
        ):
            raise declared.refuse(f"it has shape {show(found)}, and lamina.dims says {show(said)}")
