"""Memory that is ours: aligned, counted, and so laid out that it can be recycled.

Fresh pages for a 32 MB output cost more than the kernel that fills it: outputs come from blocks
that native call code keeps and gives out again.
"""

import ctypes
import threading
from functools import cache
from typing import Any

from lamina.runtime.dispatch.records import HEADER_BYTES, SLOTS

#: Bytes: a cache line, and the widest vector register.
ALIGNMENT = 64

BLOCKS_PER_SIZE = 4
"""How many large blocks of one size are kept for later outputs."""

SMALL_BYTES = 1 << 16
"""Below this size, more of them."""

_HUGE_PAGE = 1 << 21
_ADVISE_HUGE_PAGES = 14

_lock = threading.Lock()
_live = 0


class AlignedMemory:
    """Uninitialised bytes that start on a multiple of `ALIGNMENT`, given back when it dies."""

    __slots__ = ("_free", "address", "size")

    def __init__(self, size: int) -> None:
        """Takes `size` bytes, rounded up to `ALIGNMENT`; MemoryError if there are none."""
        global _live
        self.size = rounded(max(size, 1), ALIGNMENT)
        alignment = _HUGE_PAGE if self.size >= 2 * _HUGE_PAGE else ALIGNMENT
        self.address, self._free = 0, _library().free
        address = _library().aligned_alloc(alignment, rounded(self.size, alignment))
        if not address:
            raise MemoryError(f"no memory for {self.size} bytes")
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


def live_bytes() -> int:
    """Bytes of all `AlignedMemory` alive: arenas, prepared constants, mutation buffers."""
    return _live


def block_layout(size: int) -> tuple[int, int, int]:
    """(bytes with header, alignment, most to keep) of the blocks for outputs of `size` bytes.

    Sizes have sixteen steps between two powers of two, so that outputs of about one size share
    blocks, and are whole cache lines; large ones are whole huge pages.
    """
    step = max(ALIGNMENT, 1 << max(size.bit_length() - 5, 0))
    total = rounded(max(size, 1), step) + HEADER_BYTES
    if total >= 2 * _HUGE_PAGE:
        return rounded(total, _HUGE_PAGE), _HUGE_PAGE, BLOCKS_PER_SIZE
    return total, ALIGNMENT, SLOTS if size < SMALL_BYTES else BLOCKS_PER_SIZE


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
