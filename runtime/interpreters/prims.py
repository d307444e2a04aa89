"""The interpreter of `prims`: one NumPy function for each primitive."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues
from xdsl.ir import Operation

from lamina.dialects.elementwise import PRIMITIVES
from lamina.dialects.errors import UnsupportedError
from lamina.runtime.extern_kernels.binding import call_of
from lamina.runtime.interpreters import (
    array_functions,
    array_math,
    philox,
    prims_order,
    prims_strided,
)
from lamina.runtime.interpreters.aten import TableFunctions
from lamina.runtime.interpreters.aten_ops import pointwise
from lamina.runtime.interpreters.aten_ops.convolution import correlate, pad_spatial, windows
from lamina.runtime.interpreters.aten_ops.reduction import variance
from lamina.runtime.interpreters.aten_ops.registry import Call, wide
from lamina.runtime.interpreters.callees import called_program
from lamina.runtime.interpreters.values import Array, as_type, greatest, joined, least, numpy_dtype

Function = Callable[[Call], Any]


def _complex(real: Array, imag: Array) -> Array:
    made = np.empty(real.shape, np.complex64 if real.dtype == np.float32 else np.complex128)
    made.real, made.imag = real, imag
    return made


def _functions_of(operands: int) -> dict[str, Callable[..., Any]]:
    """The elementwise primitives of so many operands that are computed on arrays at once."""
    return {
        name: array_functions.FUNCTIONS[name]
        for name, row in PRIMITIVES.items()
        if row.operands == operands and name in array_functions.FUNCTIONS
    }


UNARY: dict[str, Callable[[Any], Any]] = _functions_of(1) | {
    "clone": lambda x: x,
    "conj": np.conj,
    "imag": np.imag,
    "real": np.real,
    "view_of": lambda x: x,
}
"""On one tensor."""

BINARY: dict[str, Callable[[Any, Any], Any]] = _functions_of(2) | {"complex": _complex}
"""On two tensors of one shape and dtype."""

SPECIAL = {name for name, row in PRIMITIVES.items() if row.is_special} - UNARY.keys() - {"gcd"}
"""Functions with a formula for arrays only."""

REDUCTIONS: dict[str, Callable[..., Any]] = {
    "amax": greatest,
    "amin": least,
    "prod": np.prod,
    "sum": np.sum,
    "xor_sum": np.bitwise_xor.reduce,
}
"""Over dims, which go away; None means all."""


def _unary(function: Callable[[Any], Any]) -> Function:
    return lambda a: function(_operands(a)[0])


def _binary(function: Callable[[Any, Any], Any]) -> Function:
    def run(a: Call) -> Array:
        x, y = _operands(a)
        if x.shape != y.shape or x.dtype != y.dtype:
            raise ValueError("operands differ in shape or dtype")
        return function(x, y)

    return run


def _reduction(function: Callable[..., Any]) -> Function:
    def run(a: Call) -> Array:
        x = a["inp"]
        accumulated = x if function in (np.max, np.min) else wide(x)
        dims = a["dims"]
        return function(accumulated, axis=None if dims is None else tuple(dims))

    return run


def _operands(a: Call) -> list[Array]:
    return [a._decode(operand) for operand in a.op.operands]  # pyright: ignore


def _special(name: str) -> Function:
    return lambda a: array_math.evaluate(name, _operands(a))


def frexp(a: Call) -> list[Array]:
    """Mantissa and exponent; infinities and NaN have exponent 0."""
    mantissa, exponent = np.frexp(_operands(a)[0])
    return [mantissa, exponent]


def nextafter(a: Call) -> Array:
    """The next number of the operands' own type, which f32 would step over."""
    return np.nextafter(*(x.astype(a.storage_dtype) for x in _operands(a)))


def view_of_dtype(a: Call) -> Array:
    """The same bits as another dtype of that width; half floats come in as f32."""
    (x,) = _operands(a)
    declared = numpy_dtype(a.op.operands[0].type.get_element_type())
    return np.array(x, declared, order="C").view(a.storage_dtype)


def where(a: Call) -> Array:
    """a where pred, else b."""
    return np.where(a["pred"], a["a"], a["b"])


def var(a: Call) -> Array:
    """Variance over dims."""
    x = wide(a["inp"])
    dims = a["dims"]
    axis = tuple(range(x.ndim)) if dims is None else tuple(dims)
    return variance(x, axis, 1 if a["correction"] is None else a["correction"], False)


def convert_element_type(a: Call) -> Array:
    """A conversion."""
    return pointwise.convert_dtype(a["a"], a.dtype)


def full(a: Call) -> Array:
    """One value."""
    return np.full(a.shape, np.asarray(a["fill_value"]).astype(a.dtype))


def scalar_tensor(a: Call) -> Array:
    """One number."""
    return np.asarray(a["s"]).astype(a.dtype)


def empty(a: Call) -> Array:
    """Zeros."""
    return np.zeros(a.shape, a.dtype)


def iota(a: Call) -> Array:
    """start + step * i."""
    return (a["start"] + a["step"] * np.arange(a["length"])).astype(a.dtype)


def broadcast_in_dim(a: Call) -> Array:
    """Dimension i of `a` becomes dimension broadcast_dimensions[i]; the others are new."""
    x: Array = a["a"]
    shape = [1] * len(a["shape"])
    for dim, extent in zip(a["broadcast_dimensions"], x.shape, strict=True):
        shape[dim] = extent
    return np.broadcast_to(x.reshape(shape), a["shape"])


def reshape(a: Call) -> Array:
    """The result's shape."""
    return a["a"].reshape(a.shape)


def transpose(a: Call) -> Array:
    """Dimensions permuted."""
    return np.transpose(a["a"], a["permutation"])


def rev(a: Call) -> Array:
    """Dimensions reversed."""
    return np.flip(a["a"], tuple(a["dims"]))


def cat(a: Call) -> Array:
    """Joined along dim."""
    return np.concatenate(a["tensors"], axis=a["dim"])


def contract(a: Call) -> Array:
    """Sum of products: batch dims, then the free dims of a, then those of b."""
    x, y = a["a"], a["b"]
    left, right = (
        _contract_layout(x, a["a_batch"], a["a_contract"], last=True),
        _contract_layout(y, a["b_batch"], a["b_contract"], last=False),
    )
    return (left @ right).reshape(a.shape)


def _contract_layout(x: Array, batch: list[int], summed: list[int], last: bool) -> Array:
    """(batch, free, summed), or (batch, summed, free)."""
    free = [d for d in range(x.ndim) if d not in batch and d not in summed]
    sizes = [int(np.prod([x.shape[d] for d in dims])) for dims in (batch, free, summed)]
    if last:
        return np.transpose(x, [*batch, *free, *summed]).reshape(sizes)
    return np.transpose(x, [*batch, *summed, *free]).reshape(sizes[0], sizes[2], sizes[1])


def convolution(a: Call) -> Array:
    """Cross-correlation."""
    padding = [(p, p) for p in a["padding"]]
    x, weight = wide(a["input"]), wide(a["weight"])
    return correlate(x, weight, a["stride"], padding, a["dilation"], a["groups"])


def reduce_window(a: Call) -> Array:
    """max or sum of each window; the border holds the identity."""
    x, window, stride = a["a"], a["window"], a["stride"]
    largest = a["combiner"] == "max"
    identity = 0 if not largest else -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    x = x if largest else wide(x)
    dims = len(window)
    border: list[tuple[int, int]] = []
    for i in range(dims):
        last = (a.shape[-dims + i] - 1) * stride[i] + a["dilation"][i] * (window[i] - 1) + 1
        border.append((a["padding"][i], last - x.shape[x.ndim - dims + i] - a["padding"][i]))
    view = windows(pad_spatial(x, border, identity), window, stride, a["dilation"])
    axis = tuple(range(-dims, 0))
    return view.max(axis=axis) if largest else view.sum(axis=axis)


def take(a: Call) -> Array:
    """a[:dim] + index.shape + a[dim + 1:]."""
    x, index, dim = a["a"], a["index"], a["dim"]
    _check_bounds(index, x.shape[dim])
    return np.take(x, index, axis=dim)


def gather(a: Call) -> Array:
    """One element for each index along dim."""
    x, index, dim = a["a"], a["index"], a["dim"]
    _check_bounds(index, x.shape[dim])
    return np.take_along_axis(x, index, axis=dim)


def _check_bounds(index: Array, extent: int) -> None:
    if index.size and (index.min() < 0 or index.max() >= extent):
        raise IndexError(f"index outside [0, {extent})")


def pad(a: Call) -> Array:
    """A constant around; negative amounts cut."""
    widths = list(zip(a["low"], a["high"], strict=True))
    return pad_spatial(a["a"], widths, np.asarray(a["value"]).astype(a["a"].dtype))  # pyright: ignore


def index_of_extremum(a: Call) -> Array:
    """First index of the extremum over dims, in row-major order of those dims."""
    x, dims = a["a"], a["dims"]
    rest = [d for d in range(x.ndim) if d not in dims]
    flat = joined(np.transpose(x, [*rest, *dims]), len(dims))
    return flat.argmax(-1) if a.op.name.endswith("argmax") else flat.argmin(-1)


def scan(a: Call) -> Array:
    """Running combination along dim."""
    functions = {
        "add": np.add,
        "mul": np.multiply,
        "and": np.logical_and,
        "or": np.logical_or,
        "max": np.maximum,
        "min": np.minimum,
        "logaddexp": np.logaddexp,
    }
    made = functions[a["combiner"]].accumulate(wide(a["a"]), axis=a["dim"])
    # Sums begin at 0.0, and `logaddexp` at the exponential of -inf: none is -0.0.
    return made + made.dtype.type(0) if a["combiner"] in ("add", "logaddexp") else made


def extern(a: Call) -> list[Array]:
    """What the extern kernel of that name makes, or the program that it stands for."""
    called = called_program(a.op, a["inputs"])
    if called is not None:
        return called
    results = [result.type for result in a.op.results]
    options = json.loads(a["options"])
    return call_of(a["kernel"], options, a.op.operand_types, results).run(a["inputs"])


def squeeze(a: Call) -> Array:
    """To the result's shape."""
    return a["a"].reshape(a.shape)


FUNCTIONS: dict[str, Function] = (
    {name: _unary(function) for name, function in UNARY.items()}
    | {name: _binary(function) for name, function in BINARY.items()}
    | {name: _special(name) for name in SPECIAL}
    | {name: _reduction(function) for name, function in REDUCTIONS.items()}
    | prims_order.FUNCTIONS
    | prims_strided.FUNCTIONS
    | {
        "argmax": index_of_extremum,
        "argmin": index_of_extremum,
        "broadcast_in_dim": broadcast_in_dim,
        "cat": cat,
        "collapse": squeeze,
        "collapse_view": squeeze,
        "contract": contract,
        "convert_element_type": convert_element_type,
        "convolution": convolution,
        "empty": empty,
        "full": full,
        "full_like": full,
        "extern": extern,
        "frexp": frexp,
        "gather": gather,
        "iota": iota,
        "nextafter": nextafter,
        "normal": philox.run_normal,
        "pad": pad,
        "philox": philox.run_philox,
        "reduce_window": reduce_window,
        "reshape": reshape,
        "rev": rev,
        "scalar_tensor": scalar_tensor,
        "scan": scan,
        "split_dim": squeeze,
        "squeeze": squeeze,
        "take": take,
        "transpose": transpose,
        "uniform": philox.run_uniform,
        "var": var,
        "view_of_dtype": view_of_dtype,
        "where": where,
    }
)


def functions(op_classes: Collection[type[Operation]]) -> InterpreterFunctions:
    """Implementations for these `prims` op classes."""
    return TableFunctions({op_class: _implementation(op_class) for op_class in op_classes})


def _implementation(
    op_class: type[Operation],
) -> Callable[[Interpreter, Any, PythonValues], PythonValues]:
    function = FUNCTIONS.get(op_class.name.partition(".")[2])

    def run(interpreter: Interpreter, op: Any, args: PythonValues) -> PythonValues:
        if function is None:
            raise UnsupportedError(op.name, "has no interpreter yet")
        made = function(Call(op, args))
        results = made if isinstance(made, list) else [made]
        return tuple(as_type(v, r.type) for v, r in zip(results, op.results, strict=True))

    return run
