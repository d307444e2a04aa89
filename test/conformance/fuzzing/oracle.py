"""What results a program may have: those of eager mode, and those that rounding can make of them.

A random program may lose all its digits on the way, and then eager mode's result is one of many. So
where a result differs from eager mode's by more than torch's tolerance for its dtype, the program
is run again in eager mode many times, each op's results moved by at most one unit in the last
place, and once in each wider precision. Each element then has to lie between the least and the
largest of these, give or take the tolerance and half their distance; one that comes out the same
each time has to be that.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from fuzzing.program import Program
from fuzzing.values import COMPLEX, FLOATS
from torch.testing._comparison import default_tolerances
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

DRAWS = 24
"""Runs beside eager mode's: a comparison that the last bit decides goes either way in some."""

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
        "convolution",
        "mm",
        "bmm",
        "addmm",
        "baddbmm",
        "mv",
        "dot",
        "fmax",
        "fmin",
        "maximum",
        "minimum",
    ]
)
"""Ops whose zeros have either sign: that of `x * scale + shift` or that of `(x - mean) * scale`,
that of sums of products that begin at 0 or with the first product, that of either operand."""

_SUMS = frozenset(
    [*_SIGNLESS, "sum", "mean", "cumsum", "prod", "cumprod", "var", "std", "_trilinear"]
)
"""Ops whose operands are moved, too: a sum may lose more digits than the last of its result."""

Results = list[torch.Tensor]


def run(
    program: Program,
    tensors: Sequence[torch.Tensor],
    function: Callable[..., Any] | None = None,
) -> Results:
    """Results of a call, then the arguments as it leaves them."""
    given = list(tensors)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        made = (program.function() if function is None else function)(*given)
    made = made if isinstance(made, tuple | list) else (made,)
    return [value.detach().resolve_conj().resolve_neg().clone() for value in (*made, *given)]


class Oracle:
    """The results that `program` may have."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.eager = run(program, program.tensors())
        self._others: list[Results] | None = None

    def complaint(self, actual: Results) -> str | None:
        """What is wrong with `actual`, all results or those that are no arguments; or None."""
        if len(actual) not in (len(self.program.results), len(self.eager)):
            return f"{len(actual)} results, not {len(self.eager)}"
        wrong = [n for n in range(len(actual)) if not self._is_near(n, actual[n])]
        if not wrong:
            return None
        if self._others is None:
            self._others = self._beside()
        for n in wrong:
            found = self._outside(n, actual[n])
            if found is not None:
                return f"{self._name(n)}: {found}"
        return None

    def _name(self, n: int) -> str:
        names = [*self.program.results, *(f"{a} afterwards" for a in self.program.arguments)]
        return names[n]

    def _is_near(self, n: int, actual: torch.Tensor) -> bool:
        wanted = self.eager[n]
        if actual.dtype is not wanted.dtype or actual.shape != wanted.shape:
            return False
        rtol, atol = default_tolerances(wanted.dtype)
        return bool(torch.isclose(actual, wanted, rtol=rtol, atol=atol, equal_nan=True).all())

    def _beside(self) -> list[Results]:
        found: list[Results] = []
        for seed in range(DRAWS):
            tensors = self.program.tensors()
            with _Nudging(seed):
                found.append(run(self.program, tensors))
        for wider in (torch.float32, torch.float64):
            tensors = [_widened(value, wider) for value in self.program.tensors()]
            try:
                found.append(run(self.program, tensors))
            except (RuntimeError, TypeError, ValueError, IndexError):
                continue  # a line that asks for the dtype as it was
        return found

    def _outside(self, n: int, actual: torch.Tensor) -> str | None:
        wanted = self.eager[n]
        if actual.dtype is not wanted.dtype:
            return f"{wanted.dtype} in eager mode, {actual.dtype} here"
        if actual.shape != wanted.shape:
            return f"shape {list(wanted.shape)} in eager mode, {list(actual.shape)} here"
        assert self._others is not None
        others = [other[n] for other in self._others if other[n].shape == wanted.shape]
        if wanted.dtype in COMPLEX:
            # A product with an infinite part is not a number in either part, or infinite in one:
            # C leaves open which (annex G.3), as long as it is not finite.
            far = ~wanted.isfinite() & ~actual.isfinite()
            actual = torch.where(far, wanted, actual)
            parts = [torch.view_as_real(value) for value in (actual, wanted)]
            beside = [torch.view_as_real(other.to(wanted.dtype)) for other in others]
            return _outside(parts[0], parts[1], beside)
        return _outside(actual, wanted, others)


def _outside(
    actual: torch.Tensor, wanted: torch.Tensor, others: Sequence[torch.Tensor]
) -> str | None:
    rows = torch.stack([wanted.double(), *(other.double() for other in others)])
    mine = actual.double()
    if wanted.dtype in FLOATS:
        rtol, atol = default_tolerances(wanted.dtype)
        finite = rows.isfinite()
        low = rows.where(finite, torch.inf).amin(0)
        high = rows.where(finite, -torch.inf).amax(0)
        slack = atol + rtol * torch.maximum(low.abs(), high.abs()) + 0.5 * (high - low).abs()
        # What overflows in one run but in others not may be anything above.
        low = low.where(~(rows == -torch.inf).any(0), -torch.inf)
        high = high.where(~(rows == torch.inf).any(0), torch.inf)
        slack = slack.nan_to_num(0, 0, 0)
        fine = (mine >= low - slack) & (mine <= high + slack) & finite.any(0) & mine.isfinite()
        fine |= mine.isnan() & rows.isnan().any(0)
        fine |= mine.isinf() & (rows == mine).any(0)
    else:
        fine = (rows == mine).any(0)
    if bool(fine.all()):
        return None
    place = torch.nonzero(~fine)[0].tolist()
    at = tuple(place)
    spread = rows[(slice(None), *at)]
    return (
        f"element {place} is {actual[at].item()!r}, in eager mode {wanted[at].item()!r} "
        f"(from {spread.min().item():.9g} to {spread.max().item():.9g}); "
        f"{int((~fine).sum())} of {fine.numel()} elements"
    )


def _widened(value: torch.Tensor, wider: torch.dtype) -> torch.Tensor:
    if value.dtype is torch.complex64 and wider is torch.float64:
        return value.to(torch.complex128)
    if value.dtype in FLOATS and torch.finfo(value.dtype).bits < torch.finfo(wider).bits:
        return value.to(wider)
    return value


class _Nudging(TorchDispatchMode):
    """Moves what ops compute by at most one unit in the last place, zeros excepted."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        name = func._schema.name.partition("::")[2]
        if name in _SUMS and name not in _EXACT:
            args = tree_map(self._moved, args)
        made = func(*args, **(kwargs or {}))
        for value, declared in zip(_listed(made), func._schema.returns, strict=False):
            alias = declared.alias_info
            if not isinstance(value, torch.Tensor) or not (alias is None or alias.is_write):
                continue
            if name not in _EXACT:
                self._nudge(value)
            if name in _SIGNLESS:
                self._sign(value)
        return made

    def _moved(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.dtype not in (*FLOATS, *COMPLEX):
            return value
        moved = value.resolve_conj().clone(memory_format=torch.contiguous_format)
        self._nudge(moved)
        return moved

    def _nudge(self, value: torch.Tensor) -> None:
        if value.dtype in COMPLEX:
            value = torch.view_as_real(value)
        if value.dtype not in FLOATS or 0 in value.stride():
            return
        step = torch.randint(-1, 2, value.shape, generator=self._random)
        far = torch.where(step > 0, torch.inf, -torch.inf).to(value.dtype)
        stays = (step == 0) | (value == 0) | ~value.isfinite()
        value.copy_(torch.where(stays, value, torch.nextafter(value, far)))

    def _sign(self, value: torch.Tensor) -> None:
        if value.dtype not in FLOATS or 0 in value.stride():
            return
        turns = (value == 0) & (torch.rand(value.shape, generator=self._random) < 0.5)
        value.copy_(torch.where(turns, -value, value))


def _listed(made: Any) -> Sequence[Any]:
    return made if isinstance(made, tuple | list) else (made,)
