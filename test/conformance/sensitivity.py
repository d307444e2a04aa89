"""Results that the last bit of an input decides: what eager mode gives for inputs just beside.

A softmax of logits near 7,000, for example, has no more than four digits in f32, whoever computes
it. Two roundings of the same products differ there by more than any tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

DRAWS = 8
"""Neighbouring inputs that are tried."""


def nudged(tensors: Sequence[torch.Tensor], seed: int) -> list[torch.Tensor]:
    """`tensors` with each real number left as it is or moved to the one above or below it."""
    generator = torch.Generator().manual_seed(seed)
    moved: list[torch.Tensor] = []
    for x in tensors:
        if not x.is_floating_point():
            moved.append(x.clone())
            continue
        step = torch.randint(-1, 2, x.shape, generator=generator)
        far = torch.where(step > 0, torch.inf, -torch.inf).to(x.dtype)
        moved.append(torch.where(step == 0, x, torch.nextafter(x, far)))
    return moved


def is_within_reach(
    exact: torch.Tensor,
    expected: torch.Tensor,
    actual: torch.Tensor,
    beside: Sequence[torch.Tensor],
    tolerances: tuple[float, float],
) -> bool:
    """Whether inputs one unit in the last place apart explain the error of `actual`.

    Two conditions. Eager mode's own result, `expected`, misses the `exact` one by more than the
    (rtol, atol) `tolerances`: they do not fit the problem. And no element of `actual` is further
    from the exact one than the furthest of the results `beside`, eager mode's for such inputs.
    """
    rtol, atol = tolerances
    missed = (expected - exact).abs() > atol + rtol * expected.abs()
    reach = torch.stack([(result - exact).abs() for result in beside]).amax(0)
    return bool(missed.any()) and bool(((actual - exact).abs() <= reach).all())
