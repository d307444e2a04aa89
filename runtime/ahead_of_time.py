"""Programs as object files that need no Lamina to run: code, and what a caller must know of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from lamina.codegen.object_file import undefined_symbols
from lamina.codegen.target import Target
from lamina.dialects.compiling import compiling
from lamina.dialects.errors import InputError, UnsupportedError
from lamina.dialects.records import record
from lamina.passes.contracts.entry_attributes import CONSTANT_KINDS, verify_entries
from lamina.runtime.arguments import array_kind, kind_name
from lamina.runtime.buffers import ALIGNMENT, rounded
from lamina.runtime.compile import bind_constants, constants_by_entry
from lamina.runtime.entry import Entry, Slot, entry_of, function_named, refuse_compact
from lamina.runtime.kernels import Kernels
from lamina.runtime.layers import layer_of
from lamina.runtime.lower_to_scheduled import lower_to_scheduled
from lamina.runtime.lowering_options import LoweringOptions
from lamina.runtime.program_entries import split_entries, with_main

C_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
"""What a function of C may be called."""

EMBEDDED_BYTES = 1 << 20
"""Weights up to that size are data of the object file; larger ones are a file of their own, since
LLVM reads data as text, at some 30 MB a second on a Sapphire Rapids."""


@record
class ObjectProgram:
    """An object file and its calls.

    `main` and `setup` describe the pointers of `<prefix>_main` and `<prefix>_setup`. `weights` are
    the bytes of all constants, at the `places` of their names; `embeds` says that they are the
    symbol `<prefix>_weights` of the code.
    """

    prefix: str
    code: bytes
    target: Target
    main: Entry
    setup: Entry | None
    messages: tuple[str, ...]
    needs_openmp: bool
    kernels: Kernels
    weights: bytes
    places: Mapping[str, int]

    @property
    def embeds(self) -> bool:
        """Whether the weights are part of the code."""
        return 0 < len(self.weights) <= EMBEDDED_BYTES

    @property
    def wanted(self) -> list[str]:
        """Functions that the code calls and that the linker has to find."""
        return sorted(n for n in undefined_symbols(self.code) if n != "_GLOBAL_OFFSET_TABLE_")


def object_programs(
    module: ModuleOp,
    target: Target,
    prefix: str,
    *,
    constants: Mapping[str, Any] | None = None,
    openmp: bool = True,
    options: LoweringOptions,
) -> list[ObjectProgram]:
    """The program of `@main`, and one for each other public function, `<prefix>_<function>`.

    `module`, which this function changes, is of any layer. Raises as `lamina.compile`, and
    UnsupportedError for programs that call extern kernels, which are functions of Python.
    """
    module = with_main(module)
    verify_entries(module, layer_of(module))
    others = split_entries(module)
    own, elsewhere = constants_by_entry(module, others, constants or {})
    bound = bind_constants(module, own, {})
    made = [_object_program(module, target, prefix, bound, openmp, options)]
    for name, other in others.items():
        if not C_NAME.fullmatch(name):
            raise InputError(f"@{name} is public, and no name of C")
        bound = bind_constants(other, elsewhere[name], {})
        made.append(_object_program(other, target, f"{prefix}_{name}", bound, openmp, options))
    return made


def _object_program(
    module: ModuleOp,
    target: Target,
    prefix: str,
    bound: Mapping[str, Any],
    openmp: bool,
    options: LoweringOptions,
) -> ObjectProgram:
    from lamina.codegen.jit import compile_object
    from lamina.codegen.llvm_emitter.module import emit_module
    from lamina.codegen.llvm_emitter.writer import EmitOptions

    with compiling():
        kernels = lower_to_scheduled(module, target, options)
        emitted = emit_module(module, target, EmitOptions(openmp, alone=True, prefix=prefix))
        entries: dict[str, Entry] = {}
        for name in emitted.entries:
            function = function_named(module, name)
            assert function is not None
            entries[name] = entry_of(function)
            refuse_compact(entries[name].slots)
        _check_callable(entries)
        weights, places = _weights(entries, bound)
        text = emitted.text
        if 0 < len(weights) <= EMBEDDED_BYTES:
            text += _data(f"{prefix}_weights", weights)
        code = compile_object(text, target)
    return ObjectProgram(
        prefix,
        code,
        target,
        entries["main"],
        entries.get("setup"),
        emitted.messages,
        emitted.needs_openmp,
        kernels,
        weights,
        places,
    )


def _check_callable(entries: Mapping[str, Entry]) -> None:
    import json

    written = {s.target for entry in entries.values() for s in entry.slots if s.kind == "mutation"}
    for slot in (slot for entry in entries.values() for slot in entry.slots):
        if slot.kind == "extern":
            name = json.loads(slot.target or "{}").get("kernel", slot.name)
            raise UnsupportedError(
                name,
                "an object file cannot call an extern kernel, which is a function of Python",
                nearest="Compiled.save",
            )
        if slot.kind in CONSTANT_KINDS and slot.name in written:
            raise InputError(
                f"'{slot.name}' is written by the program: it is no constant of an object file; "
                "leave it unbound, and callers pass it"
            )


def _weights(
    entries: Mapping[str, Entry], bound: Mapping[str, Any]
) -> tuple[bytes, dict[str, int]]:
    """The constants' bytes, each aligned, and where each begins."""
    places: dict[str, int] = {}
    parts: list[bytes] = []
    end = 0
    for slot in (slot for entry in entries.values() for slot in entry.slots):
        if slot.kind in CONSTANT_KINDS and slot.name not in places:
            places[slot.name] = end
            data = _bytes_of(slot, bound)
            parts.append(data.ljust(rounded(len(data), ALIGNMENT), b"\0"))
            end += len(parts[-1])
    return b"".join(parts), places


def _bytes_of(slot: Slot, bound: Mapping[str, Any]) -> bytes:
    value = bound[slot.name]
    kind = array_kind(kind_name(value) or "numpy")
    array = kind.contiguous(value)
    if isinstance(array, np.ndarray):
        return array.tobytes()
    import ctypes

    return ctypes.string_at(kind.reader(slot, -1)(array), slot.size)


def _data(name: str, data: bytes) -> str:
    """A constant of LLVM IR."""
    escaped = data.hex("\\").upper() if len(data) > 1 else data.hex().upper()
    return f'\n@{name} = constant [{len(data)} x i8] c"\\{escaped}", align {ALIGNMENT}\n'
