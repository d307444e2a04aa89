"""Extern kernels that are torch's overloads: what the library `torch` holds.

`torch.<namespace>.<op>.<overload>` is the custom op of that name. It is looked up when a program is
bound, so that machine code of the disk cache calls what this process has registered. The options
have the arguments by name: constants, and for tensors their numbers among the inputs; None is left
out. torch is imported only when a name of this library is needed.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from lamina.dialects.errors import UnsupportedError
from lamina.runtime.extern_kernels.registry import ExternKernel, provide

LIBRARY = "torch"
"""The first part of the kernels' names."""

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def kernel_name(target: Any) -> str:
    """The name of an overload as an extern kernel: torch.mine.scale.default."""
    return f"{LIBRARY}.{target.namespace}.{target._opname}.{target._overloadname}"


def base_kind(argument: Any) -> str:
    """The type of a schema's argument without Optional and List: Tensor, int, ScalarType, ..."""
    kind = str(argument.real_type)
    while kind.startswith(("Optional[", "List[")):
        kind = kind.partition("[")[2].removesuffix("]")
    return kind


def find(name: str) -> ExternKernel | None:
    """The kernel of a name of four parts; UnsupportedError if torch has no such op here."""
    parts = name.split(".")
    if len(parts) != 4:
        return None
    import torch

    _, namespace, op, overload = parts
    try:
        target: Any = getattr(getattr(getattr(torch.ops, namespace), op), overload)
    except AttributeError:
        raise UnsupportedError(
            "loop.extern",
            f"the custom op {namespace}::{op}.{overload} is not registered in this process",
            nearest="import the module that registers it first",
        ) from None
    return ExternKernel(name, partial(_run, target))


def _run(target: Any, *inputs: np.ndarray, **options: Any) -> list[np.ndarray]:
    """Calls an overload; its results and then the new values of the arguments it writes, flat."""
    import torch

    arguments: dict[str, Any] = {}
    written: list[Any] = []
    for argument in target._schema.arguments:
        value = options.get(argument.name)
        if base_kind(argument) == "Tensor":
            value = _tensors(value, inputs, argument.is_write)
            written += _flat(value) if argument.is_write else []
        else:
            value = _constant(base_kind(argument), value)
        arguments[argument.name] = value
    with torch.no_grad():
        results = target(**arguments)
    return [_array(target, value) for value in (*_flat(results), *written)]


def _tensors(numbers: Any, inputs: tuple[np.ndarray, ...], written: bool) -> Any:
    if isinstance(numbers, list):
        return [_tensors(number, inputs, written) for number in numbers]
    return None if numbers is None or numbers < 0 else _tensor(inputs[numbers], written)


def _constant(kind: str, value: Any) -> Any:
    import torch

    if isinstance(value, list):
        return [_constant(kind, entry) for entry in value]
    if value is None:
        return None
    if kind in ("ScalarType", "Layout", "MemoryFormat"):
        return getattr(torch, value)
    return torch.device(value) if kind == "Device" else value


def _flat(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [leaf for entry in value for leaf in _flat(entry)]
    return [] if value is None else [value]


def _tensor(array: np.ndarray, copied: bool) -> Any:
    """A tensor over an array's memory, or over a copy that may be written."""
    import torch

    plain = array.view(np.int16) if array.dtype == _BFLOAT16 else array.view()
    if copied:
        plain = plain.copy()
    elif not plain.flags.writeable:
        try:
            plain.flags.writeable = True  # torch warns of arrays that are not
        except ValueError:
            plain = plain.copy()
    tensor = torch.from_numpy(plain)
    return tensor.view(torch.bfloat16) if array.dtype == _BFLOAT16 else tensor


def _array(target: Any, value: Any) -> np.ndarray:
    import torch

    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{target} gave a {type(value).__name__}, not a tensor")
    plain = value.detach().resolve_conj().resolve_neg().cpu()
    if plain.dtype is torch.bfloat16:
        return plain.view(torch.int16).numpy().view(_BFLOAT16)
    return plain.numpy()


provide(LIBRARY, find)
