"""torch's dtypes, fake tensors and attribute values in terms of xDSL types and Python constants."""

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ComplexType,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute

from lamina.dialects.errors import UnsupportedError
from lamina.dialects.schema.promotion import ui8, ui16, ui32, ui64
from lamina.dialects.schema.result_rules.shapes import tensor

ELEMENT_TYPES: dict[torch.dtype, Attribute] = {
    torch.float16: f16,
    torch.bfloat16: bf16,
    torch.float32: f32,
    torch.float64: f64,
    torch.bool: i1,
    torch.int8: i8,
    torch.int16: i16,
    torch.int32: i32,
    torch.int64: i64,
    torch.uint8: ui8,
    torch.uint16: ui16,
    torch.uint32: ui32,
    torch.uint64: ui64,
    torch.complex64: ComplexType(f32),
    torch.complex128: ComplexType(f64),
}
"""The element type of each torch dtype that Lamina knows; bool is i1."""

DTYPES: dict[Attribute, torch.dtype] = {v: k for k, v in ELEMENT_TYPES.items()}
"""The torch dtype of each element type."""


def element_type(dtype: torch.dtype) -> Attribute:
    """The element type of `dtype`; UnsupportedError for quantized, float8 and sub-byte dtypes."""
    found = ELEMENT_TYPES.get(dtype)
    if found is None:
        known = ", ".join(str(d).removeprefix("torch.") for d in ELEMENT_TYPES)
        raise UnsupportedError(str(dtype), "this dtype has no element type", nearest=known)
    return found


def tensor_type(value: torch.Tensor) -> TensorType:
    """The ranked tensor type of a real or fake strided CPU tensor; symbolic sizes become `?`."""
    if value.layout is not torch.strided:
        raise UnsupportedError(
            str(value.layout), "only strided tensors can be compiled", nearest="Tensor.to_dense()"
        )
    check_device(value.device)
    shape = [known_size(size) for size in value.shape]
    kind = element_type(value.dtype)
    return tensor([DYNAMIC_INDEX if size is None else size for size in shape], kind)


def known_size(size: int | torch.SymInt) -> int | None:
    """A size as a number; None for one that torch leaves open."""
    if not isinstance(size, torch.SymInt):
        return int(size)
    expr = size.node.expr  # a number where torch found that a symbol is one
    if expr.is_number:
        return int(expr)
    # What torch has broadcast is 1 in all calls of the graph, by a guard: its size says so no more.
    return 1 if not expr.is_symbol and statically_known_true(size == 1) else None


def described(value: torch.Tensor) -> str:
    """The tensor type as IR spells it; torch's names where IR has none."""
    try:
        return str(tensor_type(value))
    except UnsupportedError:
        sizes = "".join(f"{size}x" for size in value.shape)
        layout = "" if value.layout is torch.strided else f", {value.layout}"
        return f"tensor<{sizes}{value.dtype}{layout}>".replace("torch.", "")


def check_device(device: torch.device) -> None:
    """Refuses every device but the CPU; meta tensors have no data to compute on."""
    if device.type != "cpu":
        raise UnsupportedError(
            f"device {device}",
            "Lamina compiles for the CPU",
            nearest="move the module and its example inputs to the CPU before exporting",
        )


def scalar_type(value: object) -> Attribute:
    """The type of a Python or symbolic number that a graph computes: i64, f64 or i1."""
    if isinstance(value, bool | torch.SymBool):
        return i1
    if isinstance(value, int | torch.SymInt):
        return i64
    if isinstance(value, float | torch.SymFloat):
        return f64
    raise UnsupportedError(
        type(value).__name__, "a graph value must be a tensor, a number or a list of tensors"
    )


def constant_argument(value: object) -> object:
    """A constant in a node's arguments, as the builders of the table dialects take it.

    A dtype becomes its element type; devices, layouts and memory formats become their names.
    UnsupportedError for a device that is not the CPU and for sparse layouts.
    """
    if isinstance(value, torch.dtype):
        return element_type(value)
    if isinstance(value, torch.device):
        check_device(value)
        return "cpu"
    if isinstance(value, torch.layout):
        if value is not torch.strided:
            raise UnsupportedError(str(value), "only strided tensors can be compiled")
        return "strided"
    if isinstance(value, torch.memory_format):
        return str(value).removeprefix("torch.")
    return value
