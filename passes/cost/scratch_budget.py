"""How many bytes of scratch a task may take, and the shares of it that others go by."""

from __future__ import annotations

from lamina.codegen.target import STACK_BYTES
from lamina.passes.cost.product_limits import LEAST_BLOCK

SCRATCH_BYTES = STACK_BYTES
"""Bytes that what a schedule says may make a task take. A kernel that takes more whatever its
schedule, as one of long rows does, may have as much as the chosen schedule takes: `plan-scratch`
puts that into the arena."""
MAX_ROW_BYTES = SCRATCH_BYTES // 4
"""Scratch, in bytes, of a row of a kernel that fusion forms, at most."""
MAX_PRODUCT_ROW_BYTES = SCRATCH_BYTES // 2 // LEAST_BLOCK
"""The same beside products, whose tasks keep `LEAST_BLOCK` rows or more."""
