"""How nests of a row run: vectors of a step, accumulators, how far ahead memory is asked for."""

from __future__ import annotations

REDUCTION_UNROLL = 4
"""Independent accumulators: an add takes about four cycles and one can start each cycle."""
POINTWISE_UNROLL = 2
"""Vectors of a light pointwise body in one step: hides the loop's own instructions."""
LIGHT_BODY = 12
"""Cost units (see `fusion_cost`) of bodies that are unrolled; heavier ones fill the pipeline on
their own."""
NEAR_BODY = 6
"""Cost units of pointwise bodies that wait for caches beyond the nearest one: vectors of half the
width suffice for them, and their stores go out faster. An addition of 256x512 takes 0.92 of the
time so, a bias with relu 0.96, in the last-level cache as long (a Sapphire Rapids; of a Zen 4 an
addition of 8 MB 0.92)."""
COLUMN_UNROLL = 4
"""Vectors of neighbouring columns per pass over the reduced dimensions."""
OPEN_COLUMN_UNROLL = 2
"""The same where columns end at a number of the call: fewer than a tile are masked, and vectors of
which none counts are computed too."""
OPEN_TILE = 8
"""Vectors of a whole register tile there: positions fewer than it has are computed one by one.
Pooling of 8x64x112x112 takes 2.7 ms with 8 and 4.6 with 16, whose lines no longer fit the nearest
cache; a depthwise convolution of 144x56x56 211 and 206 us (a thread of a Zen 4)."""
MOST_UNROLLED = 128
"""Multiplications of a register tile whose loop over lines of a window is written out: a window of
seven lines has 112."""
LEAST_INNER = 4
"""Vectors of a row from which on those in the middle are told from those at edges that are numbers
of the call: the latter are two loops more. With 4 a depthwise convolution of 144x56x56 takes 196
us, with 8, which its rows have not, 211 (a thread of a Zen 4)."""
ACCUMULATOR_SHARE = 2
"""One register in so many holds a total; the others hold what is multiplied."""
STREAMS = 4
"""Rows that are added up together."""
FAR_STREAMS = 8
"""The same where the rows come from memory: more streams keep more lines on their way."""
LEAST_LENGTH = 4
"""Rows of a stream: shorter ones do not pay for writing the totals."""
ONLINE_BLOCK = 8
"""Vectors whose maximum is compared with the running one at once: few enough for registers."""
LEAST_ONLINE = 1024
"""Elements from which on a row's second walk costs more than blocks and their ends."""
BLOCK_TILES = 8
"""Tiles side by side: eight lines of each row that is read are next to one another."""
TILES_AHEAD = 2
"""How far ahead reads that are not turned are fetched; a turned one is fetched one tile ahead,
which is a whole row of tiles away. Neither order of access is one that the hardware foresees."""
AHEAD_BYTES = 1 << 14
"""How far ahead rows are fetched: what memory delivers while one row of usual length is
computed."""
BYTES_AHEAD = 2048
"""How far ahead of a pointwise walk to fetch: 2 KiB take longer to compute than to arrive."""
LINES_AHEAD = 1
"""How many lines of results ahead tiles ask for what windows read anew: a line of pixels takes
longer to add up, and to multiply behind that, than its like takes to arrive."""
FAR_IMAGE = 4
"""Times the second-level cache that an image must have for that. Of depthwise convolutions in
front of a product, those of 5.5 MB and more take 0.70 to 0.80 of the time with it, and of 4.8 MB
the same (one thread of a Zen 4, caches of 1 and 32 MB)."""
LEAST_RUN = 48
"""Vectors in a run that is worth an unaligned begin and end: the lines there are shared with other
runs and stored in the usual way. Measured with `pad`: 32 lose 15 %, 48 are level, 64 gain."""
LEAST_SHARE = 16
"""A result smaller than this part of the last-level cache is never streamed."""
ROWS_AHEAD = 16
"""How many positions ahead rows of tables are fetched, past the end of a segment: where it ends is
mispredicted, and what the processor has begun to read is thrown away."""
STRIDE_SCORES = {0: 1, 1: 3, 2: 0}
"""How well a read suits vectors by its stride: of two vectors every other element is chosen."""
LEAST_FOLD = 16
"""Elements of a reduced dimension worth a vector that is folded in the end: lanes are idle, or the
folding takes as long as the additions."""
LEAST_SLICE = 4
"""Vectors, or lines, of a slice that is computed where it is read: shorter ones begin too often."""
CACHE_BYTES_A_CYCLE = 32
"""Bytes that a core reads from its second-level cache in a cycle, beside arithmetic."""
CLEARING_UNROLL = 2
"""Vectors of totals that are cleared in a step."""
