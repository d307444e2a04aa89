"""Which loops take two steps at a time, so that the second one walks its weights backwards."""

from __future__ import annotations

LEAST_SHARE = 4
"""Part of the second-level cache that weights of a step must exceed: of smaller ones a step finds
all there, whichever it read last. 4 MB on two threads with 2 MB each take 22 us a step where they
are walked to and fro, 36 always from the front; 3 MB, which fit, 12 for 17 (a Sapphire Rapids)."""
MOST_CACHES = 8
"""Second-level caches of all cores that weights may fill, at most: of more, what is still there is
not worth a second copy of the kernel. 8 MB take 91 us a step for 143 on the same threads."""
LEAST_STEPS = 4
"""Steps of a loop, at least, for which a kernel is compiled twice; not measured."""
MOST_CALLS = 16
"""Kernels that a step calls, at most: with more between them weights leave the caches anyway, and
the loop's code is doubled; not measured."""
