"""Entry points of compiled programs: what each pointer of the native call stands for."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    ComplexType,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    Signedness,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from lamina.dialects.errors import InputError, UnsupportedError
from lamina.dialects.identity_cache import once_an_object
from lamina.dialects.narrow_types import CODES
from lamina.dialects.records import record
from lamina.dialects.sizes import FormulaAttr
from lamina.passes.contracts.argument_numbers import EXTENTS, LIMITS, TOUCHED
from lamina.passes.contracts.argument_sizes import NUMBERS
from lamina.passes.contracts.declared import given_names
from lamina.passes.contracts.derived_sizes import DERIVED, room_for
from lamina.passes.contracts.in_place import IN_PLACE

NUMPY_DTYPES: dict[str, np.dtype[Any]] = {
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i1": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "ui8": np.dtype(np.uint8),
    "ui16": np.dtype(np.uint16),
    "ui32": np.dtype(np.uint32),
    "ui64": np.dtype(np.uint64),
    "complex<f32>": np.dtype(np.complex64),
    "complex<f64>": np.dtype(np.complex128),
}
"""NumPy's dtype of each element type; bf16 is a type of ml_dtypes."""

NARROW_DTYPES: dict[str, np.dtype[Any]] = {
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E4M3FNUZ": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "f8E5M2FNUZ": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "f6E2M3FN": np.dtype(ml_dtypes.float6_e2m3fn),
    "f6E3M2FN": np.dtype(ml_dtypes.float6_e3m2fn),
    "f4E2M1FN": np.dtype(ml_dtypes.float4_e2m1fn),
    "f8E8M0FNU": np.dtype(ml_dtypes.float8_e8m0fnu),
    "i4": np.dtype(ml_dtypes.int4),
    "ui4": np.dtype(ml_dtypes.uint4),
    "i2": np.dtype(ml_dtypes.int2),
    "ui2": np.dtype(ml_dtypes.uint2),
}
"""ml_dtypes' dtype of each type in `NARROW_TYPES`, one number a byte."""


def as_codes(array: Any) -> Any:
    """The codes of an array of a narrow type, as ui8; other arrays themselves."""
    if isinstance(array, np.ndarray) and array.dtype in NARROW_DTYPES.values():
        return array.view(np.uint8)
    return array


def as_numbers(array: Any, slot: "Slot") -> Any:
    """The inverse of `as_codes`: an array of the type whose codes a slot has."""
    return array if slot.codes is None else np.asarray(array).view(slot.numpy_dtype)


OUTPUT_KINDS = ("output", "size", "check")
"""Kinds of slots that a call allocates anew: results, and what says how to read them."""

_SIZES = {name: dtype.itemsize for name, dtype in NUMPY_DTYPES.items()}


@dataclass(frozen=True)
class Slot:
    """One pointer of an entry point, such as an input or an output of a `Compiled`.

    `name` is its `lamina.name`, or made of its place (`arg0`, `out0`); `shape` has its extents, the
    largest that they can be. `kind` is input, parameter, buffer, constant, prepared (made once by
    `setup`), output, mutation (the new value of argument `target`), arena (scratch memory), seed
    (the state of random numbers), extern (the code of an extern kernel; `target` is its signature),
    poll (the code that says whether to stop), size (how many positions of an output count) or check
    (what must hold; `target` is the message). `dtype` is the element type as IR spells it. `sizes`
    has, for each dimension of an output, the number of the `size` slot that says how much of it
    counts, or -1 for all; `limits` has, for each dimension of an input or output, the place of the
    input slot, or of an output the `size` slot, that says how far the program reaches, or -1.
    `extents` has the same of what lies in memory row-major over numbers of the call. `touched` has
    how many positions of each dimension of an input the program may touch, whatever the size is.
    `derived` has
    the steps by which calls tell, of input slots, for how many positions of a `size` slot there has
    to be room: kinds of `Formula` and numbers. `is_number`
    says that callers get a Python number. `codes` names the narrow type that callers' arrays have,
    whose codes the program reads or writes as ui8. `in_place` says of a mutation that the program
    writes to its target itself, so that there is nothing behind the pointer.

        arrays = [np.zeros(slot.shape, slot.numpy_dtype) for slot in compiled.inputs]
    """

    name: str
    kind: str
    dtype: str
    shape: tuple[int, ...]
    target: str | None = None
    sizes: tuple[int, ...] | None = None
    limits: tuple[int, ...] | None = None
    extents: tuple[int, ...] | None = None
    touched: tuple[int, ...] | None = None
    derived: tuple[tuple[str, int], ...] | None = None
    is_number: bool = False
    codes: str | None = None
    in_place: bool = False

    @property
    def elements(self) -> int:
        """Number of elements behind the pointer."""
        return prod(self.shape)

    @property
    def size(self) -> int:
        """Bytes of memory behind the pointer."""
        return 0 if self.in_place else self.elements * _SIZES[self.dtype]

    @property
    def storage_dtype(self) -> np.dtype[Any]:
        """A dtype of the same width that NumPy itself knows: that of the elements but for bf16."""
        return np.dtype(np.uint16) if self.dtype == "bf16" else NUMPY_DTYPES[self.dtype]

    @property
    def type_text(self) -> str:
        """The type as messages print it, for example `tensor<2x3xf32>`."""
        shape = [
            "?" if extent < 0 or (self.sizes is not None and self.sizes[dim] >= 0) else str(extent)
            for dim, extent in enumerate(self.shape)
        ]
        return "tensor<" + "x".join([*shape, self.codes or self.dtype]) + ">"

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The dtype of NumPy arrays that hold it."""
        return NUMPY_DTYPES[self.dtype] if self.codes is None else NARROW_DTYPES[self.codes]


@record
class Entry:
    """An entry point: its slots, in the order of the native argument array."""

    slots: tuple[Slot, ...]

    def to_json(self) -> list[dict[str, Any]]:
        """The slots as plain data."""
        return [{**vars(slot)} for slot in self.slots]

    @classmethod
    def from_json(cls, data: Sequence[Mapping[str, Any]]) -> "Entry":
        """The inverse of `to_json`."""
        return cls(tuple(_slot_from_json(d) for d in data))


def _slot_from_json(data: Mapping[str, Any]) -> Slot:
    lists = {key: data.get(key) for key in ("shape", "sizes", "limits", "extents", "touched")}
    made = {key: None if said is None else tuple(said) for key, said in lists.items()}
    steps = data.get("derived")
    made["derived"] = None if steps is None else tuple(tuple(step) for step in steps)
    return Slot(**{**data, **made})


def refuse_compact(slots: Iterable[Slot]) -> None:
    """Raises InputError for a program whose memory is laid out by numbers of the call, which those
    who call versions for open sizes know of, and others do not."""
    for slot in slots:
        if slot.extents is not None:
            raise InputError(
                f"'{slot.name}' lies in memory as calls of a program with open sizes have it "
                "(lamina.extents); without lamina.compact of @main it is as its type says"
            )


def function_named(module: ModuleOp, name: str) -> FuncOp | None:
    """The function `name` at the top of `module`, or None."""
    for op in module.body.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == name:
            return op
    return None


def entry_of(function: FuncOp) -> Entry:
    """The slots of a scheduled function, from its argument types and `lamina.*` attributes."""
    return Entry(tuple(argument_slots(function)))


def argument_slots(function: FuncOp) -> list[Slot]:
    """One slot for each argument of a function over tensors or memrefs."""
    return _slots(list(function.function_type.inputs), function.arg_attrs, "input")


def result_slots(function: FuncOp) -> list[Slot]:
    """One slot for each result of a function over tensors."""
    return _slots(list(function.function_type.outputs), function.res_attrs, "output")


def _slots(
    types: list[Attribute], attributes: ArrayAttr[DictionaryAttr] | None, default_kind: str
) -> list[Slot]:
    slots: list[Slot] = []
    all_entries = [a.data for a in attributes] if attributes is not None else [{}] * len(types)
    kinds = [_text(entries.get("lamina.kind")) or default_kind for entries in all_entries]
    names = given_names(kinds, [_text(entries.get("lamina.name")) for entries in all_entries])
    for type_, entries, kind, name in zip(types, all_entries, kinds, names, strict=True):
        said = "lamina.signature" if kind == "extern" else "lamina.target"
        target = _text(entries.get(said))
        dtype, shape = _contents(type_, name)
        slots.append(
            Slot(
                name,
                kind,
                dtype,
                shape,
                target,
                sizes=_numbers(entries.get("lamina.sizes")),
                limits=_numbers(entries.get(LIMITS)),
                extents=_numbers(entries.get(EXTENTS)),
                touched=_numbers(entries.get(TOUCHED)),
                derived=_steps(entries.get(DERIVED)),
                is_number="lamina.number" in entries,
                codes=_text(entries.get(CODES)),
                in_place=IN_PLACE in entries,
            )
        )
    return slots


def _contents(type_: Attribute, name: str) -> tuple[str, tuple[int, ...]]:
    """The element type and the extents of an argument or a result."""
    if not isinstance(type_, TensorType | MemRefType):
        raise UnsupportedError(
            f"'{name}'",
            f"a program's arguments and results must be tensors, not {type_}",
            nearest="a zero-rank tensor",
        )
    shape = tuple(type_.get_shape())
    if any(size < 0 for size in shape):
        raise UnsupportedError(
            f"'{name}'",
            f"{type_} has dynamic dimensions, which are not compiled yet",
            nearest=NUMBERS,
        )
    dtype = element_name(type_.element_type)
    if dtype not in _SIZES:
        raise InputError(f"'{name}': {type_} has no element type of a tensor")
    return dtype, shape


def _numbers(attribute: Attribute | None) -> tuple[int, ...] | None:
    if attribute is None or not isinstance(attribute, ArrayAttr):
        return None
    return tuple(entry.value.data for entry in attribute if isinstance(entry, IntegerAttr))


def _steps(attribute: Attribute | None) -> tuple[tuple[str, int], ...] | None:
    if attribute is None or not isinstance(attribute, FormulaAttr):
        return None
    return tuple((step.kind, step.value) for step in room_for(attribute.data).steps())


@once_an_object
def element_name(type_: Attribute) -> str:
    """An element type as IR spells it: f32, i1, ui8, complex<f32>."""
    if isinstance(type_, ComplexType):
        return f"complex<{type_.element_type}>"
    if isinstance(type_, IntegerType) and type_.signedness.data is Signedness.UNSIGNED:
        return f"ui{type_.width.data}"
    return str(type_)


def _text(attribute: Attribute | None) -> str | None:
    if attribute is None:
        return None
    return attribute.data if isinstance(attribute, StringAttr) else None
