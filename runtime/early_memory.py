"""Memory for what a setup makes of constants, which the system finds while the compiler works.

A page costs more when it is touched first than packing takes that fills it: 2.4 ms a MB on a
virtual machine whose host has to find it, too (0.27 s for ResNet-50's packed weights, which are
packed in 0.03 s). How much it will be is known once kernels are formed; what comes then keeps one
thread busy, and LLVM's when the first kernels have their loops.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING

from lamina.dialects.errors import OutOfMemoryError
from lamina.runtime.buffers import AlignedMemory, touch, whole_of
from lamina.runtime.entry import function_named, result_slots
from lamina.runtime.shared_constants import Recipe

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

LEAST_BYTES = 1 << 24
"""Bytes from which a thread is worth it: 40 ms at the rate above."""

_STEP = 1 << 22
"""Bytes that are touched before the thread asks whether it is to stop: some 10 ms."""


class EarlyMemory:
    """One block, of which a thread touches the pages within a `with` statement.

    `is_wanted` says whether what a setup makes by a name and a recipe needs memory, or others have
    it.
    """

    def __init__(self, is_wanted: Callable[[Recipe | None], bool]) -> None:
        self._is_wanted = is_wanted
        self._memory: AlignedMemory | None = None
        self._thread: threading.Thread | None = None
        self._ends = threading.Event()

    def begin(self, module: ModuleOp, recipes: Mapping[str, Recipe]) -> None:
        """Takes memory for what `@setup` of a program at `fused` makes, and has it touched.

        Where there is none, or little is needed, nothing is taken: `bind` is who says so.
        """
        setup = function_named(module, "setup")
        slots = [] if setup is None else result_slots(setup)
        sizes = [slot.size for slot in slots if self._is_wanted(recipes.get(slot.name))]
        size = whole_of(sizes)[1]
        if size < LEAST_BYTES:
            return
        try:
            self._memory = AlignedMemory(size)
        except OutOfMemoryError:
            return
        self._thread = threading.Thread(target=self._touch, args=(self._memory,), daemon=True)
        self._thread.start()

    def _touch(self, memory: AlignedMemory) -> None:
        for offset in range(0, memory.size, _STEP):
            if self._ends.is_set():
                return
            touch(memory, offset, _STEP)

    def __enter__(self) -> EarlyMemory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ends.set()
        if self._thread is not None:
            self._thread.join()

    def take(self) -> AlignedMemory | None:
        """The block, if there is one; it is the caller's from now on."""
        memory, self._memory = self._memory, None
        return memory
