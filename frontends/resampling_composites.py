"""Resampling that tracing leaves to torch's own kernels' formula, and not to its decompositions.

Those interpolate by `a + (b - a) * w`, which is NaN between equal infinities and loses the smaller
of two numbers; the kernels, and the lowering of the ops, add `a * (1 - w)` and `b * w`.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

_ATEN = torch.ops.aten
_KEYS = (torch._C.DispatchKey.Autograd, torch._C.DispatchKey.CompositeImplicitAutograd)

KEPT: tuple[torch._ops.OpOverload, ...] = tuple(
    getattr(packet, overload)
    for packet in (
        _ATEN.upsample_linear1d,
        _ATEN.upsample_bilinear2d,
        _ATEN.upsample_trilinear3d,
        _ATEN.upsample_bicubic2d,
    )
    for overload in ("vec", "default")
)
"""The ops whose decompositions are left out."""


@contextmanager
def resampling_kept() -> Iterator[None]:
    """While it holds, tracing records the ops `KEPT`, which torch decomposes in Python."""
    saved = {op: dict(op.py_kernels) for op in KEPT}
    try:
        for op in KEPT:
            for key in _KEYS:
                op.py_kernels.pop(key, None)
            op._dispatch_cache.clear()
        yield
    finally:
        for op, kernels in saved.items():
            op.py_kernels.clear()
            op.py_kernels.update(kernels)
            op._dispatch_cache.clear()
