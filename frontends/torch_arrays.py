"""torch tensors as arguments and results of compiled programs, without a copy."""

import ctypes
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import torch

from lamina.dialects.errors import ArgumentError, ExecutionError
from lamina.frontends.torch_types import DTYPES
from lamina.runtime.arguments import (
    Reader,
    describe,
    is_foreign,
    is_number,
    number_array,
    shape_error,
    wrong_kind,
)
from lamina.runtime.dispatch.native import capsule_pointer
from lamina.runtime.entry import Slot, element_name
from lamina.runtime.free_memory import check_room
from lamina.runtime.overlap import array_at

_DTYPES: dict[str, torch.dtype] = {element_name(k): v for k, v in DTYPES.items()}

_DLPACK_MAJOR = 1


class _Exchange(ctypes.Structure):
    """DLPack's table of functions: DLPackExchangeAPI in dlpack.h, from version 1.2 on."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("export", ctypes.c_void_p),
        ("wrap", ctypes.c_void_p),
        ("describe", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    )


class TorchArrays:
    """Dense CPU tensors that need no gradient; programs read contiguous ones."""

    name = "torch"

    def viewed(self, value: Any, slot: Slot, position: int) -> Any:
        """Tensors themselves; arrays of other libraries without a copy, where they allow it."""
        if isinstance(value, torch.Tensor):
            return value
        if is_number(value):
            number = number_array(value, slot, position)
            return torch.tensor(number.item(), dtype=_DTYPES[slot.dtype])
        if not is_foreign(value):
            raise wrong_kind(position, slot, value, "torch")
        try:
            if hasattr(value, "__dlpack__"):
                return torch.from_dlpack(value)
            return torch.from_numpy(np.array(value))
        except (TypeError, ValueError, RuntimeError, BufferError) as error:
            raise ArgumentError(
                f"{describe(position, slot)}: a {type(value).__name__} gives no tensor: {error}"
            ) from error

    def plain(self, array: Any, slot: Slot) -> Any:
        """A copy of what is strided, or lazily conjugated or negated; what does not fit stays."""
        fits = (
            array.device.type == "cpu"
            and not array.is_nested
            and array.layout is torch.strided
            and array.dtype is _DTYPES[slot.dtype]
            and tuple(array.shape) == slot.shape
            and not (array.requires_grad and torch.is_grad_enabled())
        )
        if not fits or (array.is_contiguous() and not array.is_conj() and not array.is_neg()):
            return array
        check_room(array.nbytes, f"a row-major copy of argument '{slot.name}'")
        return self.contiguous(array)

    def write_back(self, target: Any, source: Any) -> None:
        """torch's own copy, which counts as a write to the tensor."""
        target.detach().copy_(source)

    def memory(self, array: Any) -> np.ndarray:
        """A view by addresses, of any dtype."""
        return array_at(
            array.data_ptr(),
            tuple(array.shape),
            array.element_size(),
            tuple(step * array.element_size() for step in array.stride()),
        )

    def reader(self, slot: Slot, position: int) -> Reader:
        """Checks device, dtype, shape, strides and autograd of one tensor."""

        def read(tensor: Any) -> int:
            _check_tensor(tensor, slot, position)
            address = tensor.data_ptr()
            if slot.size and not address:
                raise ArgumentError(f"{describe(position, slot)}: the tensor has no memory")
            return address

        return read

    def native_api(self) -> Mapping[str, object]:
        """torch's DLPack functions, and what it lacks: lazy bits, gradients, version counters."""
        capsule: Any = torch.Tensor.__dlpack_c_exchange_api__  # pyright: ignore
        table = capsule_pointer(capsule, b"dlpack_exchange_api")
        exchange = _Exchange.from_address(table)
        if exchange.major != _DLPACK_MAJOR:
            raise ExecutionError(f"torch speaks DLPack {exchange.major}, not {_DLPACK_MAJOR}")
        return {
            "tensor": torch.Tensor,
            "parameter": torch.nn.Parameter,
            "describe": exchange.describe,
            "wrap": exchange.wrap,
            "is_grad_enabled": torch.is_grad_enabled,
            "requires_grad": "requires_grad",
            "version": "_version",
            "is_neg": torch.Tensor.is_neg,
            "is_conj": torch.Tensor.is_conj,
        }

    def contiguous(self, array: Any) -> Any:
        """Detached, contiguous, with lazy conjugation and negation carried out."""
        if not array.is_contiguous():
            check_room(array.nbytes, "a row-major copy of a tensor")
        return array.detach().resolve_conj().resolve_neg().contiguous()

    def padded(self, array: Any, shape: Sequence[int], *, compact: bool = False) -> Any:
        """Detached, with lazy conjugation and negation carried out."""
        check_room(prod(shape) * array.itemsize, "a padded copy of an argument")
        made = torch.empty(*shape, dtype=array.dtype)
        if compact:
            made.view(-1)[: array.numel()] = array.detach().reshape(-1)
        else:
            made[tuple(map(slice, array.shape))] = array.detach()
        # whoever reads it refuses what would need a gradient
        return made.requires_grad_(array.requires_grad and torch.is_grad_enabled())


def _check_tensor(tensor: Any, slot: Slot, position: int) -> None:
    if not isinstance(tensor, torch.Tensor):
        raise wrong_kind(position, slot, tensor, "torch")
    where = describe(position, slot)
    if tensor.device.type != "cpu":
        raise ArgumentError(f"{where}: expected a CPU tensor, got {tensor.device}; use .cpu()")
    if tensor.is_nested:
        raise ArgumentError(f"{where}: expected a dense tensor, got a nested one")
    if tensor.layout is not torch.strided:
        raise ArgumentError(f"{where}: expected a dense tensor, got {tensor.layout}")
    wanted = _DTYPES[slot.dtype]
    if tensor.dtype is not wanted:
        raise ArgumentError(
            f"{where}: expected dtype {_short(wanted)}, got {_short(tensor.dtype)}; "
            f"convert it with .to({wanted})"
        )
    if tuple(tensor.shape) != slot.shape:
        raise shape_error(position, slot, tensor.shape)
    if tensor.requires_grad and torch.is_grad_enabled():
        raise ArgumentError(
            f"{where}: requires a gradient, which compiled programs do not record; "
            "call under torch.no_grad() or pass .detach()"
        )
    if not tensor.is_contiguous():
        raise ArgumentError(
            f"{where}: strides {tuple(tensor.stride())} are not row-major contiguous; "
            "pass .contiguous()"
        )
    if tensor.is_conj():
        raise ArgumentError(f"{where}: a lazily conjugated tensor; pass .resolve_conj()")
    if tensor.is_neg():
        raise ArgumentError(f"{where}: a lazily negated tensor; pass .resolve_neg()")


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
