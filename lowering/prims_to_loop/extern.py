"""Calls of extern kernels."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.extern import ExternOp, option_attribute
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.prims_to_loop.table import LoopBuilder, lowers

CALLS: dict[str, str] = {
    "fft_c2c": "fft.c2c",
    "fft_c2r": "fft.c2r",
    "fft_r2c": "fft.r2c",
    "svd": "linalg.svd",
}
"""Primitives of torch's that an extern kernel computes."""


def options_of(op: SchemaOp) -> dict[str, Any]:
    """The options of the kernel: the numbers among the arguments; transforms do not normalize."""
    values = {argument.name: op.arg(argument.name) for argument in op.schema.args}
    options = {name: v for name, v in values.items() if not isinstance(v, SSAValue)}
    return options if op.name == "prims.svd" else options | {"normalization": 0}


@lowers(*CALLS)
def _call(op: SchemaOp, b: LoopBuilder) -> Sequence[SSAValue]:
    """A call of the kernel."""
    attributes = {name: option_attribute(value) for name, value in options_of(op).items()}
    types = [result.type for result in op.results]
    kernel = CALLS[op.name.removeprefix("prims.")]
    return _called(b, kernel, op.operands, types, attributes)


@lowers("extern")
def _extern(op: SchemaOp, b: LoopBuilder) -> Sequence[SSAValue]:
    """The same call at the loop layer."""
    try:
        options = json.loads(op.arg("options"))
        attributes = {name: option_attribute(value) for name, value in options.items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise b.refuse(f"the options are no JSON object of numbers and strings: {error}") from None
    types = [result.type for result in op.results]
    return _called(b, op.arg("kernel"), op.arg("inputs"), types, attributes)


def _called(
    b: LoopBuilder,
    kernel: str,
    inputs: Sequence[SSAValue],
    types: Sequence[Attribute],
    attributes: Mapping[str, Attribute],
) -> Sequence[SSAValue]:
    extents = [e for kind in types if isinstance(kind, TensorType) for e in kind.get_shape()]
    call = ExternOp(kernel, inputs, types, attributes, sizes=b.values(extents))
    return list(b.insert(call).results)
