"""Shapes of the values of a program in the sizes of its arguments.

The result rules of ops are asked with `Size` in the place of numbers: what they compute of numbers,
they compute of sizes. Where a rule found two sizes different that may be equal, it is asked again
with numbers that make them equal: a size of 0 or 1 is like any other, and an op whose result is
another one there is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import reduce
from itertools import islice, product
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.control import CondOp, RegionOp, RepeatOp, ScanOp
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

UNKNOWN = DYNAMIC_INDEX
"""An extent of which nothing is known: data decide it, or no rule says it."""

EXTERN = "prims.extern"
"""A call of a kernel, whose results are what it says."""

_MOST_TRIED = 64
"""Choices of values that are tried to make two sizes equal."""


@mutable_record
class SymbolicShapes:
    """Shapes of tensors and values of integers, as far as they follow from sizes of arguments."""

    shapes: dict[SSAValue, Shape] = field(default_factory=dict[SSAValue, Shape])
    numbers: dict[SSAValue, Extent] = field(default_factory=dict[SSAValue, Extent])
    inferred: dict[tuple[Any, ...], tuple[Shape | None, ...]] = field(
        default_factory=dict[tuple[Any, ...], "tuple[Shape | None, ...]"]
    )
    """Shapes of results by all that a rule sees: programs repeat their layers."""

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
        return any(
            isinstance(self.numbers.get(operand), Size)
            or any(isinstance(extent, Size) for extent in self.shapes.get(operand, ()))
            for operand in op.operands
        )

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
            known.shapes[value] = shape_of(declared, names)
        elif is_size(declared):
            (known.numbers[value],) = shape_of(declared, names)
    try:
        _infer_block(function.body.block, known)
    except UnequalSizesError as error:
        error.args = (f"{error}{where_told(arguments, error.names)}",)
        raise
    end = function.body.block.last_op
    if isinstance(end, ReturnOp):
        _verify_results(function, end, known, names)
    return known


def _infer_block(block: Block, known: SymbolicShapes) -> None:
    for op in block.ops:
        if op.name in SIZE_OPS:
            found = number_of(op, known)
            if found is not None:
                known.numbers[op.results[0]] = found
        elif op.name == EXTERN and known.is_symbolic(op):
            _infer_call(op, known)
        elif isinstance(op, SchemaOp) and known.is_symbolic(op):
            _infer(op, known)
        elif isinstance(op, RegionOp) and known.is_symbolic(op):
            _infer_regions(op, known)
        elif isinstance(op, SIZED_OPS) and known.is_symbolic(op):
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
    asked = known.asked(op)
    found = known.inferred.get(asked)
    if found is None:
        found = known.inferred[asked] = _inferred(op, known)
    for result, shape in zip(op.results, found, strict=True):
        if shape is not None:
            known.shapes[result] = shape


def _inferred(op: SchemaOp, known: SymbolicShapes) -> tuple[Shape | None, ...]:
    """What the op's rule says of its results; None for what is no tensor, and where it cannot."""
    with assumptions() as assumed:
        try:
            inferred = _by_rule(op, known.seen)
        except UnequalSizesError as error:
            error.pairs, error.names = tuple(assumed), names_in(op, known)
            raise
    if inferred is None or len(inferred) != len(op.results):
        return (None,) * len(op.results)
    shapes = [_shape_in(kind) for kind in inferred]
    for one, other in dict.fromkeys(assumed):
        _try_equal(op, known, shapes, one - other, f"{one} is {other}")
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


def _shape_in(kind: object) -> Shape | None:
    return tuple(kind.get_shape()) if isinstance(kind, TensorType) else None


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


# What holds where sizes are equal that need not be


def _try_equal(
    op: SchemaOp,
    known: SymbolicShapes,
    shapes: Sequence[Shape | None],
    apart: Extent,
    where: str,
) -> None:
    """Ask the rule with numbers for which `apart` is 0. Raises InputError if it says otherwise."""
    names = _names_of(op, known)
    for chosen in _zeros(apart):
        values = {name: name.range.some(place) for place, name in enumerate(names)}
        values.update(chosen)
        try:
            made = infer_from(op, lambda value, at=values: _at(known.seen(value), at))
        except ValueError as error:
            raise invalid(op, f"where {where}: {error}") from None
        found = [_shape_in(kind) for kind in made or ()]
        wanted = [None if shape is None else _numbers(shape, values) for shape in shapes]
        if not all(map(_agree, found, wanted)):
            texts = " and ".join(show(shape) for shape in found if shape is not None)
            raise invalid(op, f"where {where} its result has shape {texts}; nothing else may")


def _agree(one: Shape | None, other: Shape | None) -> bool:
    """Whether shapes are the same as far as they are known."""
    if one is None or other is None or len(one) != len(other):
        return one == other
    return all(UNKNOWN in (a, b) or a == b for a, b in zip(one, other, strict=True))


def _names_of(op: Operation, known: SymbolicShapes) -> list[SizeName]:
    sizes: list[Extent] = []
    for operand in op.operands:
        sizes += known.shapes.get(operand, ())
        sizes += [known.numbers[operand]] if operand in known.numbers else []
    found = {name for size in sizes if isinstance(size, Size) for name in size.names}
    return sorted(found, key=lambda name: name.text)


def _zeros(apart: Extent) -> Iterable[Mapping[SizeName, int]]:
    """Values of names for which a size is 0; a few, if there are many."""
    if not isinstance(apart, Size):
        return
    solved, *others = sorted(apart.names, key=lambda name: name.text)
    choices = [[name.range.some(place) for place in range(4)] for name in others]
    for values in islice(product(*choices), _MOST_TRIED):
        chosen = dict(zip(others, values, strict=True))
        left = apart.at(chosen)
        for root in _roots(left, solved) if isinstance(left, Size) else ():
            if solved.range.holds(root):
                yield {**chosen, solved: root}


def _roots(left: Size, name: SizeName) -> Iterator[int]:
    """Values of the one name of a size for which it is 0: of the first few, where it has powers."""
    try:
        found = left.solve(0)
    except UndecidedSizeError:
        yield from (v for v in range(_MOST_TRIED) if left.at({name: v}) == 0)
    else:
        if found is not None:
            yield found[1]


def _at(seen: Any, values: Mapping[SizeName, int]) -> Any:
    if isinstance(seen, Size):
        return seen.at(values)
    shape = _shape_in(seen)
    return seen if shape is None else sized_type(seen, _numbers(shape, values))


def _numbers(shape: Shape, values: Mapping[SizeName, int]) -> Shape:
    return tuple(e.at(values) if isinstance(e, Size) else e for e in shape)


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


def _verify_results(
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
