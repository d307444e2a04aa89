"""When a size that depends on data is worth a stage of its own, though it has a bound.

A stage is a call more (some 10 us); padding costs work up to the bound in each call.
"""

from __future__ import annotations

DEAR_ELEMENTS = 1 << 16
"""Elements of a padded result from which on it may be dear: written and read again they take some
50 us (a `cat` padded to 100,000 rows of 8 took 0.4 ms on a Zen 5, its stages 20 us)."""

DEAR_GROWTH = 4
"""Times the elements of what an op reads that its padded result has, where it is dear: a mask
chooses of what is there, and pads to no more."""
