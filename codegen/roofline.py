"""How fast a machine can be at best: the least time that given traffic and arithmetic take.

The figures follow from a `Target` by documented rules of thumb: cycles at `CLOCK_HZ`, two vector
units for arithmetic, so many bytes a cycle from each cache. They are per core. What is measured on
a machine replaces them: `replace(Roofline.of(target), memory_bandwidth=...)`.
"""

from __future__ import annotations

from dataclasses import dataclass

from lamina.codegen.target import Target

CLOCK_HZ = 3.5e9
"""Cycles a second of a core that is busy."""
ARITHMETIC_PORTS = 2
"""Vector operations that a core begins in a cycle."""
L2_BYTES_PER_CYCLE = 32
"""Bytes that the second-level cache delivers in a cycle."""
L3_BYTES_PER_CYCLE = 16
"""Bytes that the last-level cache delivers to one core in a cycle."""
MEMORY_BANDWIDTH = 20e9
"""Bytes a second that one core gets from memory."""


@dataclass(frozen=True)
class Roofline:
    """Peak arithmetic (f32 operations a second) and bandwidths (bytes a second) of one core.

    `caches` has (bytes, bandwidth) of each level, the smallest first.
    """

    peak_flops: float
    caches: tuple[tuple[int, float], ...]
    memory_bandwidth: float

    @staticmethod
    def of(target: Target) -> Roofline:
        """The figures that follow from the description of a target."""
        return Roofline(
            peak_flops=ARITHMETIC_PORTS * target.lanes(32) * CLOCK_HZ,
            caches=(
                (target.l1d_bytes, 2 * target.vector_bits // 8 * CLOCK_HZ),
                (target.l2_bytes, L2_BYTES_PER_CYCLE * CLOCK_HZ),
                (target.l3_bytes, L3_BYTES_PER_CYCLE * CLOCK_HZ),
            ),
            memory_bandwidth=MEMORY_BANDWIDTH,
        )

    @property
    def near_bytes(self) -> int:
        """What fits the second level: rows that one nest of a kernel leaves for the next."""
        return self.caches[1][0]

    def bandwidth(self, footprint: int) -> float:
        """Bytes a second where `footprint` bytes are touched: of the smallest level that fits."""
        return next((b for size, b in self.caches if footprint <= size), self.memory_bandwidth)

    def seconds(self, traffic: int, flops: int) -> float:
        """The larger of the time to move `traffic` bytes and the time for `flops` operations."""
        return max(traffic / self.bandwidth(traffic), flops / self.peak_flops)
