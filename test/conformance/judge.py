"""Whether two results of a program are the same, as torch's own tests would say.

Tolerances are those of `torch.testing.assert_close` for the dtype. Where the database records a
looser one for a test that compares values computed on the CPU, that one holds instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.testing._comparison import default_tolerances
from torch.utils import _pytree as pytree

_COMPARING_TESTS = frozenset(
    {
        "TestCommon",
        "TestDecomp",
        "TestUnaryUfuncs",
        "TestBinaryUfuncsDevice",
        "TestBinaryUfuncs",
        "TestReductions",
        "TestMasked",
        "TestModule",
        "TestEagerFusionOpInfo",
        "TestNNCOpInfo",
        "TestJit",
        None,
    }
)
"""Test classes of torch that compare forward results; no gradients, no other devices."""

_WIDER = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64}
_WIDER_COMPLEX = {torch.complex64: torch.complex128}


def tolerances(info: Any, dtype: torch.dtype) -> tuple[float, float]:
    """(rtol, atol) for results of that dtype of an op or module of the databases."""
    rtol, atol = default_tolerances(dtype)
    for override in _overrides(info):
        if dtype in override.d:
            rtol = max(rtol, override.d[dtype].rtol)
            atol = max(atol, override.d[dtype].atol)
    return rtol, atol


def _overrides(info: Any) -> list[Any]:
    found: list[Any] = []
    for decorator in info.decorators or ():
        on_cpu = getattr(decorator, "device_type", None) in (None, "cpu")
        if on_cpu and getattr(decorator, "cls_name", None) in _COMPARING_TESTS:
            found += getattr(decorator, "decorators", [decorator])
    return [one for one in found if type(one).__name__ == "toleranceOverride"]


def difference(expected: Any, actual: Any, info: Any, *, values: bool) -> str | None:
    """What differs between two results, or None; without `values`, shapes and dtypes only."""
    wanted, wanted_spec = pytree.tree_flatten(expected)
    given, given_spec = pytree.tree_flatten(actual)
    if len(wanted) != len(given):
        return f"{len(wanted)} results in eager mode, {len(given)} compiled"
    if not _same_nesting(wanted_spec, given_spec):
        return f"results {wanted_spec} in eager mode, {given_spec} compiled"
    for n, (one, other) in enumerate(zip(wanted, given, strict=True)):
        found = _leaf_difference(one, other, info, values)
        if found is not None:
            return f"result {n}: {found}" if len(wanted) > 1 else found
    return None


def _same_nesting(one: Any, other: Any) -> bool:
    return one.num_leaves == other.num_leaves and one.num_nodes == other.num_nodes


def _leaf_difference(one: Any, other: Any, info: Any, values: bool) -> str | None:
    if not isinstance(one, torch.Tensor):
        if type(one) is not type(other):
            return f"a {type(one).__name__} in eager mode, a {type(other).__name__} compiled"
        if not values or one == other or (one != one and other != other):
            return None
        if not isinstance(one, float | complex):
            return f"{one} in eager mode, {other} compiled"
        return _leaf_difference(torch.tensor(one), torch.tensor(other), info, values)
    if not isinstance(other, torch.Tensor):
        return f"a tensor in eager mode, a {type(other).__name__} compiled"
    if one.dtype != other.dtype:
        return f"{one.dtype} in eager mode, {other.dtype} compiled"
    if one.shape != other.shape:
        return f"shape {list(one.shape)} in eager mode, {list(other.shape)} compiled"
    if not values:
        return None
    rtol, atol = tolerances(info, one.dtype)
    try:
        torch.testing.assert_close(
            other.detach().resolve_conj().resolve_neg(),
            one.detach().resolve_conj().resolve_neg(),
            rtol=rtol,
            atol=atol,
            equal_nan=True,
            check_stride=False,
        )
    except AssertionError as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        return " ".join(lines[:4])
    return None


def widened(value: Any) -> Any:
    """`value` with its tensors in double precision; others as they are."""
    wider = {**_WIDER, **_WIDER_COMPLEX}
    return pytree.tree_map(
        lambda leaf: (
            leaf.to(wider.get(leaf.dtype, leaf.dtype)) if isinstance(leaf, torch.Tensor) else leaf
        ),
        value,
    )


def is_no_worse(exact: Any, expected: Any, actual: Any, info: Any) -> bool:
    """Whether no result of `actual` is further from the `exact` ones than eager mode's own.

    The rule of torch's tests of decompositions: where eager mode itself is off by more than the
    tolerance, the comparison is with double precision, by the largest error of a tensor. Where that
    one is larger than eager mode's, each element that the tolerance does not admit has to be nearer
    to the exact one than eager mode's is. NaN and infinity stand where eager's do.
    """
    for truth, one, other in zip(*map(_tensors, (exact, expected, actual)), strict=True):
        if not one.is_floating_point() and not one.is_complex():
            if not torch.equal(one, other):
                return False
            continue
        for part in _parts(one):
            if not _finite_alike(part(one), part(other)):
                return False
        finite = torch.isfinite(one) & torch.isfinite(truth)
        mine, theirs = ((value.to(truth.dtype) - truth)[finite].abs() for value in (other, one))
        if not mine.numel() or mine.max() <= theirs.max():
            continue
        rtol, atol = tolerances(info, one.dtype)
        apart = (other - one)[finite].abs() > atol + rtol * one[finite].abs()
        if (apart & (mine > theirs)).any():
            return False
    return True


def _parts(x: torch.Tensor) -> list[Callable[[torch.Tensor], torch.Tensor]]:
    return [torch.real, torch.imag] if x.is_complex() else [lambda value: value]


def _finite_alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    if not torch.equal(one.isnan(), other.isnan()):
        return False
    infinite = one.isinf()
    return torch.equal(infinite, other.isinf()) and torch.equal(one[infinite], other[infinite])


def _tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]
