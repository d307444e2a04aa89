"""What results a program may have: those of eager mode, and those that rounding can make of them.

A random program may lose all its digits on the way, and then eager mode's result is one of many. So
where a result differs from eager mode's by more than torch's tolerance for its dtype, the program
is run again in eager mode many times, each op's results moved by at most one unit in the last
place, in some runs by the definition of ops with which eager mode is at odds with itself
(`definitions`), in two with neighbouring numbers made equal, and in each wider precision, once as
it is, some times moved there, and for half floats some times with part of the results rounded, as
those that leave a kernel are. Each element then has to lie between the least and the largest of
these, give or take the tolerance and their distance (where eager mode errs to one side of the
truth, others may err to the other); one that comes out the same each time has to be that, and one
at a pole may be anything. An integer has to be one of these, unless there are several: the place of
the least of values without digits, or that of such a value between borders, may be anywhere
between.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from fuzzing.definitions import Composites
from fuzzing.nudging import Joining, Nudging, Rounding, Widening
from fuzzing.program import Program
from fuzzing.values import COMPLEX, FLOATS
from torch.testing._comparison import default_tolerances

DRAWS = 24
"""Runs beside eager mode's: a comparison that the last bit decides goes either way in some."""

DRAWS_BY_DEFINITION = 96
"""More of them, in which ops are what `definitions` says where kernels of eager mode differ: some
for half the elements, and each pair of elements is to be seen in each of its four ways."""

DRAWS_WIDER = 8
"""More of them in each wider precision: a sum that cancels has either sign there, too."""

DRAWS_ROUNDED = 48
"""More of them with half floats rounded in part: of two that differ by the rounding of one, any
result between none and a unit of the narrow type may come."""

ANYWHERE = 3
"""So many different integers in these runs, and it may be any between."""

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


@contextmanager
def of_threads(count: int) -> Iterator[None]:
    """So many threads of torch."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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
            with of_threads(1):  # a team of two would wait for each op on loaded cores
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
        for seed in range(DRAWS + DRAWS_BY_DEFINITION):
            tensors = self.program.tensors()
            defines = seed >= DRAWS
            with Nudging(seed, defines=defines), Composites() if defines else nullcontext():
                try:
                    found.append(run(self.program, tensors))
                except RuntimeError:
                    if not defines:
                        raise
                    break  # a view of what a definition gives other strides than eager mode does
        for up in (False, True):
            with Joining(up=up):
                found.append(run(self.program, self.program.tensors()))
        seeds = (None, *range(0, 2 * DRAWS_WIDER, 2))  # even: each element its own way
        for wider in (torch.float32, torch.float64):
            try:
                found += [self._wider(wider, seed) for seed in seeds]
                for narrow in self._halves() if wider is torch.float32 else ():
                    found += [self._wider(wider, seed, narrow) for seed in range(DRAWS_ROUNDED)]
            except (RuntimeError, TypeError, ValueError, IndexError):
                continue  # a line that asks for the dtype as it was
        return found

    def _halves(self) -> set[torch.dtype]:
        """The types of 16 bits that arguments have."""
        given = {value.dtype for value in self.program.tensors()}
        return given & {torch.float16, torch.bfloat16}

    def _wider(
        self, dtype: torch.dtype, seed: int | None, narrow: torch.dtype | None = None
    ) -> Results:
        """Results in a wider precision; moved there, with a seed, or some of them made `narrow`."""
        tensors = [_widened(value, dtype) for value in self.program.tensors()]
        moved = nullcontext() if seed is None else Nudging(seed)
        if narrow is not None and seed is not None:
            moved = Rounding(narrow, seed)
        with Widening(dtype), moved:
            return run(self.program, tensors)

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
        slack = atol + rtol * torch.maximum(low.abs(), high.abs()) + (high - low).abs()
        # What overflows in one run but in others not may be anything above.
        low = low.where(~(rows == -torch.inf).any(0), -torch.inf)
        high = high.where(~(rows == torch.inf).any(0), torch.inf)
        slack = slack.nan_to_num(0, 0, 0)
        fine = (mine >= low - slack) & (mine <= high + slack) & finite.any(0) & mine.isfinite()
        fine |= _is_pole(rows, wanted.dtype) & ~mine.isnan()
        fine |= mine.isnan() & rows.isnan().any(0)
        stored = rows.to(wanted.dtype).double()  # what a wider precision has may not fit
        fine |= mine.isinf() & (stored == mine).any(0)
    else:
        fine = (rows == mine).any(0)
        different = 1 + (rows.sort(0).values.diff(dim=0) != 0).sum(0)
        fine |= (different >= ANYWHERE) & (mine >= rows.amin(0)) & (mine <= rows.amax(0))
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


def _is_pole(rows: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Where a value without digits is divided by: runs have both signs and sizes of any order.

    What is between runs is then no measure: the nearer a run comes to the pole, the larger it is.
    Of a sum that cancels, no two sizes other than 0 are further apart than a unit of its dtype.
    """
    sizes = rows.abs().where(rows.isfinite() & (rows != 0), torch.nan)
    largest = sizes.nan_to_num(0).amax(0)
    apart = largest * torch.finfo(dtype).eps > sizes.nan_to_num(torch.inf).amin(0)
    return apart & (rows > 0).any(0) & (rows < 0).any(0)


def _widened(value: torch.Tensor, wider: torch.dtype) -> torch.Tensor:
    if value.dtype is torch.complex64 and wider is torch.float64:
        return value.to(torch.complex128)
    if value.dtype in FLOATS and torch.finfo(value.dtype).bits < torch.finfo(wider).bits:
        return value.to(wider)
    return value
