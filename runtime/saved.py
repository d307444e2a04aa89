"""Compiled programs as files: machine code, what a call takes and gives, and constants.

A file is a magic line, the version of its form, the length and a digest of the head, the head (one
line of JSON), and blocks of bytes that the head lists by place, length and digest: object code and
constants as the program reads them, so that nothing is lowered, compiled or packed again. Constants
stay in the file, which is mapped, each page until something writes to it; their digests are sums
(`saved_sums`). No part of a file is used before its digest is compared; a file is as trusted as any
program is.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import mmap
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np

from lamina.codegen.target import Target
from lamina.dialects.errors import ExecutionError, InputError
from lamina.dialects.records import mutable_record, record
from lamina.passes.contracts.entry_attributes import CONSTANT_KINDS
from lamina.runtime.arguments import FlatStructure, Structure
from lamina.runtime.buffers import ALIGNMENT, AlignedMemory, rounded
from lamina.runtime.dispatch.binding import BoundProgram
from lamina.runtime.dispatch.native import native_object, offer_native_object
from lamina.runtime.entry import Entry, Slot
from lamina.runtime.executable import Executable, ProgramMetadata
from lamina.runtime.kernels import Kernels
from lamina.runtime.nested_structure import NestedStructure
from lamina.runtime.program import Program
from lamina.runtime.saved_sums import sums_digest

MAGIC = b"lamina-program\n"
VERSION = 2
"""The form of files, and what saved code and the run time say to each other."""

_PREFIX = struct.Struct(f"<{len(MAGIC)}sIQ32s")
_HELD = (*CONSTANT_KINDS, "prepared")
"""Kinds of slots whose elements are saved."""


def _sha256(data: memoryview) -> str:
    return hashlib.sha256(data).hexdigest()


_DIGESTS: dict[str, Callable[[memoryview], str]] = {"sha256": _sha256, "sums": sums_digest}
"""What blocks are compared by: code by the first, constants by the second, as fast as memory is."""


# Writing


@mutable_record
class _Written:
    """Bytes that follow the head, at places that count from its end."""

    sources: list[Any] = field(default_factory=list)
    places: list[dict[str, Any]] = field(default_factory=list)
    end: int = 0
    _held: dict[tuple[int, int], int] = field(default_factory=dict)

    def add_memory(self, address: int, size: int) -> int:
        """The bytes at an address: one block, however often they are added."""
        key = (address, size)
        if key not in self._held:
            self._held[key] = self.add(_memory_at(address, size), "sums")
        return self._held[key]

    def add(self, data: Any, digest: str = "sha256") -> int:
        """Puts bytes, or a memoryview of bytes, behind the others; gives their number."""
        view = memoryview(data)
        said = {digest: _DIGESTS[digest](view)}
        self.places.append({"at": self.end, "bytes": view.nbytes, **said})
        self.sources.append(view)
        self.end = rounded(self.end + view.nbytes, ALIGNMENT)
        return len(self.places) - 1


def _memory_at(address: int, size: int) -> memoryview:
    held = (ctypes.c_char * size).from_address(address) if size else b""
    return memoryview(held).cast("B")


class Saved(Protocol):
    """What is saved: a compiled program."""

    program: Program
    structure: Structure

    @property
    def bound(self) -> BoundProgram: ...

    def sized_head(
        self, program_head: Callable[[Any], dict[str, Any]]
    ) -> dict[str, Any] | None: ...


def save(entries: Mapping[str, Saved], path: str | os.PathLike[str]) -> None:
    """Writes programs by the names of their entries; see `Compiled.save`."""
    import lamina

    blocks = _Written()
    text_digest, native = native_object()
    head = {
        "lamina": lamina.__version__,
        "host": asdict(Target.host()),
        "native_calls": {"text": text_digest, "block": blocks.add(native)},
        "entries": {name: _entry_head(entry, blocks) for name, entry in entries.items()},
    }
    head["blocks"] = blocks.places
    text = json.dumps(head, separators=(",", ":")).encode()
    prefix = _PREFIX.pack(MAGIC, VERSION, len(text), hashlib.sha256(text).digest())
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with open(partial, "wb") as file:
            file.write(prefix + text)
            _write_blocks(file, blocks)
        os.replace(partial, target)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise InputError(f"cannot save '{path}': {error.strerror or error}") from None


def _write_blocks(file: BinaryIO, blocks: _Written) -> None:
    start = rounded(file.tell(), ALIGNMENT)
    for place, source in zip(blocks.places, blocks.sources, strict=True):
        file.write(bytes(start + place["at"] - file.tell()))
        file.write(source)


def _entry_head(compiled: Saved, blocks: _Written) -> dict[str, Any]:
    sized = compiled.sized_head(lambda version: _program_head(version, blocks))
    if sized is not None:
        return {"sized": sized}
    head = _program_head(compiled, blocks)
    if reason := compiled.structure.kept_by():
        raise InputError(f"the program cannot be saved: {reason}")
    nested = compiled.structure.recorded()
    return {"nesting": None if nested is None else nested.to_json(), **head}


def _program_head(compiled: Saved, blocks: _Written) -> dict[str, Any]:
    program = compiled.program
    if not isinstance(program.code, Executable) or program.target is None:
        raise ExecutionError(
            "the program is compiled for another machine and cannot be saved here; "
            "lamina-compile makes object files for other machines"
        )
    metadata = program.code.metadata
    bound = compiled.bound
    tensors = [
        {"slot": number, "block": blocks.add_memory(bound.template[number] or 0, slot.size)}
        for number, slot in enumerate(program.main.slots)
        if slot.kind in _HELD
    ]
    kept = replace(metadata, arguments={"main": metadata.arguments["main"]})
    return {
        "target": asdict(program.target),
        "metadata": json.loads(kept.to_json()),
        "code": blocks.add(program.code.code),
        "tensors": tensors,
    }


# Reading


def read(path: str | os.PathLike[str], *, mapped: bool) -> dict[str, Loaded | LoadedSizes]:
    """The programs in a file by the names of their entries; see `lamina.load`."""
    try:
        with open(path, "rb") as file:
            return _Reader(str(path), file, _mapped if mapped else _copied).programs()
    except UnicodeEncodeError:
        raise InputError(f"cannot load {str(path)!r}: no file has such a name") from None
    except OSError as error:
        raise InputError(f"cannot load '{path}': {error.strerror or error}") from None


@record
class Loaded:
    """A program, the constants that it is bound to, and how its calls nest."""

    program: Program
    constants: Mapping[str, np.ndarray]
    structure: Structure


@record
class LoadedVersion:
    """A version of a program with open sizes; see `size_versions.Version`."""

    program: Program
    constants: Mapping[str, np.ndarray]
    sizes: Mapping[str, int]
    is_exact: bool
    numbers: tuple[str, ...]
    least: Mapping[str, int]


@record
class LoadedSizes:
    """A program with open sizes: the text of a function that declares what it takes and gives, and
    its versions; see `SizedCalls`."""

    declaration: str
    says_more: bool
    structure: Structure | None
    versions: tuple[LoadedVersion, ...]


def _mapped(file: BinaryIO) -> Any:
    """The file in memory; pages that are written to are copied, and the file stays as it is."""
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)


def _copied(file: BinaryIO) -> Any:
    """The file in memory of its own."""
    size = os.fstat(file.fileno()).st_size
    memory = AlignedMemory(size, "the file of the program")
    held = (ctypes.c_char * size).from_address(memory.address)
    held._lamina_memory = memory  # pyright: ignore[reportAttributeAccessIssue] - goes with views
    file.seek(0)
    count = file.readinto(memoryview(held).cast("B"))  # pyright: ignore[reportAttributeAccessIssue]
    return held if count == size else bytes(count or 0)


class _Reader:
    """A file that is read from its head on."""

    def __init__(self, path: str, file: BinaryIO, in_memory: Callable[[BinaryIO], Any]) -> None:
        self._path = path
        self._compared: dict[int, memoryview] = {}
        prefix = file.read(_PREFIX.size)
        if not prefix.startswith(MAGIC):
            raise InputError(f"cannot load '{path}': it is no program that Compiled.save wrote")
        if len(prefix) < _PREFIX.size:
            raise self._damaged("it ends in its head")
        _, version, length, digest = _PREFIX.unpack(prefix)
        if version != VERSION:
            import lamina

            raise InputError(
                f"cannot load '{path}': its form is version {version}, and Lamina "
                f"{lamina.__version__} reads version {VERSION}; save it again with this Lamina"
            )
        self._bytes = memoryview(in_memory(file)).cast("B")
        size = self._bytes.nbytes
        text = bytes(self._bytes[_PREFIX.size : _PREFIX.size + length]) if length < size else b""
        if len(text) != length or hashlib.sha256(text).digest() != digest:
            raise self._damaged("its head is not what was written")
        self.head: dict[str, Any] = json.loads(text)
        self._start = rounded(_PREFIX.size + length, ALIGNMENT)
        ends = [self._start + place["at"] + place["bytes"] for place in self.head["blocks"]]
        if size < max(ends, default=0):
            raise self._damaged(f"it has {size} bytes of {max(ends)}")

    def programs(self) -> dict[str, Loaded | LoadedSizes]:
        """All entries, loaded."""
        try:
            self._check_machines()
            self._offer_native_calls()
            return {
                name: self._sized(entry["sized"]) if "sized" in entry else self._entry(entry)
                for name, entry in self.head["entries"].items()
            }
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"cannot load '{self._path}': its head lacks {error}") from error

    def _damaged(self, what: str) -> InputError:
        return InputError(f"cannot load '{self._path}': the file is damaged: {what}")

    def _check_machines(self) -> None:
        host = Target.host()
        for program in self._programs():
            target = Target(**program["target"])
            if not target.runs_here():
                raise ExecutionError(
                    f"cannot load '{self._path}': its code is for {target.architecture} "
                    f"({target.cpu}), and this CPU ({host.architecture}, {host.cpu}) lacks "
                    f"{', '.join(target.missing_here()[:6]) or 'its instructions'}"
                )

    def _programs(self) -> Iterator[Mapping[str, Any]]:
        """The heads of all programs, those of versions included."""
        for entry in self.head["entries"].values():
            if "sized" in entry:
                yield from (version["program"] for version in entry["sized"]["versions"])
            else:
                yield entry

    def _offer_native_calls(self) -> None:
        native = self.head["native_calls"]
        code = bytes(self._block(native["block"]))
        offer_native_object(native["text"], Target(**self.head["host"]), code)

    def _block(self, number: int) -> memoryview:
        """The bytes of a block, compared with their digest; entries may share it."""
        if number not in self._compared:
            place = self.head["blocks"][number]
            begin = self._start + place["at"]
            view = self._bytes[begin : begin + place["bytes"]]
            known = [name for name in _DIGESTS if name in place]
            if not known or any(_DIGESTS[name](view) != place[name] for name in known):
                raise self._damaged(f"block {number} is not what was written")
            self._compared[number] = view
        return self._compared[number]

    def _entry(self, head: Mapping[str, Any]) -> Loaded:
        program, constants = self._program(head)
        names = [slot.name for slot in program.main.slots if slot.kind == "input"]
        return Loaded(program, constants, _nesting(head) or FlatStructure(names))

    def _sized(self, head: Mapping[str, Any]) -> LoadedSizes:
        versions = tuple(
            LoadedVersion(
                *self._program(version["program"]),
                version["sizes"],
                version["is_exact"],
                tuple(version["numbers"]),
                version["least"],
            )
            for version in head["versions"]
        )
        return LoadedSizes(head["declaration"], head["says_more"], _nesting(head), versions)

    def _program(self, head: Mapping[str, Any]) -> tuple[Program, dict[str, np.ndarray]]:
        metadata = ProgramMetadata.from_json(json.dumps(head["metadata"]))
        main = Entry.from_json(metadata.arguments["main"])
        constants, prepared = dict[str, np.ndarray](), dict[str, HeldArray]()
        for tensor in head["tensors"]:
            slot = main.slots[tensor["slot"]]
            view = self._block(tensor["block"])
            if slot.kind == "prepared":
                prepared[slot.name] = HeldArray(np.frombuffer(view, np.uint8))
            else:
                constants[slot.name] = _elements(slot, view)
        target = Target(**head["target"])
        program = Program(
            Executable(bytes(self._block(head["code"])), metadata, target),
            main,
            None,
            Kernels.from_json(metadata.ledger),
            target,
            prepared,
        )
        return program, constants


def _nesting(head: Mapping[str, Any]) -> Structure | None:
    nesting = head["nesting"]
    return None if nesting is None else NestedStructure.from_json(nesting)


@record
class HeldArray:
    """Memory that an array keeps alive."""

    array: np.ndarray

    @property
    def address(self) -> int:
        """Of its first byte."""
        return self.array.ctypes.data


def _elements(slot: Slot, view: memoryview) -> np.ndarray:
    """The elements as a slot has them."""
    if not slot.size:
        return np.empty(slot.shape, slot.numpy_dtype)
    return np.frombuffer(view, slot.numpy_dtype).reshape(slot.shape)
