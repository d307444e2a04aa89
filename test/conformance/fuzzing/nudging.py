"""Eager mode with results that rounding may have made of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from fuzzing.definitions import defined
from fuzzing.values import COMPLEX, FLOATS
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

_EXACT = frozenset(
    [
        "clone",
        "copy_",
        "cat",
        "stack",
        "where",
        "index",
        "index_select",
        "gather",
        "scatter",
        "masked_fill",
        "fill_",
        "zero_",
        "neg",
        "abs",
        "sign",
        "amax",
        "amin",
        "max",
        "min",
        "maximum",
        "minimum",
        "clamp",
        "relu",
        "floor",
        "ceil",
        "round",
        "trunc",
        "sort",
        "topk",
        "median",
        "constant_pad_nd",
        "index_put_",
        "index_fill",
        "slice_scatter",
        "select_scatter",
        "diagonal_scatter",
        "flip",
        "roll",
        "tril",
        "triu",
        "embedding",
        "zeros_like",
        "ones_like",
        "full_like",
        "full",
        "zeros",
        "ones",
        "arange",
        "eye",
        "max_pool2d_with_indices",
        "repeat",
        "isnan",
        "nan_to_num",
        "lift_fresh",
        "view_as_real",
        "real",
        "imag",
        "conj",
    ]
)
"""Ops of ATen whose results are elements of their operands, or numbers: no rounding."""

_SIGNLESS = frozenset(
    [
        "native_batch_norm",
        "native_group_norm",
        "native_layer_norm",
        "convolution",
        "mm",
        "bmm",
        "addmm",
        "baddbmm",
        "fmax",
        "fmin",
        "clamp",
        "clamp_max",
        "clamp_min",
        "maximum",
        "minimum",
        "softshrink",
    ]
)
"""Ops whose zeros have either sign: that of `x * scale + shift` or that of `(x - mean) * scale`,
that of products that begin at 0, at the first term or at the bias, that of either operand, that of
0 or of `x * 0` (eager mode's vectors, and its loop for the rest of a row)."""

_SELECTIONS = frozenset(["kthvalue", "median", "nanmedian", "topk"])
"""Ops that choose among elements without an order of equal ones, which 0.0 and -0.0 are."""

_SUMS = frozenset(
    [
        *_SIGNLESS,
        "dot",
        "mean",
        "mv",
        "nansum",
        "sum",
        "_adaptive_avg_pool2d",
        "_cdist_forward",
        "_log_softmax",
        "_safe_softmax",
        "_scaled_dot_product_flash_attention_for_cpu",
        "_softmax",
        "_trilinear",
        "addcdiv",
        "addcmul",
        "avg_pool2d",
        "binary_cross_entropy_with_logits",
        "cumprod",
        "cumsum",
        "dist",
        "huber_loss",
        "index_add",
        "index_add_",
        "lerp",
        "linalg_vector_norm",
        "logcumsumexp",
        "logsumexp",
        "mse_loss",
        "prod",
        "scatter_add",
        "smooth_l1_loss",
        "std",
        "upsample_bicubic2d",
        "upsample_bilinear2d",
        "var",
        "var_mean",
    ]
)
"""Ops whose operands are moved, too: a sum may lose more digits than the last of its result.

Where all elements go the same way, a result of n terms moves by up to log2(n) units, which is what
sums by pairs may lose."""


class Nudging(TorchDispatchMode):
    """Moves what ops compute by at most one unit in the last place, zeros excepted.

    With odd seeds, all elements of a result go the same way: a function may err to one side in all
    of a range. With `defines`, ops are what `definitions` says.
    """

    def __init__(self, seed: int, *, defines: bool = False) -> None:
        super().__init__()
        self._random = torch.Generator().manual_seed(seed)
        self._together = seed % 2 == 1
        self._variant = seed // 2 % 4
        self._defines = defines

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        name = func._schema.name.partition("::")[2]
        kwargs = kwargs or {}
        is_exact = _is_exact(name, args, kwargs)
        if name in _SUMS or (name in ("add", "sub") and kwargs.get("alpha", 1) != 1):
            args = tree_map(self._moved, args)
        made = func(*args, **kwargs)
        if self._defines:
            meant = defined(func, args, kwargs, made, self._variant)
            made = made if meant is None else meant
        for value in _computed(func, made):
            if not is_exact:
                self._nudge(value, _units(name, args, value) if self._together else 1)
            if name in _SIGNLESS or name in _SELECTIONS:
                self._sign(value)
        return made

    def _moved(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.dtype not in (*FLOATS, *COMPLEX):
            return value
        moved = value.resolve_conj().clone(memory_format=torch.contiguous_format)
        self._nudge(moved)
        return moved

    def _nudge(self, value: torch.Tensor, units: int = 1) -> None:
        """Moves elements by at most so many units."""
        if value.dtype in COMPLEX:
            value = torch.view_as_real(value)
        if value.dtype not in FLOATS or 0 in value.stride():
            return
        shape = [1] * value.dim() if self._together else value.shape
        step = torch.randint(-units, units + 1, shape, generator=self._random).expand(value.shape)
        far = torch.where(step > 0, torch.inf, -torch.inf).to(value.dtype)
        unit = torch.nextafter(value, far) - value
        moved = value + step.abs() * unit
        stays = (step == 0) | (value == 0) | ~value.isfinite() | ~moved.isfinite()
        value.copy_(torch.where(stays, value, moved))

    def _sign(self, value: torch.Tensor) -> None:
        if value.dtype not in FLOATS or 0 in value.stride():
            return
        turns = (value == 0) & (torch.rand(value.shape, generator=self._random) < 0.5)
        value.copy_(torch.where(turns, -value, value))


def _computed(func: Any, made: Any) -> Iterator[torch.Tensor]:
    """The results of an op that it has computed or written: no views."""
    listed = made if isinstance(made, tuple | list) else (made,)
    for value, declared in zip(listed, func._schema.returns, strict=False):
        alias = declared.alias_info
        if isinstance(value, torch.Tensor) and (alias is None or alias.is_write):
            yield value


def _units(name: str, args: Sequence[Any], result: torch.Tensor) -> int:
    """By how many units in the last place a result may differ from another order's."""
    if name not in _SUMS:
        return 1
    given = max((v.numel() for v in tree_leaves(args) if isinstance(v, torch.Tensor)), default=1)
    return max(1, math.ceil(math.log2(max(given, 1) / max(result.numel(), 1) + 1)))


def _is_exact(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether an op rounds nothing that decides its result."""
    return (name in _EXACT and not _is_size(name, args)) or _floors(name, kwargs)


def _is_size(name: str, args: Sequence[Any]) -> bool:
    """Whether an op is |z| of complex numbers, which is a root."""
    return name == "abs" and args[0].dtype in COMPLEX


def _floors(name: str, kwargs: Mapping[str, Any]) -> bool:
    """Whether an op's last step rounds to an integer: what it was given decides, not its result."""
    return name == "floor_divide" or (name == "div" and kwargs.get("rounding_mode") is not None)


_BITS = {2: torch.int16, 4: torch.int32, 8: torch.int64}


class Joining(TorchDispatchMode):
    """Makes neighbouring numbers equal: what ops compute is rounded to an even last digit.

    Each number moves by at most a unit in the last place, as `Nudging` has it, but equal ones stay
    equal: a variance of numbers that only rounding tells apart may be 0. Those with an odd last
    digit all go away from zero with `up`, and towards it without.
    """

    def __init__(self, *, up: bool) -> None:
        super().__init__()
        self._up = up

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        made = func(*args, **kwargs)
        if not _is_exact(func._schema.name.partition("::")[2], args, kwargs):
            for value in _computed(func, made):
                self._join(torch.view_as_real(value) if value.dtype in COMPLEX else value)
        return made

    def _join(self, value: torch.Tensor) -> None:
        if value.dtype not in FLOATS or 0 in value.stride():
            return
        digits = value.contiguous().view(_BITS[value.element_size()])
        joined = ((digits + int(self._up)) & ~1).view(value.dtype)
        stays = (joined == 0) | ~value.isfinite() | ~joined.isfinite()
        value.copy_(torch.where(stays, value, joined))


class Widening(TorchDispatchMode):
    """Lets ops have operands of two float types, where one is that of arguments made wider.

    What is made half precision on the way is `dtype` instead, and so is what is made of nothing:
    composite ops compare the types of their operands before a mode sees them.
    """

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self._dtype = dtype
        self._default = torch.get_default_dtype()

    def __enter__(self) -> Widening:
        torch.set_default_dtype(self._dtype)
        return super().__enter__()

    def __exit__(self, *raised: Any) -> None:
        torch.set_default_dtype(self._default)
        super().__exit__(*raised)

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = dict(kwargs or {})
        if kwargs.get("dtype") in (torch.float16, torch.bfloat16):
            kwargs["dtype"] = self._dtype
        try:
            return func(*args, **kwargs)
        except (RuntimeError, TypeError, ValueError):
            given = [v for v in tree_leaves((args, kwargs)) if isinstance(v, torch.Tensor)]
            floats = {v.dtype for v in given if v.dtype in FLOATS}
            if len(floats) < 2 or any(a.alias_info for a in func._schema.arguments):
                raise
        widest = max(floats, key=lambda dtype: torch.finfo(dtype).bits)

        def widened(value: Any) -> Any:
            is_float = isinstance(value, torch.Tensor) and value.dtype in FLOATS
            return value.to(widest) if is_float else value

        args, kwargs = tree_map(widened, (args, kwargs))
        return func(*args, **kwargs)


class Rounding(TorchDispatchMode):
    """In a wider precision, rounds some results to a narrow one: those that leave a kernel are."""

    def __init__(self, narrow: torch.dtype, seed: int) -> None:
        super().__init__()
        self._narrow = narrow
        self._random = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        for value in _computed(func, made):
            turns = bool(torch.rand((), generator=self._random) < 0.5)
            if turns and value.dtype in FLOATS and 0 not in value.stride():
                value.copy_(value.to(self._narrow))
        return made
