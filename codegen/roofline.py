"""How fast a machine can be at best: the least time that given traffic and arithmetic take.

The figures follow from the fields of a `Target`: cycles a second, vector units for arithmetic, so
many bytes a cycle from each cache. They are per core. What is measured on a machine replaces them:
`replace(Roofline.of(target), memory_bandwidth=...)`.
"""

from __future__ import annotations

from lamina.codegen.target import Target
from lamina.dialects.records import record


@record
class Roofline:
    """Peak arithmetic (f32 operations a second) and bandwidths (bytes a second) of one core.

    `caches` has (bytes, bandwidth) of each level, the smallest first. Scalar code begins about
    `clock_hz` operations a second; a team of threads takes `barrier_seconds` for a barrier.
    """

    peak_flops: float
    caches: tuple[tuple[int, float], ...]
    memory_bandwidth: float
    clock_hz: float
    barrier_seconds: float

    @staticmethod
    def of(target: Target) -> Roofline:
        """The figures that follow from the description of a target."""
        clock = target.clock_hz
        return Roofline(
            peak_flops=target.arithmetic_ports * target.lanes(32) * clock,
            caches=(
                (target.l1d_bytes, 2 * target.vector_bits // 8 * clock),
                (target.l2_bytes, target.l2_bytes_per_cycle * clock),
                (target.l3_bytes, target.l3_bytes_per_cycle * clock),
            ),
            memory_bandwidth=target.memory_bandwidth,
            clock_hz=clock,
            barrier_seconds=target.barrier_nanoseconds / 1e9,
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
