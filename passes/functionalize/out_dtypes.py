"""The dtype that an op computes in for a written tensor of another dtype than its result."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.schema.promotion import BOOL, FLOAT, INTEGER, category
from lamina.passes.refusal import unsupported

OPTIONS = frozenset(["dtype", "layout", "device", "pin_memory"])
"""Arguments that say of what kind a new tensor is; an `out=` overload takes them from `out`."""

_COMPUTED_IN = {
    "cumprod": INTEGER,
    "cumsum": INTEGER,
    "mean": FLOAT,
    "nanmean": FLOAT,
    "nansum": INTEGER,
    "prod": BOOL,
    "sum": BOOL,
}
"""Packets that compute in the dtype of what they write, and the lowest category that may be."""

_KEEPS_REALNESS = frozenset(["nanmean", "nansum"])
"""Of these packets, those that write no lower category than their result has by itself."""


def dtype_of(value: SSAValue) -> Attribute:
    """The element type of a tensor."""
    assert isinstance(value.type, TensorType)
    return value.type.get_element_type()


def in_dtype_of_target(op: SchemaOp, form: type[SchemaOp], target: SSAValue) -> dict[str, Any]:
    """Arguments that make the functional form compute in the dtype of a written tensor.

    None of them where the form has no such argument, or `op` has it too.
    Raises UnsupportedError for dtypes that eager mode refuses.
    """
    element = dtype_of(target)
    if form.schema.arg("dtype") is None:
        return {}
    if op.schema.arg("dtype") is None:
        return {"dtype": element}
    given = op.arg("dtype")
    if given is not None and given != element:
        raise unsupported(op, f"computes in {given}, and writes a tensor of {element}", "one dtype")
    return {}


def computes_in_target(op: SchemaOp, result: SSAValue, target: SSAValue) -> bool:
    """Whether a result of another dtype than the target's has to be computed in the target's.

    Raises UnsupportedError for dtypes that eager mode refuses.
    """
    element, natural = dtype_of(target), dtype_of(result)
    if element == natural or op.schema.arg("dtype") is None:
        return False
    packet = op.overload_name.partition(".")[0].removesuffix("_")
    if packet not in _COMPUTED_IN:
        raise _no_cast(op, natural, element)
    lowest = _COMPUTED_IN[packet]
    if category(element) < max(lowest, category(natural) if packet in _KEEPS_REALNESS else lowest):
        raise _no_cast(op, natural, element)
    return True


def check_cast(op: Operation, result: Attribute, target: Attribute) -> None:
    """Raise UnsupportedError unless torch casts an op's result to what it is written to."""
    if category(result) > category(target):
        raise _no_cast(op, result, target)


def _no_cast(op: Operation, result: Attribute, target: Attribute) -> Exception:
    return unsupported(
        op,
        f"gives {result}, which torch does not cast to the {target} of the written tensor",
        f"a tensor of {result} to write, and a conversion after that",
    )
