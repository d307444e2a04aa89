"""Shares of the target's caches that schedules fill."""

from __future__ import annotations

from lamina.codegen.target import Target
from lamina.passes.cost.scratch_budget import SCRATCH_BYTES

TOTALS_SHARE = 4
"""Part of the nearest cache for totals of columns, beside what is added to them. Of 1,024 rows of
4,096 f64, one half to twice as much takes 0.99 to 1.03 of the time on a Zen 5."""
SCRATCH_SHARE = 4
"""Part of the second-level cache for what a task keeps of its columns between nests."""
COPY_SHARE = 0.8
"""Part of the second-level cache, and of a task's scratch, for a copy of a block of rows: a larger
one has left the cache before the next panel is multiplied by it."""
BLOCK_SHARE = 0.8
"""Part of the second-level cache for a block of rows of a product. Each block reads all panels from
further out: by 3072x768, with a norm behind it, 128 rows take 7.0 ms in blocks of 16, 5.8 of 32,
5.6 of 43 and 5.3 of 64, which are 0.75 of the cache (a thread of a Cascade Lake)."""
PAIRED_BLOCK_SHARE = 0.5
"""The same where pairs of bf16 are multiplied, which a Sapphire Rapids and a Zen 4 were asked."""
BLOCK_SCRATCH_SHARE = 2
"""Part of the second-level cache for what is kept of such a block: 128x768x2304 takes 2.25 ms in
blocks of 64 rows, 590 KB of 2 MB, and 2.48 in blocks of 32 (a thread of a Sapphire Rapids)."""
WHOLE_ROW_SHARE = 0.75
"""The same where sums wait there, too, for the next terms: 197x3072x768, with a norm behind it, has
blocks of 99 rows so on two cores. Less and more were not measured."""
FAR_SHARE = 2
"""Part of the second-level cache from which on a tensor has left it when a later kernel comes to
it: register tiles ask for what they will add and store. 784x256x1024 with an operand of 3.2 MB
added takes 0.85 of its time so, 0.96 of that by asking for the result's lines; 128x768x768, whose
0.4 MB are near, 1.01 (a thread of a Sapphire Rapids)."""
STREAM_SHARE = 8
"""Part of the second-level cache for a block of a long dimension, of as many rows as a task takes:
beside it stand as many of each product's operand. On a Sapphire Rapids, whose 2 MB hold blocks of
1,024 keys, those of 512 take 1.04 of the time, of 256 1.08, of 2,048 the same."""
STREAM_ROW_BYTES = 64 * 4
"""Bytes of each position of such a block: 64 rows of f32."""
LEAST_STREAM_BLOCK = 512
"""Positions of a block, at least: a block costs as much again to join. Of 1 MB of cache, blocks of
256 take 6 % longer than those of 512 (a Zen 4)."""
PAIRS_SHARE = 2
"""Part of the nearest cache for pairs that a task packs: larger pieces leave fewer tasks."""
SLICE_SHARE = 2
"""Part of the nearest cache for what nests read and make of a slice of a row: of the differences of
neighbouring exponentials, three eighths take 0.97, three quarters 1.12 and all of it 1.6 ms."""

MOST_SLICE = 0.75
"""The same, of the least slice that a jam allows."""


def columns_kept(target: Target, bits: int) -> int:
    """Columns of elements of so many bits whose totals are kept at a time: a power of 2."""
    return _power_of_two(target.l1d_bytes // TOTALS_SHARE * 8 // bits)


def column_scratch_bytes(target: Target) -> int:
    """What a task may keep for its columns between nests."""
    return target.l2_bytes // SCRATCH_SHARE


def row_copy_bytes(target: Target) -> int:
    """What a task may copy of the rows of a product."""
    return int(min(target.l2_bytes, SCRATCH_BYTES) * COPY_SHARE)


def block_bytes(target: Target, *, in_pairs: bool = False) -> int:
    """What a task may read for a block of rows of a product, which may be in pairs."""
    share = PAIRED_BLOCK_SHARE if in_pairs else BLOCK_SHARE
    return int(target.l2_bytes * share)


def block_scratch_bytes(target: Target) -> int:
    """What a task may keep of a block of whole rows of a product; the rest is for packed columns,
    and for copied rows."""
    return min(target.l2_bytes // BLOCK_SCRATCH_SHARE, SCRATCH_BYTES // 4 * 3)


def stream_block(target: Target) -> int:
    """Positions of a block in which a task walks a long dimension: a power of 2."""
    fitting = _power_of_two(target.l2_bytes // STREAM_SHARE // STREAM_ROW_BYTES)
    return max(LEAST_STREAM_BLOCK, fitting)


def whole_row_bytes(target: Target) -> int:
    """What a task may keep of such a block together with sums that wait for more terms."""
    return int(min(target.l2_bytes, SCRATCH_BYTES) * WHOLE_ROW_SHARE)


def slice_bytes(target: Target) -> int:
    """What nests of a task may touch for a slice that they hand on."""
    return target.l1d_bytes // SLICE_SHARE


def pairs_packed(target: Target, bytes_each: int) -> int:
    """Rows of pairs, of so many bytes each, that a task packs: a power of 2."""
    return _power_of_two(target.l1d_bytes // PAIRS_SHARE // bytes_each)


def _power_of_two(number: int) -> int:
    """The largest that is no more than the number, and 1 at least."""
    return 1 << max(1, number).bit_length() - 1
