"""What a few ops mean, for operands with which kernels of eager mode are at odds among themselves.

Each function computes an op from its definition, whatever kernel eager mode would take. It counts
only where eager mode's result or the definition's is infinite or no number, or where a sum of
squares overflows on the way:

- `convolution`: a window that hangs over the image meets zeros there, and an infinite weight times
  zero is not a number. Kernels of eager mode that copy the border have that, those that clip the
  window leave it out, and transposed ones multiply the zeros between elements, too. A result may
  be either.
- `fmod`, `remainder`: eager mode's vectors have no number where the quotient overflows; its loop
  for the rest of a row, as C, has the remainder.
- attention: eager mode takes a row of scores that are no numbers for a masked one, and gives 0,
  where it has fewer keys than a vector has lanes; kernels of bf16 do for an infinite score.
- sums of complex numbers: eager mode multiplies by a complex 1, and an infinite part leaves the
  other one no number.
- norms: where the squares overflow, eager mode has zeros or no numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from fuzzing.values import COMPLEX, FLOATS

Arguments = dict[str, Any]


def defined(func: Any, args: Sequence[Any], kwargs: dict[str, Any], made: Any, clips: bool) -> Any:
    """What `func` means, given what eager mode made of it; None where that is the same.

    With `clips`, windows are clipped to the image.
    """
    names = [argument.name for argument in func._schema.arguments]
    given: Arguments = {a.name: a.default_value for a in func._schema.arguments}
    given |= dict(zip(names, args, strict=False)) | kwargs
    define = _DEFINITIONS.get(func._schema.name.partition("::")[2])
    first = made[0] if isinstance(made, tuple | list) else made
    if define is None or not isinstance(first, torch.Tensor) or first.numel() == 0:
        return None
    meant = define(given, first, clips)
    if meant is None:
        return None
    if define is not _norm:
        odd = ~(_is_finite(meant) & _is_finite(first))
        meant = torch.where(odd, meant, first)
    return (meant, *made[1:]) if isinstance(made, tuple | list) else meant


def _is_finite(value: torch.Tensor) -> torch.Tensor:
    return value.isfinite()


def _convolution(a: Arguments, made: torch.Tensor, clips: bool) -> torch.Tensor | None:
    x, weight, groups = a["input"], a["weight"], a["groups"]
    if bool(x.isfinite().all()) and bool(weight.isfinite().all()):
        return None
    wide = torch.float32 if made.dtype.itemsize == 2 else made.dtype
    x, weight = x.to(wide), weight.to(wide)
    dims = weight.dim() - 2
    stride, padding, dilation = (_each(a[n], dims) for n in ("stride", "padding", "dilation"))
    own = x.unflatten(1, (groups, -1))
    kernel = weight.unflatten(0, (groups, -1))
    pattern = "ngc...,gco->ngo..." if a["transposed"] else "ngc...,goc->ngo..."
    total = made.new_zeros(made.shape, dtype=wide).unflatten(1, (groups, -1))
    for place in np.ndindex(*weight.shape[2:]):
        offsets = [at * d - p for at, d, p in zip(place, dilation, padding, strict=True)]
        # Along each dimension: which elements of the larger side meet those of the smaller one.
        large, small = (made, x) if a["transposed"] else (x, made)
        ranges = [
            _meeting(n, m, s, o)
            for n, m, s, o in zip(large.shape[2:], small.shape[2:], stride, offsets, strict=True)
        ]
        if any(low >= high for low, high in ranges):
            continue
        near = (..., *(slice(low, high) for low, high in ranges))
        far = (
            ...,
            *(
                slice(low * s + o, (high - 1) * s + o + 1, s)
                for (low, high), s, o in zip(ranges, stride, offsets, strict=True)
            ),
        )
        taps = kernel[(..., *place)]
        if a["transposed"]:
            total[far] += torch.einsum(pattern, own[near], taps)
        else:
            if not clips:
                total += torch.einsum("goc->go", 0 * taps)[None, ..., *[None] * dims].where(
                    _outside(made, ranges), torch.zeros((), dtype=wide)
                )
            total[near] += torch.einsum(pattern, own[far], taps)
    result = total.flatten(1, 2)
    if a["bias"] is not None:
        result = result + a["bias"].to(wide)[:, *[None] * dims]
    return result.to(made.dtype)


def _outside(made: torch.Tensor, ranges: Sequence[tuple[int, int]]) -> torch.Tensor:
    """Places of the result for which a window's element lies outside of the image."""
    outside = torch.ones(made.shape[2:], dtype=torch.bool)
    outside[tuple(slice(low, high) for low, high in ranges)] = False
    return outside


def _meeting(large: int, small: int, stride: int, offset: int) -> tuple[int, int]:
    """Range of n in [0, small) for which n * stride + offset is in [0, large)."""
    low = max(0, -(offset // stride))
    return low, max(low, min(small, (large - 1 - offset) // stride + 1))


def _each(values: Sequence[int], dims: int) -> list[int]:
    return list(values) * dims if len(values) == 1 else list(values)


def _operands(a: Arguments, made: torch.Tensor) -> tuple[Any, Any] | None:
    if made.dtype not in FLOATS:
        return None
    wide = torch.float64 if made.dtype is torch.float64 else torch.float32
    one, other = (torch.as_tensor(a[n]).to(made.dtype).to(wide) for n in ("self", "other"))
    return one.numpy(), other.numpy()


def _fmod(a: Arguments, made: torch.Tensor, clips: bool) -> torch.Tensor | None:
    operands = _operands(a, made)
    if operands is None:
        return None
    with np.errstate(all="ignore"):
        return torch.as_tensor(np.fmod(*operands)).to(made.dtype).expand(made.shape)


def _remainder(a: Arguments, made: torch.Tensor, clips: bool) -> torch.Tensor | None:
    operands = _operands(a, made)
    if operands is None:
        return None
    with np.errstate(all="ignore"):
        left = np.fmod(*operands)
        turns = (left != 0) & ((left < 0) != (operands[1] < 0))
        left = np.where(turns, left + operands[1], left)
    return torch.as_tensor(left).to(made.dtype).expand(made.shape)


def _attention(a: Arguments, made: torch.Tensor, clips: bool) -> torch.Tensor:
    return torch.ops.aten._scaled_dot_product_attention_math(
        a["query"],
        a["key"],
        a["value"],
        a["attn_mask"],
        a["dropout_p"],
        a["is_causal"],
        scale=a["scale"],
    )[0]


def _added(sign: int) -> Callable[[Arguments, torch.Tensor, bool], torch.Tensor | None]:
    def define(a: Arguments, made: torch.Tensor, clips: bool) -> torch.Tensor | None:
        if made.dtype not in COMPLEX or a.get("alpha") != 1:
            return None
        one, other = (torch.as_tensor(a[n]).to(made.dtype) for n in ("self", "other"))
        real = one.real + other.real if sign > 0 else one.real - other.real
        return torch.complex(real, one.imag + other.imag if sign > 0 else one.imag - other.imag)

    return define


def _norm(a: Arguments, made: torch.Tensor, clips: bool) -> torch.Tensor | None:
    """Norms in f64, where squares overflow in f32."""
    x = a["input"]
    if made.dtype is torch.float64 or bool((x.float() ** 2).sum().isfinite()):
        return None
    wide = {n: v.double() if isinstance(v, torch.Tensor) else v for n, v in a.items()}
    if "group" in a:
        parts = torch.nn.functional.group_norm(
            wide["input"].reshape(a["N"], a["C"], -1),
            a["group"],
            wide["weight"],
            wide["bias"],
            a["eps"],
        )
    else:
        parts = torch.nn.functional.layer_norm(
            wide["input"], a["normalized_shape"], wide["weight"], wide["bias"], a["eps"]
        )
    return parts.reshape(made.shape).to(made.dtype)


_DEFINITIONS: dict[str, Callable[[Arguments, torch.Tensor, bool], torch.Tensor | None]] = {
    "convolution": _convolution,
    "fmod": _fmod,
    "remainder": _remainder,
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
    "add": _added(1),
    "sub": _added(-1),
    "native_group_norm": _norm,
    "native_layer_norm": _norm,
}
