"""Several object files as one: an archive, as `ar` makes it and linkers read it."""

from collections.abc import Sequence

_MAGIC = b"!<arch>\n"
_HEADER = 60
_SIZE = slice(48, 58)
_FIELDS = "{name:<16}{date:<12}{owner:<6}{group:<6}{mode:<8}{size:<10}`\n"


def archived(objects: Sequence[bytes]) -> bytes:
    """The object files in one; a single one is itself."""
    if len(objects) == 1:
        return objects[0]
    parts = [_MAGIC]
    for number, code in enumerate(objects):
        name = f"{number}.o/"
        fields = _FIELDS.format(name=name, date=0, owner=0, group=0, mode=644, size=len(code))
        parts += [fields.encode(), code, b"\n" * (len(code) % 2)]
    return b"".join(parts)


def members(code: bytes) -> list[bytes]:
    """The object files in an archive; what is none is its own member.

    Raises ValueError for an archive that is cut short or broken.
    """
    if bytes(code[: len(_MAGIC)]) != _MAGIC:
        return [code]
    found: list[bytes] = []
    at = len(_MAGIC)
    while at < len(code):
        begin = at + _HEADER
        size = int(bytes(code[at:begin])[_SIZE])
        if not 0 <= size <= len(code) - begin:
            raise ValueError("an archive ends in the middle of a member")
        found.append(code[begin : begin + size])
        at = begin + size + size % 2
    return found
