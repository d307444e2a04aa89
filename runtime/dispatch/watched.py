"""Arguments that a program was prepared for: a call looks whether they are still what they were."""

import ctypes
from collections.abc import Sequence
from dataclasses import field
from typing import Any

from lamina.dialects.records import mutable_record, record
from lamina.runtime.dispatch.records import structure

_WORD = 8

_IDENTITY_ONLY, _SAMPLED = 1, 2


@record
class Watched:
    """A tensor in a list of arguments, and what it was when a program was prepared for it.

    `identity` is the address of the object at `place`. Unless `version` is None, the tensor's
    version counter and the address of its data count too, and the word at `sample` bytes of them
    if that is not None.
    """

    place: int
    identity: int
    version: int | None = None
    data: int = 0
    sample: int | None = None


@mutable_record
class WatchTable:
    """The table that native calls read, and how many calls have found nothing changed."""

    entries: Sequence[Watched]
    table: Any = field(init=False)
    _hits: Any = field(init=False)

    def __post_init__(self) -> None:
        rows = [
            (
                entry.place,
                _IDENTITY_ONLY * (entry.version is None) | _SAMPLED * (entry.sample is not None),
                entry.identity,
                entry.version or 0,
                entry.data,
                entry.data + (entry.sample or 0),
                0 if entry.sample is None else _word(entry.data + entry.sample),
            )
            for entry in self.entries
        ]
        self.table = (structure("Watched") * max(len(rows), 1))(*rows)
        self._hits = ctypes.c_int64(0)

    @property
    def hits(self) -> int:
        """How many calls have found nothing changed."""
        return self._hits.value

    def hit(self) -> None:
        """Counts a call that has found nothing changed, outside of native code."""
        self._hits.value += 1

    def has_other_samples(self) -> bool:
        """Whether a sampled word is another than when the table was made."""
        return any(
            row.flags & _SAMPLED and _word(row.sample) != row.word
            for row in self.table[: len(self.entries)]
        )

    @property
    def hits_address(self) -> int:
        """Where native code counts them."""
        return ctypes.addressof(self._hits)


def telling_place(data: int, size: int) -> int | None:
    """The offset of a word that is not zero among `size` bytes at `data`, of a few that are read.

    A write to all of a tensor, such as a product, changes such a word. None where there is no word.
    """
    if size < _WORD:
        return None
    offsets = [(size - _WORD) * part // 16 // _WORD * _WORD for part in (8, *range(17))]
    return next((offset for offset in offsets if _word(data + offset)), offsets[0])


def _word(address: int) -> int:
    return ctypes.c_int64.from_address(address).value
