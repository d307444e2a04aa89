"""Results whose dtype torch itself does not settle.

With half inputs and f32 parameters or statistics, as autocast makes them, torch's CPU kernels save
statistics in f32, and some of its shape functions, from which the dtypes of a traced graph come,
say that they are half floats; for gradients it is the other way round in places. Result rules say
what the kernels do; a program may say either, and gets it.
"""

from __future__ import annotations

from collections.abc import Mapping

_STATISTICS = (1, 2)
_RUNNING = (1, 2, 3, 4)

UNSETTLED: Mapping[str, tuple[int, ...]] = {
    "_batch_norm_no_update.default": _STATISTICS,
    "_batch_norm_with_update.default": _STATISTICS,
    "_batch_norm_with_update_functional.default": (*_STATISTICS, 4, 5),
    "_fused_rms_norm.default": (1,),
    "_fused_rms_norm_backward.default": (1,),
    "_native_batch_norm_legit.default": _STATISTICS,
    "_native_batch_norm_legit.no_stats": _STATISTICS,
    "_native_batch_norm_legit_functional.default": _RUNNING,
    "_native_batch_norm_legit_no_training.default": _STATISTICS,
    "native_batch_norm.default": _STATISTICS,
    "native_batch_norm_backward.default": _STATISTICS,
    "native_group_norm.default": _STATISTICS,
    "native_group_norm_backward.default": (0, 1, 2),
    "native_layer_norm.default": _STATISTICS,
    "native_layer_norm_backward.default": _STATISTICS,
}
"""Places of these results, by name and overload."""
