"""How much room versions of a program have for sizes that are not known: fewer versions, more room.

Padded arguments are copied in a call as far as they have elements; memory that nothing writes to
is never there, so that rows cost addresses alone.
"""

from __future__ import annotations

GROWTH_BITS = 2
"""Padded versions are for sizes up to powers of `2 ** GROWTH_BITS`. Of a decoder of 4 layers, 256
wide, one for 1x512 took 1.23 of the time of code for 1x66 alone, one for 1x128 took 1.18 (a Zen 5):
loops end at live rows, so that few versions cost little."""

LEAST_ROWS = 1024
"""Positions of rows for which versions have room at least, where memory allows. A perceptron and
convolutions took equal times in versions for 64 and for 1,024 or 256 rows (a Zen 4)."""

LEAST_MASKED = 256
"""The same of positions that are masked, which cost work. A decoder of 4 layers, 256 wide, took
0.98 ms for 1x8 and 1.93 for 1x16 in a version for 256, 1.01 and 1.94 in one for 64 (a Zen 4)."""

LEAST_GROWING = 1024
"""The same where they grow from call to call, as a cache's: a generation of 400 tokens would have
two versions with 256. GPT-2 and Llama of four layers made as many tokens a second with room for
1,024 as for 256 (a Zen 4), as sums over positions end at those that count (`lamina.cut`)."""

ROOMY_ELEMENTS = 1 << 22
"""Of padded arguments for which there is more room than for their sizes, where positions are
masked. What there is of them is copied: a megabyte of floats takes 10 to 16 us on a Zen 5. Those
that grow from call to call, as caches, do not count: they are mostly read as they lie."""

ROOMY_ROW_ELEMENTS = 1 << 24
"""The same where only rows are more."""

MOST_ELEMENTS = 1 << 26
"""Of the largest tensor of a version that has such room."""
