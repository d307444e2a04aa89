"""`lamina-opt --verify-semantics`: what passes do to the results of a program, by running it.

The program runs in the interpreter of its layer, with seeded random arguments, in front of the
first pass and behind each.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from lamina.dialects.errors import InputError, LaminaError
from lamina.runtime.entry import Slot, function_named, result_slots
from lamina.runtime.interpreters import run_module
from lamina.tools.judged_types import judged_slots
from lamina.tools.lamina_run import arguments_of, given_slots, largest_difference

_BITS: Mapping[int, type[np.signedinteger]] = {2: np.int16, 4: np.int32, 8: np.int64}


class SemanticsObserver:
    """Compares results behind each pass with those in front of it, and with those of the input.

    What a pass changes is told on standard error, in units in the last place. A result that is
    further from the input's than `lamina-run --check` allows is an InputError that names the pass.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._begin: list[np.ndarray] | None = None
        self._before: list[np.ndarray] | None = None
        self._arguments: dict[str, np.ndarray] = {}
        self._slots: list[Slot] = []

    def between(self, ran: ModulePass | None, module: ModuleOp) -> None:
        """Runs the program; `ran` is the pass behind which it stands, None for the input."""
        if ran is None:
            self._arguments = arguments_of(given_slots(module, self._name), (), 0)
            main = function_named(module, "main")
            assert main is not None
            self._slots = judged_slots(module, result_slots(main))
            self._begin = self._before = self._run(module)
            return
        assert self._begin is not None and self._before is not None
        try:
            results = self._run(module)
        except LaminaError as error:
            reason = " ".join(str(error).split())
            print(f"pass '{ran.name}' leaves what cannot be run: {reason}", file=sys.stderr)
            return
        for slot, before, now in zip(self._slots, self._before, results, strict=False):
            if (change := difference(before, now)) is not None:
                print(f"pass '{ran.name}' changes {slot.name}{change}", file=sys.stderr)
        try:
            largest_difference(self._slots, results, self._begin)
        except InputError as error:
            said = str(error).removeprefix("check failed: ").replace("interpreter's", "input's")
            raise InputError(f"pass '{ran.name}' changes what the program means: {said}") from error
        self._before = results

    def _run(self, module: ModuleOp) -> list[np.ndarray]:
        arguments = {name: array.copy() for name, array in self._arguments.items()}
        made = run_module(module.clone(), arguments)
        return [np.asarray(value) for value in made[: len(self._slots)]]


def difference(before: np.ndarray, now: np.ndarray) -> str | None:
    """Where two results differ most, and by how much; None if they are the same."""
    if before.shape != now.shape:
        return f": its shape was {list(before.shape)}, and is {list(now.shape)}"
    apart = units_apart(before, now)
    if not apart.any():
        return None
    place: Sequence[int] = [int(i) for i in np.unravel_index(int(np.argmax(apart)), apart.shape)]
    most, count = apart[tuple(place)], int(np.count_nonzero(apart))
    unit = "units in the last place" if before.dtype.kind not in "biu" else "units"
    shown = "NaN against a number" if np.isinf(most) else f"{most:.0f} {unit}"
    values = f"{before[tuple(place)]} to {now[tuple(place)]}"
    return f"{place} by {shown} ({values}), and {count} of {before.size} elements"


def units_apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """How many numbers of their type lie between elements, as f64; infinite for one NaN.

    Of complex numbers, the larger of both parts; of integers, the difference.
    """
    if a.dtype.kind == "c":
        parts = [units_apart(getattr(a, part), getattr(b, part)) for part in ("real", "imag")]
        return np.maximum(*parts)
    if a.dtype.kind in "biu":
        return np.abs(a.astype(np.float64) - b.astype(np.float64))
    apart = np.abs(_ordered(a) - _ordered(b))
    alone = np.isnan(a) != np.isnan(b)
    apart = np.where(np.isnan(a) & np.isnan(b), 0.0, apart)
    return np.where(alone, np.inf, apart)


def _ordered(a: np.ndarray) -> np.ndarray:
    """The place of each float among those of its type, 0.0 and -0.0 at 0."""
    bits = np.asarray(a, order="C").view(_BITS[a.dtype.itemsize])
    least = np.iinfo(bits.dtype).min
    turned = np.where(bits < 0, least - bits, bits)
    return turned.astype(np.longdouble) if a.dtype.itemsize == 8 else turned.astype(np.float64)
