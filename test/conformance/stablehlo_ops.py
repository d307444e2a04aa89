"""How many programs of JAX's ops, given as StableHLO text, compile and agree with JAX.

    python test/conformance/stablehlo_ops.py [pattern]

Prints what was refused and what is wrong, and the figures. What may be refused stands in
`stablehlo_refused.tsv`, a pattern of names and a part of the reason; anything else is an error.
"""

from __future__ import annotations

import sys
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from stablehlo_case import Case
from stablehlo_cases import cases

import lamina

REFUSED = Path(__file__).parent / "stablehlo_refused.tsv"

TOLERANCES: dict[str, tuple[float, float]] = {
    "bfloat16": (3e-2, 3e-2),
    "float16": (4e-3, 4e-3),
    "float32": (1e-4, 2e-5),
    "complex64": (2e-4, 5e-5),
    "float64": (1e-9, 1e-10),
    "complex128": (1e-9, 1e-10),
}
"""Relative, and absolute for results of about one: JAX rounds otherwise than Lamina, and sums in
another order. Other types are equal."""


class Outcome(NamedTuple):
    """What became of a case: `passed`, `refused`, `wrong`, `crashed`, or `skipped` if JAX has no
    answer; and why."""

    kind: str
    reason: str = ""


def judged(case: Case) -> Outcome:
    """Compiles and runs a case, and compares it with JAX."""
    try:
        lowered = jax.jit(case.function).lower(*case.args)
        expected = jax.tree.leaves(jax.jit(case.function)(*case.args))
    except (TypeError, ValueError, NotImplementedError) as error:
        return Outcome("skipped", str(error))
    try:
        got = jax.tree.leaves(lamina.compile(lowered)(*case.args))
    except lamina.LaminaError as error:
        return Outcome("refused", str(error))
    except Exception as error:
        return Outcome("crashed", f"{type(error).__name__}: {error}")
    for made, wanted in zip(got, expected, strict=True):
        fault = difference(np.asarray(made), np.asarray(wanted))
        if fault:
            return Outcome("wrong", fault)
    return Outcome("passed")


def difference(made: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> str:
    """How a result differs from the expected one; empty if it does not."""
    if made.shape != wanted.shape or made.dtype != wanted.dtype:
        return f"{made.dtype}{made.shape} where JAX has {wanted.dtype}{wanted.shape}"
    tolerance = TOLERANCES.get(wanted.dtype.name)
    if tolerance is None:
        return "" if np.array_equal(made, wanted) else f"{made} where JAX has {wanted}"
    kind = np.complex128 if wanted.dtype.kind == "c" else np.float64
    made, wanted = made.astype(kind), wanted.astype(kind)
    finite = np.abs(wanted[np.isfinite(wanted)])
    scale = max(1.0, float(finite.max())) if finite.size else 1.0
    relative, absolute = tolerance
    close = np.isclose(made, wanted, relative, absolute * min(scale, 1e6), equal_nan=True)
    return "" if close.all() else f"{made[~close][:4]} where JAX has {wanted[~close][:4]}"


def expected_refusals() -> list[tuple[str, str]]:
    """Patterns of names, and a part of the reason."""
    rows = [line.split("\t") for line in REFUSED.read_text().splitlines()]
    return [(row[0], row[1]) for row in rows if row[0] and not row[0].startswith("#")]


def is_expected(case: Case, outcome: Outcome) -> bool:
    """Whether a case passed, or was refused as recorded."""
    if outcome.kind in ("passed", "skipped"):
        return True
    recorded = (
        fnmatchcase(case.name, name) and reason in outcome.reason
        for name, reason in expected_refusals()
    )
    return outcome.kind == "refused" and any(recorded)


def main() -> int:
    """Runs all cases, or those whose names have a pattern in them."""
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    figures: Counter[str] = Counter()
    unexpected = 0
    with jax.enable_x64(True):
        for case in cases():
            if pattern not in case.name:
                continue
            outcome = judged(case)
            figures[outcome.kind] += 1
            as_recorded = is_expected(case, outcome)
            unexpected += not as_recorded
            if outcome.kind not in ("passed", "skipped"):
                mark = "" if as_recorded else " (not recorded)"
                print(f"{outcome.kind}{mark}: {case.name}\n    {outcome.reason[:400]}", flush=True)
    total = sum(figures.values()) - figures["skipped"]
    share = figures["passed"] / max(total, 1)
    print(f"{total} programs: {share:.1%} agree with JAX; {dict(figures)}")
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
