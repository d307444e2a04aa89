"""torch tensors as arguments and results of compiled programs, without a copy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from lamina.dialects.errors import ArgumentError
from lamina.frontends.torch_types import DTYPES
from lamina.runtime.arguments import Maker, Reader, describe, shape_error, wrong_kind
from lamina.runtime.entry import Slot, element_name

_DTYPES: dict[str, torch.dtype] = {element_name(k): v for k, v in DTYPES.items()}


class TorchArrays:
    """Dense, contiguous CPU tensors that need no gradient."""

    name = "torch"

    def reader(self, slot: Slot, position: int) -> Reader:
        """Checks device, dtype, shape, strides and autograd of one tensor."""
        dtype, shape = _DTYPES[slot.dtype], slot.shape
        complex_ = dtype.is_complex

        def read(tensor: Any) -> int:
            try:
                if (
                    tensor.dtype is dtype
                    and tensor.shape == shape
                    and tensor.is_cpu
                    and tensor.is_contiguous()
                    and not tensor.requires_grad
                    and not tensor.is_neg()
                    and not (complex_ and tensor.is_conj())
                ):
                    return tensor.data_ptr()
            except (AttributeError, RuntimeError):
                pass
            _check_tensor(tensor, slot, position)
            return tensor.data_ptr()

        return read

    def maker(self, slot: Slot, allocate: Callable[[], np.ndarray]) -> Maker:
        """Outputs are tensors over the allocated arrays' memory."""
        from_numpy = torch.from_numpy
        dtype = _DTYPES[slot.dtype]

        def make() -> tuple[Any, int]:
            tensor = from_numpy(allocate())
            return tensor, tensor.data_ptr()

        def make_other() -> tuple[Any, int]:  # NumPy has integers of the same width only
            tensor = from_numpy(allocate()).view(dtype)
            return tensor, tensor.data_ptr()

        return make if slot.storage_dtype == slot.numpy_dtype else make_other

    def contiguous(self, array: Any) -> Any:
        """Detached, contiguous, with lazy conjugation and negation carried out."""
        return array.detach().resolve_conj().resolve_neg().contiguous()


def _check_tensor(tensor: Any, slot: Slot, position: int) -> None:
    if not isinstance(tensor, torch.Tensor):
        raise wrong_kind(position, slot, tensor, "torch")
    where = describe(position, slot)
    if tensor.device.type != "cpu":
        raise ArgumentError(f"{where}: expected a CPU tensor, got {tensor.device}; use .cpu()")
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
    if not tensor.is_contiguous():
        raise ArgumentError(
            f"{where}: strides {tuple(tensor.stride())} are not row-major contiguous; "
            "pass .contiguous()"
        )
    if tensor.is_conj() or tensor.is_neg():
        raise ArgumentError(f"{where}: a lazily conjugated tensor; pass .resolve_conj()")
    if tensor.requires_grad and torch.is_grad_enabled():
        raise ArgumentError(
            f"{where}: requires a gradient, which compiled programs do not record; "
            "call under torch.no_grad() or pass .detach()"
        )


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
