"""The native call code in this process, and what array libraries give it."""

import ctypes
import hashlib
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from lamina.codegen.target import Target
from lamina.dialects.records import record
from lamina.dialects.switching import eager_switching
from lamina.runtime.dispatch.functions import FUNCTIONS
from lamina.runtime.dispatch.records import COUNTERS, ENTRIES, native_source, structure
from lamina.runtime.free_memory import has_room
from lamina.runtime.once import Once

DEFAULT_KEPT_BYTES = 1 << 30
"""Bound on unused output memory, where LAMINA_POOL_BYTES says nothing."""

_FASTCALL_KEYWORDS = 0x0080 | 0x0002

_NEW_ARRAY, _SET_BASE = 94, 282
"""Places of PyArray_NewFromDescr and PyArray_SetBaseObject in NumPy's table of C functions."""


class _MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@record
class NativeCalls:
    """Entry points of the native call code; see `records.ENTRIES`."""

    addresses: Mapping[str, int]
    api: Any
    methods: Mapping[str, _MethodDef]
    complete: Any
    kept_alive: list[object]

    def function(self, owner: tuple[object, ...], entry: str = "lamina_call") -> Any:
        """A builtin function over a record, which is the first entry of `owner`, as bytes: a
        `Program`, or for `lamina_call_one_of` a `Choice`.

        The function keeps `owner` alive.
        """
        method = self.methods[entry]
        return _new_function()(ctypes.addressof(method), owner, None)

    def counter(self, name: str) -> int:
        """One of `records.COUNTERS`."""
        return ctypes.c_int64.from_address(self.addresses[name]).value

    def provide(self, values: Mapping[str, object]) -> None:
        """Fills in fields of the `Api` record: numbers as they are, other objects by address."""
        for name, value in values.items():
            if not isinstance(value, int) or isinstance(value, bool):
                self.kept_alive.append(value)
                value = id(value)
            setattr(self.api, name, value)


@Once
def native_calls() -> NativeCalls:
    """The native call code, which is loaded once a process."""
    return begin_native_calls()()


@Once
def begin_native_calls() -> Callable[[], NativeCalls]:
    """Begins to load the native call code; the function that it gives waits for it.

    A process calls this when it compiles its first program: LLVM starts up and works on a thread
    of its own, which does not hold Python's lock, while the program is lowered.
    """
    made: list[NativeCalls] = []
    object_code = _prepared()

    def make() -> None:
        with suppress(Exception), eager_switching():  # who waits meets an exception again
            made.append(_load(object_code()))

    thread = threading.Thread(target=make, name="lamina-native-calls")
    thread.start()

    def wait() -> NativeCalls:
        thread.join()
        return made[0] if made else _load(object_code())

    return wait


def _load(code: bytes) -> NativeCalls:
    from lamina.codegen.jit import load_object

    loaded = load_object(code, ENTRIES, Target.host(), False, _functions())
    addresses = loaded.addresses
    methods = {
        name: _MethodDef(b"__call__", addresses[name], _FASTCALL_KEYWORDS, None)
        for name in ("lamina_call", "lamina_call_boxed", "lamina_call_one_of")
    }
    complete = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
    calls = NativeCalls(
        addresses,
        structure("Api").from_address(addresses["lamina_api"]),
        methods,
        complete(addresses["lamina_complete"]),
        [loaded],
    )
    calls.provide(_python_and_numpy())
    return calls


_EFFORT = 1
"""Of instruction selection and registers: without any, calls take 20 to 90 ns more, of some 800.
It takes 80 ms where none takes 15, once for all processes with a disk cache, beside the lowering
of the first program."""


def _prepared() -> Callable[[], bytes]:
    """What gives the code for this machine, from the disk cache if it is there.

    LLVM's passes would cost more time than they could save.
    """
    from lamina.codegen.jit import compile_object
    from lamina.codegen.openmp import openmp_symbols
    from lamina.runtime.disk_cache import text_key, usable_cache

    openmp_symbols()  # the program will ask for them
    target = Target.host()
    text = native_source()
    key = text_key("native calls", text, target.key())
    offered = _offered.get(_digest(text))

    def compiled() -> bytes:
        if offered is not None:
            return offered
        disk = usable_cache()
        if disk is None:
            return compile_object(text, target, level=_EFFORT)
        found = disk.get(key)
        if found is not None:
            return found[0]
        code = compile_object(text, target, level=_EFFORT)
        disk.put(key, code, "")
        return code

    return compiled


_offered: dict[str, bytes] = {}
"""Object code that saved programs brought, by the digest of its text."""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def native_object() -> tuple[str, bytes]:
    """A digest of the text of the native call code, and its object code for this machine."""
    return _digest(native_source()), _prepared()()


def offer_native_object(digest: str, target: Target, code: bytes) -> None:
    """Spares a process whose native call code has that text to compile it.

    `target` is what the code is for; nothing happens where it is of no use here.
    """
    if target.runs_here():
        _offered.setdefault(digest, code)


def _functions() -> dict[str, int]:
    library = ctypes.CDLL(None)
    return {
        name: _address(getattr(library, name)) for name in FUNCTIONS if not name.startswith("llvm.")
    }


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _python_and_numpy() -> dict[str, object]:
    from numpy._core import _multiarray_umath  # pyright: ignore - where its capsule is

    table = capsule_pointer(_multiarray_umath._ARRAY_API, None)
    functions = (ctypes.c_void_p * (_SET_BASE + 1)).from_address(table)
    head = object.__basicsize__
    return {
        "ndarray": np.ndarray,
        "new_array": functions[_NEW_ARRAY] or 0,
        "set_base": functions[_SET_BASE] or 0,
        "array_fields": head,
        "integer": int,
        "true": True,
        "none": None,
        "type_field": head - ctypes.sizeof(ctypes.c_void_p),  # an object ends with its type
        "kept_limit": _kept_limit(),
        "room": has_room,
    }


def _kept_limit() -> int:
    """LAMINA_POOL_BYTES, else `DEFAULT_KEPT_BYTES`, which also stands for what is no size."""
    given = os.environ.get("LAMINA_POOL_BYTES") or str(DEFAULT_KEPT_BYTES)
    if not given.strip().isdecimal():
        warnings.warn(f"lamina: LAMINA_POOL_BYTES='{given}' is no number of bytes", stacklevel=2)
        return DEFAULT_KEPT_BYTES
    return min(int(given), (1 << 63) - 1)


def capsule_pointer(capsule: object, name: bytes | None) -> int:
    """The pointer in a PyCapsule; ValueError if it has another name."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, name)


@cache
def _new_function() -> Any:
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p],
    )
    return new


@Once
def team_functions() -> Mapping[str, int]:
    """What programs call to start a team of threads: see `parallel.ll.in`."""
    from lamina.codegen.llvm_emitter.parallel import TEAM_SIZE
    from lamina.codegen.openmp import openmp_symbols

    runtime = openmp_symbols()
    if runtime is None:
        return {}
    addresses = native_calls().addresses
    for variable, symbol in (("lamina_fork", "GOMP_parallel"), ("lamina_most_threads", TEAM_SIZE)):
        ctypes.c_void_p.from_address(addresses[variable]).value = runtime[symbol]
    return {"GOMP_parallel": addresses["lamina_parallel"]}


def forget_teams(addresses: Iterable[int], code_bytes: int) -> None:
    """Has no time of a team's function stand for code that was just loaded in its place.

    `addresses` are some of the code's entries, `code_bytes` bounds its size.
    """
    entries = list(addresses)
    forget = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_uint64)
    where = native_calls().addresses["lamina_forget"]
    forget(where)(min(entries) - code_bytes, max(entries) + code_bytes)


# Output memory

_buckets: dict[int, Any] = {}


def bucket(size: int) -> int:
    """The address of the bucket for outputs of `size` bytes; buckets live as long as the process.

    Sizes are rounded up a little, so that outputs of about one size share memory.
    """
    from lamina.runtime.buffers import block_layout

    total, alignment, count, lead = block_layout(size)
    found = _buckets.get(total)
    if found is None:  # one of those that several threads make becomes the bucket
        found = _buckets.setdefault(total, structure("Bucket")(total, alignment, count, lead))
    return ctypes.addressof(found)


@record
class OutputMemory:
    """Output memory of the whole process: bytes unused, bytes of all blocks, blocks ever made."""

    kept_bytes: int
    block_bytes: int
    blocks_made: int


def output_memory() -> OutputMemory:
    """What outputs hold now; NumPy outputs below 64 KiB are NumPy's own memory."""
    calls = native_calls()
    return OutputMemory(*(calls.counter(name) for name in COUNTERS))
