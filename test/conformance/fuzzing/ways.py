"""The ways a program is run: exported and compiled, interpreted, through torch.compile.

There with sizes that are known, or open, and then on larger arguments, too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
import torch
from fuzzing.oracle import Results, of_threads, run
from fuzzing.program import Program
from torch._dynamo.exc import BackendCompilerFailed
from xdsl.dialects.builtin import ModuleOp

import lamina
from lamina.codegen.target import Target
from lamina.dialects.errors import LaminaError
from lamina.dialects.loop import GenericOp
from lamina.frontends.exported_program import import_exported_program
from lamina.lowering.pipeline import LAYERS
from lamina.runtime.entry import argument_slots, function_named
from lamina.runtime.interpreters import run_module
from lamina.runtime.layers import lower

MOST_POINTS = 100_000
"""Of loop nests: the interpreter of explicit loops takes some 50 us for each."""


class NoProgramError(Exception):
    """torch itself gives no graph of the program."""


@dataclass(frozen=True)
class Run:
    """What ran, on which arguments, and its results."""

    what: str
    program: Program
    results: Results


@dataclass(frozen=True)
class Way:
    """How a case is run: `front` is export, compile or open; `interpret` asks the layers, too.

    `turn` says which size is larger in another call of a program with open sizes, and by how much.
    """

    front: str
    target: str
    rounding: str
    interpret: bool
    turn: int

    @staticmethod
    def of(seed: int) -> Way:
        """The way of the case with that seed."""
        rng = random.Random(-1 - seed)
        targets = [name for name in ("x86-64-v3", "x86-64-v4") if Target.parse(name).runs_here()]
        return Way(
            rng.choice(["export", "export", "compile", "open"]),
            rng.choice(["host", "host", *targets]),
            rng.choice(["kernel", "kernel", "eager"]),
            rng.random() < 0.3,
            rng.randrange(1000),
        )

    def results(self, program: Program) -> Iterator[Run]:
        """One run after the other."""
        yield from (self._exported if self.front == "export" else self._compiled)(program)

    def _exported(self, program: Program) -> Iterator[Run]:
        try:
            with torch.no_grad():
                exported = torch.export.export(
                    program.module(), tuple(program.tensors()), strict=False
                )
        except Exception as error:
            raise NoProgramError(str(error)) from error
        compiled = lamina.compile(exported, cache=False, target=self.target, rounding=self.rounding)
        for threads in (2, 1):
            with of_threads(threads):
                results = run(program, program.tensors(), compiled)
                yield Run(f"{threads} threads", program, results)
        if self.interpret:
            yield from self._interpreted(program, exported)

    def _compiled(self, program: Program) -> Iterator[Run]:
        torch._dynamo.reset()
        is_open = self.front == "open"
        options: dict[str, Any] = {"cache": False, "rounding": self.rounding}
        options["target"] = self.target
        function: Callable[..., Any] = torch.compile(
            program.module(),
            backend="lamina",
            options=options,
            fullgraph=True,
            dynamic=True if is_open else None,
        )
        try:
            results = run(program, program.tensors(), function)
        except BackendCompilerFailed as error:
            if isinstance(error.inner_exception, LaminaError) or not _fails_in_torch(program):
                raise
            raise NoProgramError(f"AOTAutograd fails: {error.inner_exception}") from error
        yield Run("torch.compile", program, results)
        yield Run("a second call", program, run(program, program.tensors(), function))
        grown = program.grown(self.turn) if is_open else None
        if grown is not None:
            yield Run("a larger call", grown, run(grown, grown.tensors(), function))

    def _interpreted(self, program: Program, exported: Any) -> Iterator[Run]:
        imported = import_exported_program(exported)
        module = imported.module
        main = function_named(module, "main")
        assert main is not None
        inputs = iter(program.tensors())
        given = {
            slot.name: _to_numpy(
                next(inputs) if slot.kind == "input" else imported.constants[slot.name]
            )
            for slot in argument_slots(main)
        }
        for layer in LAYERS:
            lowered = module.clone()
            lower(lowered, "aten", layer, Target.parse(self.target), self.rounding)
            if layer == "fused" and _points(lowered) > MOST_POINTS:
                break
            made = run_module(lowered, {name: array.copy() for name, array in given.items()})
            results = [_to_torch(value) for value in made[: len(program.results)]]
            yield Run(f"the interpreter of {layer}", program, results)


def _points(module: ModuleOp) -> int:
    """How often the bodies of all loop nests run."""
    return sum(prod(op.extents) for op in module.walk() if isinstance(op, GenericOp))


def _to_numpy(tensor: torch.Tensor) -> np.ndarray:
    if tensor.dtype is torch.bfloat16:
        return tensor.contiguous().view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
    return tensor.contiguous().numpy()


def _to_torch(value: Any) -> torch.Tensor:
    array = np.array(value)
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _fails_in_torch(program: Program) -> bool:
    """Whether torch makes no graph of the program for its own back end either."""
    torch._dynamo.reset()
    try:
        run(program, program.tensors(), torch.compile(program.module(), backend="aot_eager"))
    except BackendCompilerFailed:
        return True
    return False
