"""Memory for arenas and outputs: aligned, and recycled so that its pages are already mapped.

Fresh pages for a 32 MB output cost more than the kernel that fills it.
"""

import threading
from collections.abc import Callable, Sequence
from math import prod
from sys import getrefcount

import numpy as np
from numpy.typing import DTypeLike

#: Bytes: a cache line, and the widest vector register.
ALIGNMENT = 64

#: How many blocks of one size the pool keeps; more than that live at a time are plain memory.
BLOCKS_PER_SIZE = 4


def aligned_bytes(size: int) -> np.ndarray:
    """`size` uninitialised bytes that start on a multiple of `ALIGNMENT`."""
    raw = np.empty(size + ALIGNMENT, np.uint8)
    return raw[_offset(raw) :][:size]


def _offset(raw: np.ndarray) -> int:
    return -raw.ctypes.data % ALIGNMENT


class Arena:
    """The scratch memory of one program, made when first asked for."""

    __slots__ = ("_block", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self._block: np.ndarray | None = None

    @property
    def address(self) -> int:
        """Where it starts; the memory lives as long as this object."""
        if self._block is None:
            self._block = aligned_bytes(max(self.size, 1))
        return self._block.ctypes.data


class OutputPool:
    """Gives arrays over recycled memory.

    A block is given out again only when nothing refers to it: every view of it, NumPy's or
    torch's, keeps a reference to the one array that owns the memory, and that array's reference
    count tells. At most `BLOCKS_PER_SIZE` blocks of a size are kept, the longest unused forgotten.
    """

    def __init__(self) -> None:
        self._blocks: dict[int, list[tuple[np.ndarray, int]]] = {}
        self._lock = threading.Lock()

    def array(self, shape: Sequence[int], dtype: DTypeLike) -> np.ndarray:
        """A row-major array with undefined contents, aligned to `ALIGNMENT`."""
        return self.maker(shape, dtype)()

    def maker(self, shape: Sequence[int], dtype: DTypeLike) -> Callable[[], np.ndarray]:
        """A function that gives what `array` gives, with everything known beforehand settled."""
        kind, extents = np.dtype(dtype), tuple(shape)
        size = kind.itemsize * prod(extents)
        lock, free_block, ndarray = self._lock, self._free_block, np.ndarray

        def make() -> np.ndarray:
            with lock:
                raw, offset = free_block(size)
                # Made under the lock: from here on the reference count says that it is taken.
                return ndarray(extents, kind, raw, offset)

        return make

    def _free_block(self, size: int) -> tuple[np.ndarray, int]:
        blocks = self._blocks.get(size)
        if blocks is None:
            blocks = self._blocks[size] = []
        for position in range(len(blocks)):
            if getrefcount(blocks[position][0]) <= _UNUSED_COUNT:
                if position != len(blocks) - 1:
                    blocks.append(blocks.pop(position))
                return blocks[-1]
        raw = np.empty(size + ALIGNMENT, np.uint8)
        blocks.append((raw, _offset(raw)))
        if len(blocks) > BLOCKS_PER_SIZE:
            del blocks[0]
        return blocks[-1]

    @property
    def bytes_held(self) -> int:
        """Bytes of all blocks that the pool keeps, in use or not."""
        with self._lock:
            return sum(raw.nbytes for blocks in self._blocks.values() for raw, _ in blocks)

    def clear(self) -> None:
        """Forgets all blocks; memory in use lives on with its arrays."""
        with self._lock:
            self._blocks.clear()


def _measure_unused_count() -> int:
    """What `getrefcount` gives, asked as in `_free_block`, for a block only the pool holds."""
    blocks = [(np.empty(1, np.uint8), 0)]
    return getrefcount(blocks[0][0])


_UNUSED_COUNT = _measure_unused_count()
