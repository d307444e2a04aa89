"""Scalar bodies of loop nests evaluated on whole arrays: one NumPy call for each body op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Operation

from lamina.dialects.errors import UnsupportedError
from lamina.runtime.interpreters.aten_ops import pointwise
from lamina.runtime.interpreters.values import numpy_dtype

Compute = Callable[..., Any]


def _truncated_quotient(x: Any, y: Any) -> Any:
    safe = np.where(y == 0, 1, y)
    return (np.abs(x) // np.abs(safe)) * np.sign(x) * np.sign(safe)


BINARY: dict[str, Compute] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.shli": np.left_shift,
    "arith.shrsi": np.right_shift,
    "arith.shrui": np.right_shift,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.maxui": np.maximum,
    "arith.minui": np.minimum,
    "arith.divsi": _truncated_quotient,
    "arith.divui": lambda x, y: x // np.where(y == 0, 1, y),
    "arith.remsi": lambda x, y: np.fmod(x, np.where(y == 0, 1, y)),
    "arith.remui": lambda x, y: np.fmod(x, np.where(y == 0, 1, y)),
    "math.atan2": np.arctan2,
    "math.powf": np.power,
    "math.ipowi": lambda x, y: np.power(x, np.maximum(y, 0)),
    "math.copysign": np.copysign,
}

UNARY: dict[str, Compute] = {
    "arith.negf": np.negative,
    "math.absf": np.abs,
    "math.absi": np.abs,
    "math.acos": np.arccos,
    "math.acosh": np.arccosh,
    "math.asin": np.arcsin,
    "math.asinh": np.arcsinh,
    "math.atan": np.arctan,
    "math.atanh": np.arctanh,
    "math.cbrt": np.cbrt,
    "math.ceil": np.ceil,
    "math.cos": np.cos,
    "math.cosh": np.cosh,
    "math.erf": pointwise.UNARY["erf"],
    "math.exp": np.exp,
    "math.exp2": np.exp2,
    "math.expm1": np.expm1,
    "math.floor": np.floor,
    "math.log": np.log,
    "math.log10": np.log10,
    "math.log1p": np.log1p,
    "math.log2": np.log2,
    "math.roundeven": np.round,
    "math.rsqrt": lambda x: np.asarray(1.0, x.dtype) / np.sqrt(x),
    "math.sin": np.sin,
    "math.sinh": np.sinh,
    "math.sqrt": np.sqrt,
    "math.tan": np.tan,
    "math.tanh": np.tanh,
    "math.trunc": np.trunc,
}

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
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def evaluate(op: Operation, operands: list[Any]) -> Any:
    """The value of one body op on arrays. Raises UnsupportedError for an op it does not know."""
    name = op.name
    if isinstance(op, arith.ConstantOp):
        value = op.value
        assert isinstance(value, IntegerAttr | FloatAttr)
        return np.asarray(value.value.data).astype(numpy_dtype(op.result.type))
    dtype = numpy_dtype(op.results[0].type)
    if name in BINARY or name in UNARY:
        made = (BINARY.get(name) or UNARY[name])(*operands)
        return np.asarray(made).astype(dtype, copy=False)
    if name in CASTS:
        return np.asarray(operands[0]).astype(dtype)
    if name == "arith.select":
        return np.where(*operands)
    if name == "math.fma":
        wide = [np.asarray(x).astype(np.longdouble) for x in operands]
        return (wide[0] * wide[1] + wide[2]).astype(dtype)
    if name == "arith.bitcast":
        return np.ascontiguousarray(operands[0]).view(dtype)
    if isinstance(op, arith.CmpfOp):
        return _compare_floats(op, operands)
    if isinstance(op, arith.CmpiOp):
        mnemonic = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
        return COMPARE[mnemonic[-2:]](*operands)
    raise UnsupportedError(name, "is not interpreted in loop bodies")


def _compare_floats(op: arith.CmpfOp, operands: list[Any]) -> Any:
    mnemonic = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    x, y = operands
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
