"""Extern kernels as native functions: `i32 (ptr to the operands' addresses)`, inputs first."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType, TensorType
from xdsl.ir import Attribute

from lamina.dialects.errors import ExecutionError, UnsupportedError
from lamina.dialects.records import record
from lamina.runtime.entry import NUMPY_DTYPES, element_name
from lamina.runtime.extern_kernels.failures import record as record_failure
from lamina.runtime.extern_kernels.registry import ExternKernel, NativeCode, find_kernel

_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)


@record
class Operand:
    """Element type, as IR spells it, and shape of an input or a result."""

    dtype: str
    shape: tuple[int, ...]

    @classmethod
    def of(cls, kind: Attribute) -> Operand:
        """The operand of a tensor or memref type."""
        assert isinstance(kind, TensorType | MemRefType)
        return cls(element_name(kind.element_type), tuple(kind.get_shape()))

    @cached_property
    def numpy_dtype(self) -> np.dtype[Any]:
        """NumPy's dtype; UnsupportedError for one that NumPy lacks."""
        found = NUMPY_DTYPES.get(self.dtype)
        if found is None:
            raise UnsupportedError(
                "loop.extern", f"NumPy has no dtype for {self.dtype}", nearest="f32"
            )
        return found

    def at(self, address: int) -> np.ndarray:
        """The array at an address."""
        count = prod(self.shape)
        if not count:
            return np.empty(self.shape, self.numpy_dtype)
        kind = ctypes.c_char * (count * self.numpy_dtype.itemsize)
        memory: Any = kind.from_address(address)
        return np.frombuffer(memory, self.numpy_dtype).reshape(self.shape)


@record
class Call:
    """One kernel with the types and options of a call in a program."""

    kernel: ExternKernel
    options: Mapping[str, Any]
    inputs: tuple[Operand, ...]
    results: tuple[Operand, ...]

    @classmethod
    def of(cls, signature: str, location: str | None = None) -> Call:
        """The call that `loop.extern`'s signature describes; UnsupportedError as `find_kernel`."""
        described = json.loads(signature)
        inputs = tuple(Operand(dtype, tuple(shape)) for dtype, shape in described["inputs"])
        results = tuple(Operand(dtype, tuple(shape)) for dtype, shape in described["results"])
        dtypes = [operand.dtype for operand in inputs]
        kernel = find_kernel(described["kernel"], dtypes, location=location)
        return cls(kernel, described["options"], inputs, results)

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The results, of the declared shapes and dtypes; ExecutionError if they are others."""
        values = [_read_only(self._laid_out(value)) for value in inputs]
        made = self._run(values)
        results = list(made) if isinstance(made, tuple | list) else [made]
        if len(results) != len(self.results):
            raise ExecutionError(
                f"'{self.kernel.name}' made {len(results)} results, not {len(self.results)}"
            )
        return [
            _checked(self.kernel.name, r, o) for r, o in zip(results, self.results, strict=True)
        ]

    @cached_property
    def implementation(self) -> Any:
        """The function of this call, or its `NativeCode`."""
        if self.kernel.specialize is None:
            return self.kernel.function
        return self.kernel.specialize(self)

    def _run(self, values: Sequence[np.ndarray]) -> Any:
        code: Any = self.implementation
        if isinstance(code, NativeCode):
            return self._run_native(code, values)
        return code(*values, **({} if self.kernel.specialize else self.options))

    def _run_native(self, code: NativeCode, values: Sequence[np.ndarray]) -> list[np.ndarray]:
        results = [np.zeros(result.shape, result.numpy_dtype) for result in self.results]
        operands = [np.ascontiguousarray(value) for value in values] + results
        addresses = [operand.ctypes.data for operand in operands]
        pointers = (ctypes.c_void_p * len(addresses))(*addresses)
        if _PROTOTYPE(code.address)(ctypes.addressof(pointers)):
            raise ExecutionError(f"extern kernel failed: {self.kernel.name}")
        return results

    def _laid_out(self, value: np.ndarray) -> np.ndarray:
        if self.kernel.layout == "row" or value.ndim < 2:
            return value
        return np.ascontiguousarray(value.swapaxes(-1, -2)).swapaxes(-1, -2)


def _read_only(value: np.ndarray) -> np.ndarray:
    view = value.view()
    view.flags.writeable = False
    return view


def _checked(name: str, value: Any, declared: Operand) -> np.ndarray:
    array = np.asarray(value)
    if array.shape != declared.shape:
        raise ExecutionError(
            f"'{name}' made a result of shape {array.shape}, the program says {declared.shape}"
        )
    is_number = isinstance(value, bool | int | float | complex) and not isinstance(
        value, np.generic
    )
    fits = (
        np.can_cast(array.dtype, declared.numpy_dtype, "same_kind")
        if is_number  # Python's own have no width
        else array.dtype == declared.numpy_dtype
    )
    if not fits:
        raise ExecutionError(
            f"'{name}' made a result of dtype {array.dtype}, the program says {declared.dtype}; "
            f"a kernel gives what is declared, as by .astype(numpy.{declared.numpy_dtype})"
        )
    return array


def call_of(
    kernel: str,
    options: Mapping[str, Any],
    inputs: Sequence[Attribute],
    results: Sequence[Attribute],
) -> Call:
    """A call from types of IR; UnsupportedError as `find_kernel`."""
    operands = tuple(Operand.of(kind) for kind in inputs)
    found = find_kernel(kernel, [operand.dtype for operand in operands])
    return Call(found, options, operands, tuple(Operand.of(kind) for kind in results))


class Binding:
    """A call as native code; `address` is good as long as this object lives."""

    def __init__(self, signature: str) -> None:
        """UnsupportedError if no kernel fits the signature."""
        self._call = Call.of(signature)
        self._count = len(self._call.inputs) + len(self._call.results)
        code = self._call.implementation
        if isinstance(code, NativeCode):
            self._function, self.address = code, code.address
            return
        self._function = _PROTOTYPE(self._run)
        self.address: int = ctypes.cast(self._function, ctypes.c_void_p).value or 0

    def _run(self, operands: int) -> int:
        """Called by machine code: no exception may leave it, and every result is written."""
        call = self._call
        outs: list[np.ndarray] = []
        try:
            pointers = (ctypes.c_void_p * self._count).from_address(operands)
            outs += [
                operand.at(address or 0)
                for operand, address in zip(call.results, pointers[len(call.inputs) :], strict=True)
            ]
            inputs = [
                operand.at(address or 0)
                for operand, address in zip(call.inputs, pointers, strict=False)
            ]
            for out, result in zip(outs, call.run(inputs), strict=True):
                np.copyto(out, result, casting="same_kind")
        except BaseException as error:  # exit() as well: nothing may go through machine code
            record_failure(call, error)
            for out in outs:
                out.fill(0)
            return 1
        return 0
