"""A program bound to memory, as a builtin function: the tables that native call code reads."""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from itertools import accumulate
from operator import mul
from typing import Any

import numpy as np

from lamina.dialects.errors import ExecutionError
from lamina.dialects.records import mutable_record
from lamina.dialects.sizes.formula import KINDS
from lamina.runtime.buffers import AlignedMemory
from lamina.runtime.dispatch.flags import COMPACT
from lamina.runtime.dispatch.layout import FORMS, Layout
from lamina.runtime.dispatch.locks import Lock
from lamina.runtime.dispatch.native import bucket, native_calls
from lamina.runtime.dispatch.open_inputs import OpenInputs
from lamina.runtime.dispatch.records import FORMS_OF_OUTPUTS, HALVES, structure
from lamina.runtime.dispatch.shortage import Shortage, memory_of
from lamina.runtime.dynamic_results import cuts_of, forms_of, with_numbers
from lamina.runtime.entry import NUMPY_DTYPES, OUTPUT_KINDS, Slot
from lamina.runtime.overlap import Range, watched_ranges

_DLPACK_CODES = {"i": 0, "ui": 1, "f": 2, "bf": 4, "complex<f": 5}
_ONE_LANE = 1 << 16
_BOOL = 6 | 8 << 8 | _ONE_LANE


@mutable_record
class BoundProgram:
    """What a native call needs: an entry point, its pointers, and who takes over when it cannot.

    `pointers` has an address for each slot, those of inputs and outputs being filled in by calls.
    `copies` are (source, target, bytes): new values of what the program mutates, of no bytes where
    it writes to the target itself. `keeps_gil` says that a run is short enough to keep other
    threads of Python waiting. `kept` is what the addresses point into. `brief_up_to` gives, by the
    most that a call's only size may be, up to which size a run is as short.
    """

    main: int
    slots: Sequence[Slot]
    pointers: Sequence[int]
    copies: Sequence[tuple[int, int, int]]
    failed: Callable[[int], None]
    keeps_gil: bool
    kept: list[object] = field(default_factory=list)
    brief_up_to: Callable[[int], int] = lambda most: 0

    def __post_init__(self) -> None:
        mutated = {target for _, target, _ in self.copies}
        self.ranges: Sequence[Range] = watched_ranges(self.slots, mutated)
        ranges = [(r.pointer, 0, r.bytes, int(r.written)) for r in self.ranges]
        self._ranges = (structure("Range") * max(len(ranges), 1))(*ranges)
        copies = [(target, source, size) for source, target, size in self.copies if size]
        self._lock = None if self.keeps_gil else Lock()
        scratch = sum(slot.size for slot in self.slots if slot.kind in ("arena", "mutation"))
        untouched = ctypes.c_int64(scratch)
        self._untouched, self._short = untouched, Shortage(self.slots, lambda: untouched.value)
        self.template = (ctypes.c_void_p * max(len(self.pointers), 1))(*self.pointers)
        self._copies = (structure("Copy") * max(len(copies), 1))(*copies)
        self._values = {
            kind: [
                self._value(index, slot, index in mutated)
                for index, slot in enumerate(self.slots)
                if slot.kind in kinds
            ]
            for kind, kinds in (("input", ("input",)), ("output", OUTPUT_KINDS))
        }
        self._tables = {
            kind: (structure("Value") * max(len(values), 1))(*values)
            for kind, values in self._values.items()
        }
        self._outputs = [slot for slot in self.slots if slot.kind in OUTPUT_KINDS]
        ends = {n for slot in self._outputs for n in slot.limits or ()}
        for value, slot, form in zip(
            self._tables["output"], self._outputs, forms_of(self._outputs), strict=False
        ):
            value.form = FORMS_OF_OUTPUTS[form]
            if slot.derived is not None and value.pointer in ends:
                steps = _steps(slot.derived)
                value.steps, value.step_count = ctypes.addressof(steps), len(slot.derived)
                self.kept.append(steps)
            if form == "cut":
                cuts = (ctypes.c_int32 * len(slot.shape))(*cuts_of(slot, self._outputs))
                value.cuts = ctypes.addressof(cuts)
                self.kept.append(cuts)
                if slot.limits is not None:
                    self._limit(value, slot)
        self.kept += [
            self.template,
            self._copies,
            self._ranges,
            self._tables,
            self._lock,
            self.failed,
        ]

    def function(
        self, layout: Layout, slow: Callable[..., Any], opened: OpenInputs | None = None
    ) -> Any:
        """The builtin function that calls the program, and `slow` for calls that do not fit."""
        record, kept = self.record(layout, slow, opened)
        owner = (record, kept)
        entry = "lamina_call_boxed" if layout.boxed is not None else "lamina_call"
        return native_calls().function(owner, entry)

    def _brief(self, opened: OpenInputs | None, sizes: Any) -> tuple[int, int]:
        """Up to which size runs are short, and the place of the pointer to it; -1 if they are of
        none, or of several."""
        passed = [n for n, size in enumerate(opened.sizes if opened else ()) if size.is_passed]
        if opened is None or len(passed) != 1:
            return 0, -1
        most = self.brief_up_to(opened.sizes[passed[0]].most)
        return most, sizes[passed[0]].pointer if most else -1

    def record(
        self, layout: Layout, slow: Callable[..., Any], opened: OpenInputs | None = None
    ) -> tuple[bytes, list[object]]:
        """The `Program` record, and what has to live as long as it.

        With `opened`, its last inputs are sizes that arrays of a call tell.
        """
        layout = with_numbers(layout, self._outputs)
        given = list(self._values["input"])
        sizes: Any = (structure("OpenSize") * 1)()
        inputs, tables = self._tables["input"], []
        if opened is not None:
            inputs, sizes, tables = opened.tables(
                given, [s for s in self.slots if s.kind == "input"]
            )
            given = given[: opened.count]
        entries = [-1 if number is None else number for number in layout.entries]
        table = (ctypes.c_int32 * max(len(entries), 1))(*entries)
        boxed = None
        if layout.boxed is not None:
            boxed = (ctypes.c_int32 * max(len(layout.boxed), 1))(*layout.boxed)
        brief, brief_at = self._brief(opened, sizes)
        nested = NestedCalls(self, layout)
        watched, broken = layout.watched, self._broken
        record = structure("Program")(
            main=self.main,
            slow=id(slow),
            failed=id(self.failed),
            finish=id(layout.finish) if layout.finish is not None else None,
            lock=self._lock.address if self._lock is not None else None,
            owner=self._lock.owner_address if self._lock is not None else None,
            nested=id(nested),
            broken=id(broken),
            short=id(self._short),
            untouched=ctypes.addressof(self._untouched),
            open=ctypes.addressof(sizes),
            brief=brief,
            brief_at=brief_at,
            calls=ctypes.addressof(opened.calls) if opened is not None else None,
            pointers=ctypes.addressof(self.template),
            inputs=ctypes.addressof(inputs),
            outputs=ctypes.addressof(self._tables["output"]),
            copies=ctypes.addressof(self._copies),
            ranges=ctypes.addressof(self._ranges),
            boxed=ctypes.addressof(boxed) if boxed is not None else None,
            watched=ctypes.addressof(watched.table) if watched is not None else None,
            hits=watched.hits_address if watched is not None else None,
            layout=ctypes.addressof(table),
            pointer_count=len(self.pointers),
            input_count=len(given),
            output_count=len(self._values["output"]),
            copy_count=sum(size > 0 for _, _, size in self.copies),
            range_count=len(self.ranges) if boxed is None else 0,
            watched_count=len(watched.entries) if watched is not None else 0,
            boxed_count=layout.boxed_count,
            result_count=len(entries),
            open_count=len(opened.sizes) if opened is not None else 0,
            form=FORMS[layout.form],
            native_kind=int(layout.native_kind == "torch"),
            guarded=int(boxed is not None),
            derives=int(any(value.steps for value in self._tables["output"])),
        )
        return bytes(record), [
            self,
            layout,
            slow,
            nested,
            table,
            boxed,
            broken,
            inputs,
            sizes,
            tables,
            opened,
        ]

    def _limit(self, value: Any, slot: Slot) -> None:
        """Has an output that is cut take no more memory than the program touches, as far as calls
        say how much that is before it runs."""
        assert slot.limits is not None
        told = [n if n >= 0 and _is_told(self.slots[n]) else -1 for n in slot.limits]
        if tuple(told) != slot.limits and slot.extents is None:
            return
        limits = (ctypes.c_int32 * len(told))(*told)
        count = min(HALVES, max(slot.size.bit_length(), 1))
        buckets = (ctypes.c_void_p * count)(*(bucket(slot.size >> k) for k in range(count)))
        value.limits, value.buckets = ctypes.addressof(limits), ctypes.addressof(buckets)
        value.bucket_count = count
        self.kept += [limits, buckets]

    def _broken(self, output: int) -> None:
        raise ExecutionError(self._outputs[output].target or "an assertion failed")

    def _value(self, index: int, slot: Slot, mutated: bool) -> Any:
        shape = slot.shape
        strides = [1, *accumulate(reversed(shape[1:]), mul)][::-1] if shape else []
        extents = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        steps = (ctypes.c_int64 * max(len(shape), 1))(*strides)
        numpy_dtype = slot.numpy_dtype if slot.codes else NUMPY_DTYPES.get(slot.dtype)
        self.kept += [extents, steps, numpy_dtype]
        return structure("Value")(
            pointer=index,
            dtype=dlpack_dtype(slot.dtype),
            rank=len(shape),
            flags=int(mutated)
            | 2 * slot.dtype.startswith("complex")
            | COMPACT * (slot.extents is not None),
            elements=slot.elements,
            bytes=slot.size,
            shape=ctypes.addressof(extents),
            strides=ctypes.addressof(steps),
            numpy_dtype=id(numpy_dtype) if numpy_dtype is not None else None,
            bucket=bucket(slot.size) if slot.kind in OUTPUT_KINDS else None,
            item_bytes=slot.storage_dtype.itemsize,
        )


def one_of(
    programs: Sequence[tuple[BoundProgram, Layout, OpenInputs]],
    slow: Callable[..., Any],
) -> Any:
    """The builtin function that calls the first of programs whose inputs the arguments fit, and
    `slow` for those that fit none. There is one program at least."""
    records = [bound.record(layout, slow, opened) for bound, layout, opened in programs]
    texts = [np.frombuffer(record, np.uint8) for record, _ in records]
    table = (ctypes.c_void_p * len(texts))(*(text.ctypes.data for text in texts))
    choice = structure("Choice")(
        slow=id(slow),
        programs=ctypes.addressof(table),
        input_count=programs[0][2].count,
        program_count=len(texts),
    )
    return native_calls().function((bytes(choice), records, table, slow), "lamina_call_one_of")


def _is_told(slot: Slot) -> bool:
    """Whether calls say a number before the program runs."""
    return slot.kind == "input" or slot.derived is not None


def _steps(derived: Sequence[tuple[str, int]]) -> Any:
    rows = ((KINDS.index(kind), 0, value) for kind, value in derived)
    return (structure("Step") * len(derived))(*rows)


class NestedCalls:
    """Calls of a bound program while it runs on this thread, with scratch memory of their own.

    Each level of nesting binds the program once more, when it is first reached, and keeps that.
    """

    def __init__(self, bound: BoundProgram, layout: Layout) -> None:
        self._bound = bound
        self._layout = layout
        self._inner: tuple[BoundProgram, bytes, list[object]] | None = None

    def __call__(self, address: int, kind: int) -> Any:
        """What native code calls with the pointers of a call and the kind of its arrays.

        Raises ExecutionError for a program that writes to its arguments, buffers or random state:
        the outer call reads them at any time.
        """
        if self._bound.copies:
            raise ExecutionError(
                "an extern kernel of this program calls the program itself, which writes to its "
                "arguments, buffers or random state; call another compilation of it"
            )
        bound, record, _ = self._inner or self._bind()
        pointers = type(bound.template).from_address(address)
        own = type(bound.template)(*pointers)
        for index, slot in enumerate(bound.slots):
            if slot.kind == "arena":
                own[index] = bound.template[index]
        where = np.frombuffer(record, np.uint8).ctypes.data
        return native_calls().complete(where, ctypes.addressof(own), kind)

    def _bind(self) -> tuple[BoundProgram, bytes, list[object]]:
        pointers = list(self._bound.pointers)
        kept: list[object] = [self._bound]
        for index, slot in enumerate(self._bound.slots):
            if slot.kind == "arena" and slot.size:
                memory = AlignedMemory(slot.size, memory_of(self._bound.slots, slot))
                kept.append(memory)
                pointers[index] = memory.address
        bound = replace(self._bound, pointers=pointers, kept=kept)
        self._inner = (bound, *bound.record(self._layout, _never))
        return self._inner


def _never(*_: Any) -> None:
    raise AssertionError("native code completes a call whose arguments have been read")


def dlpack_dtype(name: str) -> int:
    """An element type as the four bytes of DLPack's DLDataType."""
    if name == "i1":
        return _BOOL
    letters = name.rstrip("0123456789>")
    bits = int(name.removeprefix(letters).rstrip(">"))
    bits *= 2 if letters.startswith("complex") else 1
    return _DLPACK_CODES[letters] | bits << 8 | _ONE_LANE
