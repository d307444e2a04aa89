"""Numbers beside tensors: sizes, numbers read off tensors, their arithmetic, and checks of them."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TensorType, i1, i64
from xdsl.ir import SSAValue

from lamina.dialects.elementwise import PRIMITIVES
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.limits import limit_key
from lamina.lowering.bound_dynamic_shapes.size_arithmetic import (
    affine,
    difference,
    quotient,
    quotient_of_products,
    total,
)
from lamina.lowering.bound_dynamic_shapes.table import bounds, takes_groups
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Number, known
from lamina.lowering.scalar import BY_NAME
from lamina.lowering.tensor_types import element_of, normalized


@takes_groups
@bounds("sym_size.int", "size.int")
def size(op: SchemaOp, b: BoundBuilder) -> Number:
    """The count of a dimension."""
    given = b.grouped(op.arg("self"))
    return b.elements(given.tensor, given.dims[normalized(op.arg("dim"), len(given.groups))])


@takes_groups
@bounds("sym_numel", "numel")
def numel(op: SchemaOp, b: BoundBuilder) -> Number:
    """The product of all sizes."""
    return b.elements(b.grouped(op.arg("self")).tensor)


@bounds("item", "_local_scalar_dense")
def item(op: SchemaOp, b: BoundBuilder) -> Number:
    """The only element; the program may check what it is at most."""
    tensor = b.tensor(op.arg("self"))
    for dim in tensor.dynamic_dims:
        tensor = b.static_size(tensor, dim, 1)
    element = op.results[0].type
    value = b.reshape(b.converted(tensor.value, element), [])
    limit = b.state.limits.get(limit_key(op.results[0]))
    if limit is not None:
        message = f"the number is more than {limit}, the limit that the program checks"
        b.require(b("le.Scalar", value, limit), b.place + message)
    return Number(value, limit)


@bounds("equal")
def equal(op: SchemaOp, b: BoundBuilder) -> Number:
    """Whether two tensors have one shape and the same elements."""
    x, y = b.tensor(op.arg("self")), b.tensor(op.arg("other"))
    if element_of(x.value) != element_of(y.value):
        raise b.refuse("compares tensors of two dtypes", "tensors of one dtype")
    if not (x.is_static and y.is_static):
        raise b.refuse("compares tensors whose sizes depend on data", "eq and all")
    if x.shape != y.shape:
        return known(0)
    return Number(b("all.default", b("eq.Tensor", x.value, y.value)))


@bounds("allclose")
def allclose(op: SchemaOp, b: BoundBuilder) -> Number:
    """Whether all elements of two tensors, broadcast to one shape, are close."""
    values = op.args()
    one, other = b.tensor(values.pop("self")), b.tensor(values.pop("other"))
    if not (one.is_static and other.is_static):
        raise b.refuse("compares tensors whose sizes depend on data", "isclose and all")
    return Number(b("all.default", b("isclose.default", one.value, other.value, **values)))


@bounds("arith.constant")
def constant(op: arith.ConstantOp, b: BoundBuilder) -> Number:
    """A constant; integers are known."""
    attribute = op.value
    if isinstance(attribute, IntegerAttr):
        return known(attribute.value.data)
    assert isinstance(attribute, FloatAttr)
    return Number(attribute.value.data)


_ARITHMETIC: dict[str, tuple[str, dict[str, Any]]] = {
    row.integer: (row.overload_names[0], {})
    for name, row in PRIMITIVES.items()
    if name in BY_NAME and row.promotion != "floating"
} | {"arith.floordivsi": ("div.Tensor_mode", {"rounding_mode": "floor"})}
"""Ops of integers to those of tensors; the quotient of integers is a float there."""


@bounds(*_ARITHMETIC)
def arithmetic(op: Any, b: BoundBuilder) -> Number:
    """The same on 0-d tensors."""
    one, other = b.number(op.operands[0]), b.number(op.operands[1])
    element = op.results[0].type
    name, options = _ARITHMETIC[op.name]
    if element == i64 and (made := _of_sizes(op.name, one, other, b)) is not None:
        return made
    if op.name == "arith.muli" and all(n.least is not None and n.least >= 0 for n in (one, other)):
        return b.product(one, other)
    value = b(name, b.as_tensor(one, element), b.as_tensor(other, element), **options)
    return Number(value, *_range(op.name, one, other))


def _of_sizes(name: str, one: Number, other: Number, b: BoundBuilder) -> Number | None:
    """What stays a sum of sizes; None for other numbers."""
    if not all(_is_integer(number) for number in (one, other)):
        return None
    if name == "arith.addi":
        return total(one, other, b)
    if name == "arith.subi":
        return difference(one, other, b)
    if name == "arith.muli" and None in (scaled := [one.constant, other.constant]):
        factor, size = (scaled[0], other) if scaled[0] is not None else (scaled[1], one)
        return None if factor is None else affine(size, factor, 0, b)
    if name == "arith.floordivsi" and (other.constant is None or other.constant > 0):
        whole = quotient_of_products(one, other, b)
        if whole is None and other.constant is not None:
            return quotient(one, 0, other.constant, b)
        return whole
    return None


def _is_integer(number: Number) -> bool:
    if isinstance(number.value, SSAValue):
        return isinstance(number.value.type, TensorType) and element_of(number.value) == i64
    return number.constant is not None


def _range(name: str, one: Number, other: Number) -> tuple[int | None, int | None]:
    """What the result is at most and at least."""
    most, least = (one.most, other.most), (one.least, other.least)
    if name == "arith.addi":
        return _sum(*most), _sum(*least)
    if name == "arith.subi":
        return (
            _sum(one.most, None if other.least is None else -other.least),
            _sum(one.least, None if other.most is None else -other.most),
        )
    if name == "arith.minsi":
        known_most = [limit for limit in most if limit is not None]
        return min(known_most, default=None), None if None in least else min(least)  # pyright: ignore
    if name == "arith.maxsi":
        known_least = [limit for limit in least if limit is not None]
        return None if None in most else max(most), max(known_least, default=None)  # pyright: ignore
    if name == "arith.floordivsi" and one.least is not None and one.least >= 0:
        divisor = other.constant
        if divisor is not None and divisor > 0:
            upper = None if one.most is None else one.most // divisor
            return upper, one.least // divisor
    return None, None


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


@bounds("arith.select")
def choice(op: arith.SelectOp, b: BoundBuilder) -> Number:
    """One of two numbers."""
    condition, one, other = (b.number(operand) for operand in op.operands)
    element = op.results[0].type
    value = b(
        "where.self",
        b.as_tensor(condition, i1),
        b.as_tensor(one, element),
        b.as_tensor(other, element),
    )
    return Number(
        value, *_range("arith.maxsi", one, other)[:1], *_range("arith.minsi", one, other)[1:]
    )


_RELATIONS = {"eq": "eq", "ne": "ne", "slt": "lt", "sle": "le", "sgt": "gt", "sge": "ge"}


@bounds("arith.cmpi")
def relation(op: arith.CmpiOp, b: BoundBuilder) -> Number:
    """A relation of two numbers; constant where their ranges tell."""
    one, other = b.number(op.lhs), b.number(op.rhs)
    name = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    if name not in _RELATIONS:
        raise b.refuse(f"the relation {name} of sizes has no meaning here")
    if _is_certain(name, one, other):
        return known(1)
    element = op.lhs.type
    made = b(f"{_RELATIONS[name]}.Tensor", b.as_tensor(one, element), b.as_tensor(other, element))
    return Number(made)


def _is_certain(name: str, one: Number, other: Number) -> bool:
    if name in ("sge", "sgt"):
        one, other, name = other, one, {"sge": "sle", "sgt": "slt"}[name]
    if one.most is None or other.least is None:
        return False
    if name == "eq":
        return one.constant is not None and one.constant == other.constant
    return name in ("sle", "slt") and one.most <= other.least - (name == "slt")


@bounds("_assert_scalar")
def assert_number(op: SchemaOp, b: BoundBuilder) -> None:
    """A check of a number."""
    condition = b.number(op.arg("self"))
    if condition.constant in (1, True):
        return
    b.require(b.as_tensor(condition, i1), op.arg("assert_msg"))


@bounds("_assert_async", "_assert_async.msg")
def assert_tensor(op: SchemaOp, b: BoundBuilder) -> None:
    """A check of a tensor's only element."""
    tensor = b.tensor(op.arg("self"))
    for dim in tensor.dynamic_dims:
        tensor = b.static_size(tensor, dim, 1)
    value = tensor.value
    if element_of(value) != i1:
        value = b("ne.Scalar", value, 0)
    message = op.arg("assert_msg") if op.overload_name.endswith(".msg") else "an assertion failed"
    b.require(b.reshape(value, []), message)


@bounds("sym_constrain_range", "sym_constrain_range_for_size")
def constrain(op: SchemaOp, b: BoundBuilder) -> None:
    """A statement about a size that the program checks elsewhere."""


def as_size(number: Number, b: BoundBuilder, limit: int | None = None) -> Number:
    """A number used as a size: not negative, and bounded. Refuses one without a bound."""
    if number.constant is not None:
        return number
    if not isinstance(number.value, SSAValue) or element_of(number.value) != i64:
        raise b.refuse("a size must be an integer")
    most = number.most if number.most is not None else limit
    if most is None:
        raise b.refuse(
            "a size that depends on data has no upper bound",
            "torch._check(size <= LIMIT), which bounds it",
        )
    b.require_least(number, 0, "a size is negative")
    return Number(number.value, most, 0)


def shape_of_numbers(
    entries: list[int | SSAValue], b: BoundBuilder
) -> tuple[list[int], list[Number]]:
    """A list of sizes: the padded shape, and the sizes."""
    sizes = [as_size(b.number(entry), b) for entry in entries]
    return [s.constant if s.constant is not None else (s.most or 0) for s in sizes], sizes


def unpadded(tensor: Bounded, b: BoundBuilder) -> Bounded:
    """The tensor itself; refused if its size depends on data."""
    if not tensor.is_static:
        raise b.refuse("an operand has a size that depends on data")
    return tensor
