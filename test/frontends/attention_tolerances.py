"""How near attention is to eager mode's, relative and absolute, by element type.

Results are means of standard normal values, mostly below 1. Half floats differ by the places at
which the two round: eager mode rounds scores and weights, which are computed in f32 here, so that
results differ by some units in the last place of numbers below 2 (f16 2^-10, bf16 2^-7).
"""

import torch

TOLERANCES = {
    torch.float64: 1e-12,
    torch.float32: 2e-5,
    torch.float16: 4 * 2.0**-10,
    torch.bfloat16: 4 * 2.0**-7,
}
