"""What an ELF object file says of itself: its machine, and the symbols it wants from elsewhere."""

import struct

from lamina.codegen.archive import members

#: e_machine in ELF's header.
MACHINES = {62: "x86_64", 183: "aarch64", 243: "riscv64"}

_SYMBOL_TABLE = 2
_UNDEFINED = 0


class ObjectFormatError(ValueError):
    """The bytes are no 64-bit little-endian ELF file."""


def machine(code: bytes) -> str:
    """The architecture that an object file is for, as triples name it."""
    _check(code)
    number = struct.unpack_from("<H", code, 18)[0]
    return MACHINES.get(number, f"machine {number}")


def undefined_symbols(code: bytes) -> list[str]:
    """Names that an object file, or an archive of them, uses and does not define.

    Raises ObjectFormatError for what is neither.
    """
    try:
        tables = [_symbols(part) for part in members(code)]
    except (struct.error, IndexError, OverflowError, ValueError) as error:
        if isinstance(error, ObjectFormatError):
            raise
        raise ObjectFormatError(f"broken ELF file: {error}") from None
    defined = {name for table in tables for name, is_defined in table if is_defined}
    wanted = [name for table in tables for name, is_defined in table if not is_defined]
    return [name for name in dict.fromkeys(wanted) if name not in defined]


def _symbols(code: bytes) -> list[tuple[str, bool]]:
    """Names of an object file, and whether it defines them."""
    _check(code)
    found: list[tuple[str, bool]] = []
    sections = _sections(code)
    for kind, offset, size, link, entry in sections:
        if kind != _SYMBOL_TABLE or not entry:
            continue
        strings = sections[link][1]
        for at in range(offset + entry, offset + size, entry):  # the first entry is void
            name, _, _, section = struct.unpack_from("<IBBH", code, at)
            if name:
                start = strings + name
                text = code[start : code.index(b"\0", start)].decode()
                found.append((text, section != _UNDEFINED))
    return found


def _check(code: bytes) -> None:
    if code[:6] != b"\x7fELF\x02\x01" or len(code) < 64:
        raise ObjectFormatError("no 64-bit little-endian ELF file")


def _sections(code: bytes) -> list[tuple[int, int, int, int, int]]:
    """(type, offset, size, link, entry size) of every section."""
    start = struct.unpack_from("<Q", code, 40)[0]
    width, count = struct.unpack_from("<HH", code, 58)
    found: list[tuple[int, int, int, int, int]] = []
    for at in range(start, start + width * count, width):
        kind = struct.unpack_from("<I", code, at + 4)[0]
        offset, size, link = struct.unpack_from("<QQI", code, at + 24)
        found.append((kind, offset, size, link, struct.unpack_from("<Q", code, at + 56)[0]))
    return found
