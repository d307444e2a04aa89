"""Scalar arithmetic of `arith` and `math`, and of `loop`'s vector forms, on NumPy arrays.

One NumPy call for each op, on scalars, on vectors, and on whole domains when a nest's body is
evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute, Operation

from lamina.dialects.elementwise import PRIMITIVES, ROWS, Elementwise
from lamina.dialects.errors import UnsupportedError
from lamina.dialects.loop.special import SpecialOp
from lamina.lowering.outline_literals import value_of
from lamina.runtime.interpreters import array_functions, array_math
from lamina.runtime.interpreters.values import numpy_dtype
from lamina.runtime.literals import array_of

Compute = Callable[..., Any]


def _nonzero(y: Any) -> Any:
    return np.where(y == 0, np.ones((), y.dtype), y)


def _truncated_quotient(x: Any, y: Any) -> Any:
    safe = _nonzero(y)
    quotient = np.floor_divide(x, safe)
    inexact = quotient * safe != x
    return quotient + (inexact & ((x < 0) != (safe < 0))).astype(x.dtype)


def _unsigned(compute: Compute) -> Compute:
    """On the same bits without sign; the result has the type of the operands again."""

    def run(*operands: Any) -> Any:
        made = compute(*map(_without_sign, operands))
        return made.view(operands[0].dtype) if made.dtype != np.bool_ else made

    return run


def _without_sign(x: Any) -> Any:
    return x.view(np.dtype(f"u{x.dtype.itemsize}")) if x.dtype.kind == "i" else x


def _shift(compute: Compute, *, signed: bool = False) -> Compute:
    """What MLIR leaves open is defined: all bits leave, and only copies of a sign come in."""

    def run(x: Any, y: Any) -> Any:
        width = 8 * x.dtype.itemsize if x.dtype != np.bool_ else 1
        outside = (y < 0) | (y >= width)
        made = compute(x, np.where(outside, width - 1 if signed else 0, y))
        return made if signed else np.where(outside, np.zeros((), made.dtype), made)

    return run


def _ops_of(row: Elementwise) -> dict[str, Compute]:
    """The ops of bodies that are one elementwise function."""
    function = array_functions.FUNCTIONS.get(row.name)
    if function is None:
        return {}
    ops: dict[str, Compute] = dict.fromkeys(row.loop_ops, function)
    return ops | ({row.unsigned: _unsigned(function)} if row.unsigned else {})


COMPUTE: dict[str, Compute] = {op: f for row in ROWS for op, f in _ops_of(row).items()} | {
    "arith.shli": _shift(np.left_shift),
    "arith.shrsi": _shift(np.right_shift, signed=True),
    "arith.shrui": _shift(_unsigned(np.right_shift)),
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "arith.divsi": _truncated_quotient,
    "arith.divui": _unsigned(lambda x, y: x // _nonzero(y)),
    "arith.floordivsi": lambda x, y: x // _nonzero(y),
    "arith.ceildivsi": lambda x, y: -(-x // _nonzero(y)),
    "arith.ceildivui": _unsigned(lambda x, y: x // _nonzero(y) + (x % _nonzero(y) != 0)),
    "arith.remsi": lambda x, y: np.fmod(x, _nonzero(y)),
    "arith.remui": _unsigned(lambda x, y: x % _nonzero(y)),
    "math.ctpop": lambda x: np.bitwise_count(_without_sign(x)),
    "math.ipowi": lambda x, y: np.power(x, np.maximum(y, 0)),
}
"""Ops whose results have the type of their operands; those below mean what no function does."""

CASTS = frozenset(
    {
        "arith.extf",
        "arith.truncf",
        "arith.extsi",
        "arith.extui",
        "arith.trunci",
        "arith.fptosi",
        "arith.fptoui",
        "arith.sitofp",
        "arith.uitofp",
        "arith.index_cast",
    }
)

COMPARE: dict[str, Compute] = {
    name: array_functions.FUNCTIONS[name]
    for name, row in PRIMITIVES.items()
    if row.is_predicate and row.operands == 2
}
"""Relations by the predicates of `arith`, without what stands for signs and NaN."""

VECTOR_FORMS = frozenset(
    {"loop.cmpi", "loop.cmpf", "loop.select"}
    | {name.replace("arith.", "loop.") for name in CASTS - {"arith.extf", "arith.truncf"}}
)
"""`loop` ops that mean what the `arith` op of the same name means, lane by lane."""


def _signed_bit(operand: Any) -> Any:
    return -operand.astype(np.int8)


def _unsigned_bit(operand: Any) -> Any:
    return operand.astype(np.uint8)


_ON_BITS: dict[str, Compute] = {
    "arith.addi": _unsigned_bit,
    "arith.subi": _unsigned_bit,
    "arith.maxsi": _signed_bit,
    "arith.minsi": _signed_bit,
    "arith.shrui": _unsigned_bit,
}
"""Ops that mean something else on NumPy's booleans than on numbers of one bit, of which the signed
one is 0 or -1; and what NumPy computes with instead, whose lowest bit is the result."""


def element_type(kind: Attribute) -> Attribute:
    """The type of a vector's lanes; other types are their own."""
    return kind.element_type if isinstance(kind, VectorType) else kind


def evaluate(op: Operation, operands: list[Any]) -> Any:
    """The value of one op on arrays. Raises UnsupportedError for an op it does not know."""
    name = op.name.replace("loop.", "arith.") if op.name in VECTOR_FORMS else op.name
    if isinstance(op, arith.ConstantOp):
        return constant(op)
    dtype = numpy_dtype(element_type(op.results[0].type))
    operands = [np.asarray(o) for o in operands]
    if dtype == np.bool_ and name in _ON_BITS:
        wide = [_ON_BITS[name](operand) for operand in operands]
        return (COMPUTE[name](*wide) & 1).astype(dtype)
    if name in COMPUTE:
        made = COMPUTE[name](*operands)
        return np.asarray(made).astype(dtype, copy=False)
    if name in CASTS:
        return _cast(name, element_type(op.operands[0].type), operands[0], dtype)
    if isinstance(op, SpecialOp):
        return array_math.evaluate(op.function.data, operands)
    if name == "arith.select":
        return np.where(*operands)
    if name in ("math.fma", "vector.fma"):
        wide = [x.astype(np.float64 if dtype.itemsize < 8 else np.longdouble) for x in operands]
        return (wide[0] * wide[1] + wide[2]).astype(dtype)
    if name == "loop.compress":
        kept = operands[0][operands[1].astype(np.bool_)]
        return np.concatenate([kept, np.zeros(operands[0].size - kept.size, kept.dtype)])
    if name == "loop.dot_pairs":
        left, right, total = (x.astype(np.float32) for x in operands)
        return (left * right).reshape(-1, 2).sum(axis=1) + total
    if name in ("arith.bitcast", "vector.bitcast"):
        return np.array(operands[0]).view(dtype)
    if name in ("arith.cmpf", "arith.cmpi"):
        predicate: int = op.properties["predicate"].value.data  # pyright: ignore
        floats = name == "arith.cmpf"
        return (_compare_floats if floats else _compare_integers)(predicate, *operands)
    raise UnsupportedError(op.name, "is not interpreted at the loop layer")


def constant(op: arith.ConstantOp) -> Any:
    """The number, the vector or the tensor of a constant."""
    if isinstance(op.result.type, TensorType):
        return array_of(value_of(op))
    value, dtype = op.value, numpy_dtype(element_type(op.result.type))
    if isinstance(value, DenseIntOrFPElementsAttr):
        given = np.asarray(value.get_values())
        assert isinstance(op.result.type, VectorType)
        return np.broadcast_to(given.astype(dtype), op.result.type.get_shape())
    assert isinstance(value, IntegerAttr | FloatAttr)
    return np.asarray(value.value.data).astype(dtype)


def _cast(name: str, given: Attribute, x: Any, dtype: np.dtype[Any]) -> Any:
    signed_bool = x.dtype == np.bool_ and name in ("arith.extsi", "arith.sitofp")
    if signed_bool or (x.dtype == np.bool_ and name == "arith.index_cast"):
        return -x.astype(np.int8).astype(dtype)
    if name in ("arith.extui", "arith.uitofp"):
        return _without_sign(x).astype(dtype)
    if name in ("arith.extsi", "arith.sitofp", "arith.index_cast") and _is_unsigned(given):
        return x.view(np.dtype(f"i{x.dtype.itemsize}")).astype(dtype)
    if name == "arith.trunci" and dtype == np.bool_:
        return (x & 1).astype(dtype)
    return x.astype(dtype)


def _is_unsigned(kind: Attribute) -> bool:
    return isinstance(kind, IntegerType) and kind.signedness.data == Signedness.UNSIGNED


def _compare_integers(predicate: int, x: Any, y: Any) -> Any:
    mnemonic = arith.CMPI_COMPARISON_OPERATIONS[predicate]
    compute = COMPARE[mnemonic[-2:]]
    return (_unsigned(compute) if mnemonic[0] == "u" else compute)(x, y)


def _compare_floats(predicate: int, x: Any, y: Any) -> Any:
    mnemonic = arith.CMPF_COMPARISON_OPERATIONS[predicate]
    if mnemonic in ("false", "true"):
        return np.broadcast_to(np.asarray(mnemonic == "true"), np.broadcast(x, y).shape)
    unordered = np.isnan(x) | np.isnan(y)
    if mnemonic in ("ord", "uno"):
        return unordered if mnemonic == "uno" else ~unordered
    made = COMPARE[mnemonic[1:]](x, y)
    return made | unordered if mnemonic[0] == "u" else made & ~unordered


REDUCE: dict[str, Any] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
}
"""How the combiners of `loop.generic` join values."""
