"""From when on repeated ops are worth a loop."""

from __future__ import annotations

LEAST_STEPS = 16
"""Steps of a repetition that become a loop, at least: fewer may fuse with what is around them, and
an op that is written out costs some milliseconds to compile, whose sum is below a second. Not
measured further."""
