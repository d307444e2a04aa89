"""Memory that is ours: aligned, counted, and so laid out that it can be recycled.

Fresh pages for a 32 MB output cost more than the kernel that fills it: outputs come from blocks
that native call code keeps and gives out again.
"""

import ctypes
import os
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

from lamina.dialects.errors import OutOfMemoryError
from lamina.runtime.dispatch.records import HEADER_BYTES, SLOTS
from lamina.runtime.free_memory import check_room

#: Bytes: a cache line, and the widest vector register.
ALIGNMENT = 64

BLOCKS_PER_SIZE = 4
"""How many large blocks of one size are kept for later outputs."""

SMALL_BYTES = 1 << 16
"""Below this size, more of them."""

_PAGE, _HUGE_PAGE = 1 << 12, 1 << 21
_ADVISE_HUGE_PAGES, _ADVISE_POPULATE_READ = 14, 22  # Linux's own

_lock = threading.RLock()  # memory may die while this thread counts some
_live = 0


def _renew_lock() -> None:
    """A forked child has no thread that would free the old one."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_renew_lock)


class AlignedMemory:
    """Uninitialised bytes that start on a multiple of `ALIGNMENT`, given back when it dies.

    `what` says in an error what they are for.
    """

    __slots__ = ("__weakref__", "_free", "address", "size")

    def __init__(self, size: int, what: str = "a block of memory") -> None:
        """Takes `size` bytes, rounded up to `ALIGNMENT`; OutOfMemoryError if there are none."""
        global _live
        self.size = rounded(max(size, 1), ALIGNMENT)
        alignment = _HUGE_PAGE if self.size >= 2 * _HUGE_PAGE else ALIGNMENT
        self.address, self._free = 0, _library().free
        check_room(self.size, what)
        address = _library().aligned_alloc(alignment, rounded(self.size, alignment))
        if not address:
            raise OutOfMemoryError(f"{what} takes {self.size} bytes, and the system gives none")
        if alignment == _HUGE_PAGE:
            _library().madvise(address, self.size, _ADVISE_HUGE_PAGES)
        self.address = address
        with _lock:
            _live += self.size

    def __del__(self) -> None:
        global _live
        if not getattr(self, "address", 0):
            return
        self._free(self.address)
        if _lock is not None:  # names of this module may be gone when the process ends
            with _lock:
                _live -= self.size


class MemoryPart:
    """Bytes of a larger block, which lives as long as one of its parts."""

    __slots__ = ("__weakref__", "_whole", "address", "size")

    def __init__(self, whole: AlignedMemory, offset: int, size: int) -> None:
        self._whole = whole
        self.address = whole.address + offset
        self.size = size


def side_by_side(
    sizes: Sequence[int], what: str = "a block of memory", room: AlignedMemory | None = None
) -> list[AlignedMemory | MemoryPart]:
    """Memory for each of so many bytes, in one block where that has huge pages; `what` it is for.

    The block is `room`, if that is large enough.

    Weights of 1 to 4 MB each have none of their own, and are read at half the bandwidth of memory
    in pages of 4 KB: 19 GB/s, where those of a block are read at 35 (a thread of a Zen 4).
    """
    offsets, total = whole_of(sizes)
    if total < 2 * _HUGE_PAGE:
        return [AlignedMemory(size, what) for size in sizes]
    whole = AlignedMemory(total, what) if room is None or room.size < total else room
    return [MemoryPart(whole, *part) for part in zip(offsets, sizes, strict=True)]


def whole_of(sizes: Sequence[int]) -> tuple[list[int], int]:
    """Where each of so many bytes begins in a block for all, and the bytes of that."""
    offsets: list[int] = []
    total = 0
    for size in sizes:
        total = rounded(total, ALIGNMENT if size < SMALL_BYTES else _PAGE)
        offsets.append(total)
        total += size
    return offsets, total


def touch(memory: AlignedMemory, offset: int, size: int) -> None:
    """Has the system find the pages of so many bytes, which are zeros then.

    They are written rather than asked for: while the system finds pages that `madvise` asks for, no
    other thread gets or gives back memory (Linux 6.18 held up the lowering of SmolLM for 0.8 s).
    """
    ctypes.memset(memory.address + offset, 0, max(0, min(size, memory.size - offset)))


def map_to_be_read(memory: AlignedMemory) -> None:
    """Has the system map the pages of a block, as zeros where nothing was written, which takes no
    memory but for the tables of pages: a load of which all lanes are masked off asks for no page,
    and takes some 100 ns where there is none, each time. Systems before Linux 5.14 refuse.
    """
    first = rounded(memory.address, _PAGE)
    size = memory.address + memory.size - first
    if size > 0:
        _library().madvise(first, size, _ADVISE_POPULATE_READ)


def live_bytes() -> int:
    """Bytes of all `AlignedMemory` alive: arenas, prepared constants, mutation buffers."""
    return _live


def block_layout(size: int) -> tuple[int, int, int, int]:
    """Bytes in all, alignment, most to keep and bytes before the header, of blocks for outputs.

    Sizes have sixteen steps between two powers of two, so that outputs of about one size share
    blocks, and are whole cache lines; large ones are whole huge pages.

    From `SMALL_BYTES` on data begins a page: a CPU takes a load for one of what it has just stored
    if their places in a page are the same. Where results begin no later in a page than operands,
    walks side by side meet that least (add of 8 MB: 160 us, and 200 us from 128 bytes on).
    """
    step = max(ALIGNMENT, 1 << max(size.bit_length() - 5, 0))
    data = rounded(max(size, 1), step)
    if size < SMALL_BYTES:
        return data + HEADER_BYTES, ALIGNMENT, SLOTS, 0
    total = rounded(data + _PAGE, _PAGE)
    alignment = _PAGE
    if total >= 2 * _HUGE_PAGE:
        total, alignment = rounded(total, _HUGE_PAGE), _HUGE_PAGE
    return total, alignment, BLOCKS_PER_SIZE, _PAGE - HEADER_BYTES


def rounded(size: int, step: int) -> int:
    """`size` rounded up to a multiple of `step`."""
    return -(-size // step) * step


@cache
def _library() -> Any:
    library = ctypes.CDLL(None)
    library.aligned_alloc.restype = ctypes.c_void_p
    library.aligned_alloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
    library.free.restype, library.free.argtypes = None, [ctypes.c_void_p]
    library.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return library
