"""Ops that tracing leaves to torch's own kernels' formula, and not to its decompositions.

Those of resampling interpolate by `a + (b - a) * w`, which is NaN between equal infinities and
loses the smaller of two numbers; the kernels, and the lowering of the ops, add `a * (1 - w)` and
`b * w`. Those of the nearest element look it up by a table of places for each dimension, of which
nothing says that they end at the sizes of a call.
That of `multilabel_margin_loss` adds the margin to class 0 once for each label behind the first -1.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

import torch
from torch._decomp.decompositions import upsample_compute_output_size

_ATEN = torch.ops.aten
_INSTANCE_NORM = _ATEN.instance_norm.default
_KEYS = (torch._C.DispatchKey.Autograd, torch._C.DispatchKey.CompositeImplicitAutograd)

KEPT: tuple[torch._ops.OpOverload, ...] = (
    _ATEN.multilabel_margin_loss_forward.default,
    *(
        getattr(packet, overload)
        for packet in (
            _ATEN.upsample_linear1d,
            _ATEN.upsample_bilinear2d,
            _ATEN.upsample_trilinear3d,
            _ATEN.upsample_bicubic2d,
            _ATEN.upsample_nearest1d,
            _ATEN.upsample_nearest2d,
            _ATEN.upsample_nearest3d,
            _ATEN._upsample_nearest_exact1d,
            _ATEN._upsample_nearest_exact2d,
            _ATEN._upsample_nearest_exact3d,
        )
        for overload in ("vec", "default")
    ),
)
"""The ops whose decompositions are left out."""


@contextmanager
def composites_kept() -> Iterator[None]:
    """While it holds, tracing records the ops `KEPT`, which torch decomposes in Python."""
    saved = {op: dict(op.py_kernels) for op in (*KEPT, _INSTANCE_NORM)}
    try:
        for op in KEPT:
            for key in _KEYS:
                op.py_kernels.pop(key, None)
            if op._overloadname == "vec":
                op.py_kernels[_KEYS[1]] = _of_sizes(op)
            op._dispatch_cache.clear()
        _INSTANCE_NORM.py_kernels[_KEYS[1]] = _instance_norm
        _INSTANCE_NORM._dispatch_cache.clear()
        yield
    finally:
        for op, kernels in saved.items():
            op.py_kernels.clear()
            op.py_kernels.update(kernels)
            op._dispatch_cache.clear()


def _of_sizes(op: torch._ops.OpOverload) -> Callable[..., torch.Tensor]:
    """The overload `vec` by `default`, as torch's own does it, which takes no symbolic sizes."""
    whole = op._overloadpacket.default

    def call(image: torch.Tensor, output_size: Sequence[int] | None, *options: Any) -> torch.Tensor:
        *corners, scale_factors = options  # those of the nearest element have no `align_corners`
        sizes: Any = upsample_compute_output_size(image.size(), output_size, scale_factors)
        scales = scale_factors or [None] * len(sizes)
        return whole(image, sizes, *corners, *scales)

    return call


def _instance_norm(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    mean: torch.Tensor | None,
    variance: torch.Tensor | None,
    use_input_stats: bool,
    *options: Any,
) -> torch.Tensor:
    """Instance norm as that of groups of one channel, or by what has been learnt as batch norm.

    Torch joins samples and channels, of which there are an open number then.
    """
    momentum, eps, _ = options  # the last one says whether cuDNN may be used
    factors = [value for value in (weight, bias) if value is not None]
    if not use_input_stats:
        return torch.batch_norm(x, weight, bias, mean, variance, False, momentum, eps, False)
    if mean is not None or variance is not None or any(v.dtype != x.dtype for v in factors):
        given = [x, weight, bias, mean, variance, use_input_stats, *options]
        return _INSTANCE_NORM._op_dk(_KEYS[1], *given)  # torch's own
    samples, channels, *image = x.shape
    found = _ATEN.native_group_norm.default(
        x.contiguous(), weight, bias, samples, channels, prod(image), channels, eps
    )
    return found[0]
