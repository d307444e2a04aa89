"""What a few ops mean, for operands with which kernels of eager mode are at odds among themselves.

Each function computes an op from its definition, whatever kernel eager mode would take. But for
norms, products (also of complex numbers), `gelu`, `ndtr`, `log_softmax`, `logaddexp` it counts only
where eager mode's result or the definition's is infinite or no number:

- `convolution`: a window that hangs over the image meets zeros there, and an infinite weight times
  zero is not a number. Kernels of eager mode that copy the border have that, those that clip the
  window leave it out, and transposed ones multiply the zeros between elements, too. A result may
  be either.
- `fmod`, `remainder`: eager mode's vectors have no number where the quotient overflows; its loop
  for the rest of a row, as C, has the remainder.
- attention: eager mode takes a row of scores that are no numbers for a masked one, and gives 0,
  where it has fewer keys than a vector has lanes; kernels of bf16 do for an infinite score. Scores
  may be scaled as they are made, or when some have overflowed.
- sums of complex numbers (`index_add` as well): eager mode multiplies by a complex 1, and an
  infinite part leaves the other one no number.
- `sinh`, `cosh`: kernels of eager mode overflow where their exponential does, before the result.
- `gelu`: kernels of eager mode for long rows have no number for infinity, and where 1 + tanh is
  0 for all digits that it has, zero for what is a small negative number. Units of the tangent near
  -1 are all digits of the sum.
- products of complex numbers: parts that cancel are what fused multiplications leave of them, or 0.
- `ndtr`: eager mode adds 1 to an error function, which leaves 0 of small shares. It is not an op of
  its own there (`Composites`).
- norms: where the squares overflow, eager mode has zeros or no numbers, and so may others. Of an
  element that is the mean it has the rounding of two products, which others may not have.
- means, and losses that are means: where the sum overflows, eager mode has infinity for a number.
- `vector_norm`, `dist`: where powers overflow, eager mode has infinity for a norm that is a number;
  its sums are those of few lanes. They are taken in f64.
- `prod`: of rows whose large factors overflow, and whose small ones underflow to zero, some orders
  make no number.
- products of matrices: eager mode adds up one column, or one row, term by term, and loses more than
  its own sums do; of bf16, with sums that fill no tile, it has no numbers where operands and sums
  are finite. These are taken in f64. Where terms of one sign overflow, a sum is infinite if they
  come first, with one rounding a term or with two.
- `log_softmax`: the logarithm of a total that begins with 1 is off by a unit of 1, which may be all
  digits of a result near 0. Totals are moved by a unit, either way.
- `logaddexp`: so are, near 0, units of the logarithm that is added to the larger number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from fuzzing.norm_definitions import Arguments, batch_norm, dist, norm, vector_norm
from fuzzing.product_definitions import factors, product
from fuzzing.values import COMPLEX, FLOATS
from torch.overrides import TorchFunctionMode


def defined(func: Any, args: Sequence[Any], kwargs: dict[str, Any], made: Any, variant: int) -> Any:
    """What `func` means, given what eager mode made of it; None where that is the same.

    With an odd `variant`, 0 to 3, borders of images are multiplied; with 0 and 1, norms whose
    squares overflow are no numbers, or zeros.
    """
    names = [argument.name for argument in func._schema.arguments]
    given: Arguments = {a.name: a.default_value for a in func._schema.arguments}
    given |= dict(zip(names, args, strict=False)) | kwargs
    define = _DEFINITIONS.get(func._schema.name.partition("::")[2])
    first = made[0] if isinstance(made, tuple | list) else made
    if define is None or not isinstance(first, torch.Tensor) or first.numel() == 0:
        return None
    meant = define(given, first, variant)
    if meant is None:
        return None
    if define not in _EVERYWHERE:
        odd = ~(_is_finite(meant) & _is_finite(first))
        meant = torch.where(odd, meant, first)
    return (meant, *made[1:]) if isinstance(made, tuple | list) else meant


def _is_finite(value: torch.Tensor) -> torch.Tensor:
    return value.isfinite()


def _convolution(a: Arguments, made: torch.Tensor, variant: int) -> torch.Tensor | None:
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
        taps = kernel[(..., *place)]
        if variant % 2 and not a["transposed"]:
            total += torch.einsum("goc->go", 0 * taps)[None, ..., *[None] * dims].where(
                _outside(made, ranges), torch.zeros((), dtype=wide)
            )
        if any(low >= high for low, high in ranges):  # the whole image is padding there
            continue
        near = (..., *(slice(low, high) for low, high in ranges))
        far = (
            ...,
            *(
                slice(low * s + o, (high - 1) * s + o + 1, s)
                for (low, high), s, o in zip(ranges, stride, offsets, strict=True)
            ),
        )
        if a["transposed"]:
            total[far] += torch.einsum(pattern, own[near], taps)
        else:
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
    # A number is one of f64, not of torch's default type.
    one, other = (
        (value if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=torch.float64))
        .to(made.dtype)
        .to(wide)
        for value in (a["self"], a["other"])
    )
    return one.numpy(), other.numpy()


def _fmod(a: Arguments, made: torch.Tensor, variant: int) -> torch.Tensor | None:
    operands = _operands(a, made)
    if operands is None:
        return None
    with np.errstate(all="ignore"):
        return torch.as_tensor(np.fmod(*operands)).to(made.dtype).expand(made.shape)


def _remainder(a: Arguments, made: torch.Tensor, variant: int) -> torch.Tensor | None:
    operands = _operands(a, made)
    if operands is None:
        return None
    with np.errstate(all="ignore"):
        left = np.fmod(*operands)
        turns = (left != 0) & ((left < 0) != (operands[1] < 0))
        left = np.where(turns, left + operands[1], left)
    return torch.as_tensor(left).to(made.dtype).expand(made.shape)


def _attention(a: Arguments, made: torch.Tensor, variant: int) -> torch.Tensor:
    query, key, scale = a["query"], a["key"], a["scale"]
    if variant % 2 and query.shape[-3] == key.shape[-3]:
        wide = torch.float32 if made.dtype.itemsize == 2 else made.dtype
        scale = query.shape[-1] ** -0.5 if scale is None else scale
        scores = (query.to(wide) @ key.to(wide).mT) * scale
        if a["is_causal"]:
            after = torch.ones_like(scores, dtype=torch.bool).triu(1)
            scores = scores.masked_fill(after, -torch.inf)
        if a["attn_mask"] is not None:
            scores = scores + a["attn_mask"]
        return (scores.softmax(-1) @ a["value"].to(wide)).to(made.dtype)
    return torch.ops.aten._scaled_dot_product_attention_math(
        a["query"],
        a["key"],
        a["value"],
        a["attn_mask"],
        a["dropout_p"],
        a["is_causal"],
        scale=a["scale"],
    )[0]


def _added(sign: int) -> Callable[[Arguments, torch.Tensor, int], torch.Tensor | None]:
    def define(a: Arguments, made: torch.Tensor, variant: int) -> torch.Tensor | None:
        if made.dtype not in COMPLEX or a.get("alpha") != 1:
            return None
        one, other = (torch.as_tensor(a[n]).to(made.dtype) for n in ("self", "other"))
        real = one.real + other.real if sign > 0 else one.real - other.real
        return torch.complex(real, one.imag + other.imag if sign > 0 else one.imag - other.imag)

    return define


def _index_added(a: Arguments, made: torch.Tensor, variant: int) -> torch.Tensor | None:
    if made.dtype not in COMPLEX or a["alpha"] != 1:
        return None
    one, other = (torch.atleast_1d(a[n]) for n in ("self", "source"))
    dim, index = a["dim"] % one.dim(), a["index"].reshape(-1)
    real = one.real.index_add(dim, index, other.real)
    return torch.complex(real, one.imag.index_add(dim, index, other.imag)).reshape(made.shape)


def _complex_product(a: Arguments, made: torch.Tensor, variant: int) -> torch.Tensor | None:
    """Without the parts, of half the elements, in which no digit of the product is left."""
    if made.dtype not in COMPLEX:
        return None
    parts = torch.view_as_real(made.resolve_conj().clone())
    least = 4 * torch.finfo(parts.dtype).eps * made.abs()[..., None]
    goes = (parts.abs() <= least) & (torch.rand(parts.shape) < 0.5)
    return torch.view_as_complex(torch.where(goes, 0, parts))


def _gelu(a: Arguments, made: torch.Tensor, variant: int) -> torch.Tensor:
    """x times the share of a distribution below x, in a form that keeps the digits of its tail.

    With an odd variant, of half the elements: a tail may begin anywhere.
    """
    x = a["self"].double()
    if a["approximate"] == "tanh":
        below = torch.sigmoid(2 * (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3))
    else:
        below = _share_below(x)
    if a["approximate"] == "tanh" and variant > 1:
        tangent = (2 * below - 1).to(made.dtype)
        units = torch.randint(-2, 3, tangent.shape) * torch.finfo(made.dtype).eps / 2
        below = ((1 + tangent + units.to(made.dtype)) / 2).double()
    zero = torch.zeros((), dtype=torch.float64)
    meant = torch.where(below == 0, torch.copysign(zero, x), x * below).to(made.dtype)
    half = torch.rand(x.shape) < 0.5  # another half in each run
    return torch.where(half, made, meant) if variant % 2 else meant


def _share_below(x: torch.Tensor) -> torch.Tensor:
    """The share of the standard normal distribution below x, with the digits of its tail."""
    return torch.erfc(-x / 2**0.5) / 2


def _widely(function: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """A function of one tensor, computed in f64."""

    return lambda a, made, variant: (
        function(a["self"].double()).to(made.dtype) if made.dtype in FLOATS else None
    )


def _mean(a: Arguments, made: torch.Tensor, variant: int) -> torch.Tensor | None:
    if made.dtype not in FLOATS:
        return None
    dims, keepdim = a.get("dim"), a.get("keepdim", False)
    return a["self"].double().mean(dims, keepdim).to(made.dtype)


def _binary_cross_entropy(a: Arguments, made: torch.Tensor, variant: int) -> torch.Tensor | None:
    if made.dtype not in FLOATS:
        return None
    names = ("self", "target", "weight", "pos_weight")
    given = [None if a[name] is None else a[name].double() for name in names]
    return torch.ops.aten.binary_cross_entropy_with_logits(*given, a["reduction"]).to(made.dtype)


def _log_softmax(a: Arguments, made: torch.Tensor, variant: int) -> torch.Tensor | None:
    x, dim = a["self"], a["dim"]
    if x.dtype not in FLOATS or x.dim() == 0:
        return None
    wide = torch.float32 if x.dtype.itemsize == 2 else x.dtype
    shifted = x.to(wide) - x.to(wide).amax(dim, keepdim=True)
    total = shifted.exp().sum(dim, keepdim=True)
    end = torch.tensor(torch.inf if variant % 2 else 1.0, dtype=wide)
    return (shifted - torch.nextafter(total, end).log()).to(made.dtype)


def _logaddexp(a: Arguments, made: torch.Tensor, variant: int) -> torch.Tensor | None:
    """The larger one and a logarithm that is off by one or two of its units, either way."""
    if made.dtype not in FLOATS:
        return None
    wide = torch.float32 if made.dtype.itemsize == 2 else made.dtype
    one, other = a["self"].to(wide), a["other"].to(wide)
    more = (-(one - other).abs()).exp().log1p()
    end = torch.tensor(torch.inf if variant % 2 else 0.0, dtype=wide)
    for _ in range(1 + variant // 2):
        more = torch.nextafter(more, end)
    meant = (torch.maximum(one, other) + more).to(made.dtype)
    return torch.where(made.isfinite() & meant.isfinite(), meant, made)


_DEFINITIONS: dict[str, Callable[[Arguments, torch.Tensor, int], torch.Tensor | None]] = {
    "convolution": _convolution,
    "binary_cross_entropy_with_logits": _binary_cross_entropy,
    "bmm": product,
    "dist": dist,
    "dot": product,
    "fmod": _fmod,
    "mean": _mean,
    "mm": product,
    "mul": _complex_product,
    "mv": product,
    "prod": factors,
    "remainder": _remainder,
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
    "add": _added(1),
    "addmm": product,
    "addmv": product,
    "baddbmm": product,
    "cosh": _widely(torch.cosh),
    "gelu": _gelu,
    "index_add": _index_added,
    "_log_softmax": _log_softmax,
    "logaddexp": _logaddexp,
    "sinh": _widely(torch.sinh),
    "linalg_vector_norm": vector_norm,
    "sub": _added(-1),
    "native_batch_norm": batch_norm,
    "native_group_norm": norm,
    "native_layer_norm": norm,
}

_EVERYWHERE = (
    batch_norm,
    _complex_product,
    _gelu,
    _log_softmax,
    _logaddexp,
    norm,
    product,
    dist,
    vector_norm,
)
"""Definitions that count for all elements, not only where a result is not finite."""


class Composites(TorchFunctionMode):
    """Functions that eager mode makes of several ops, as others that keep their digits."""

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if func is torch.special.ndtr:
            return _share_below(*args)
        return func(*args, **(kwargs or {}))
