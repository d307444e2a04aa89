"""The resamplings of torch: their names, and what all lowerings of them share."""

from __future__ import annotations

RANKS = {
    "upsample_nearest": (1, 2, 3),
    "_upsample_nearest_exact": (1, 2, 3),
    "upsample_linear": (1,),
    "upsample_bilinear": (2,),
    "upsample_trilinear": (3,),
    "upsample_bicubic": (2,),
}
"""For how many dimensions each is there."""

NAMES = tuple(f"{name}{rank}d" for name, ranks in RANKS.items() for rank in ranks)
"""Their packets."""

CUBIC = -0.75
"""Keys's parameter of cubic convolution, as torch has it."""
