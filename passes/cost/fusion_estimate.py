"""What a model thought of fusing a pair: bytes, operations, and the seconds that both take."""

from __future__ import annotations

from lamina.dialects.records import record

KERNEL_SECONDS = 2e-7
"""A kernel of its own: its call, and the end of its loops."""
LINE_BYTES = 64
"""What a look-up moves."""
SLACK = 1.1
"""How much longer the one way may take than the other: fusing spares memory in any case."""


@record
class Estimate:
    """Of one pair: bytes that fusing spares, operations it adds (in adds), and both in seconds."""

    bytes_saved: int
    flops_added: int
    seconds_saved: float
    seconds_added: float

    @property
    def pays(self) -> bool:
        """Whether fusing takes hardly longer than storing; it spares the memory in any case."""
        return self.seconds_added <= SLACK * self.seconds_saved

    def __str__(self) -> str:
        return self.compare("computing it again", "storing and reading it")

    def compare(self, added: str, saved: str) -> str:
        """Both times, each behind what takes it."""
        return (
            f"{added} takes {1e6 * self.seconds_added:.2f} us, {saved} "
            f"{1e6 * self.seconds_saved:.2f} us"
        )
