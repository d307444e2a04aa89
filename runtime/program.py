"""A program as machine code, not yet bound to its constants."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from lamina.codegen.target import Target
from lamina.dialects.records import record
from lamina.runtime.early_memory import EarlyMemory
from lamina.runtime.entry import Entry
from lamina.runtime.kernels import Kernel, Kernels
from lamina.runtime.shared_constants import Recipe

_SHORT_BYTES, _SHORT_FLOPS = 1 << 17, 1 << 15
"""Programs up to that traffic and arithmetic take a few microseconds: they keep the GIL, since to
give it up and take it again may cost more than they do."""


class HeldMemory(Protocol):
    """Bytes that stay where they are as long as this object lives, such as `AlignedMemory`."""

    @property
    def address(self) -> int: ...


class MachineCode(Protocol):
    """Loaded machine code, such as `Executable`."""

    def call(self, entry: str, pointers: Sequence[int]) -> None:
        """Runs an entry point on its pointers; ExecutionError when a check inside it fails."""
        ...

    def address(self, entry: str) -> int:
        """Where an entry point starts: `int32_t entry(void **pointers)`."""
        ...

    def error(self, status: int) -> BaseException:
        """What a status other than 0 means."""
        ...


@record
class Program:
    """A program as machine code, not yet bound to its constants.

    `code` is None when it is for another machine than this one. `prepared` are the constants that
    `setup` would make, where they come from a file; `recipes` say what it makes, by name. `early`
    has memory for it.
    """

    code: MachineCode | None
    main: Entry
    setup: Entry | None
    kernels: Kernels
    target: Target | None = None
    prepared: Mapping[str, HeldMemory] | None = None
    recipes: Mapping[str, Recipe] = field(default_factory=dict[str, Recipe])
    early: EarlyMemory | None = None

    @property
    def is_short(self) -> bool:
        """Whether a run surely takes a few microseconds only, all of them in machine code."""
        return self._is_bounded and _is_short(self.kernels, 1, 1)

    def brief_up_to(self, most: int) -> int:
        """The largest size, of those up to `most` for which the program is, of which a run is short
        as in `is_short`, where its kernels run rows up to that size alone; 0 if there is none."""
        if not self._is_bounded:
            return 0
        powers = [1 << n for n in range(most.bit_length() + 1)]
        short = [size for size in powers if _is_short(self.kernels, size, most)]
        return min(max(short, default=0), most)

    @property
    def _is_bounded(self) -> bool:
        kernels = list(self.kernels)
        outside = any(slot.kind == "extern" for slot in self.main.slots)
        return bool(kernels) and not outside and not any(kernel.in_while for kernel in kernels)


def _is_short(kernels: Iterable[Kernel], size: int, most: int) -> bool:
    """Whether kernels are, where those with `most` rows run `size` of them."""
    traffic = flops = 0.0
    for kernel in kernels:
        share = min(1, size / most) if kernel.live_rows == most else 1
        traffic += share * kernel.calls * kernel.bytes
        flops += share * kernel.calls * kernel.flops
    return traffic <= _SHORT_BYTES and flops <= _SHORT_FLOPS
