"""Explicit loops over NumPy: `scf` and `cf.assert`. Parallel loops run in order."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects import cf, scf
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    ReturnedValues,
    TerminatorValue,
    impl,
    impl_terminator,
    register_impls,
)

from lamina.dialects.errors import ExecutionError, InputError


@register_impls
class ControlFunctions(InterpreterFunctions):
    """xDSL interpreter functions of `scf` and `cf.assert`."""

    @impl(scf.ForOp)
    def for_loop(self, interpreter: Interpreter, op: scf.ForOp, args: PythonValues) -> Any:
        low, high, step, *carried = args
        if int(step) < 1:
            raise InputError(f"scf.for: its step is {step}; it has to be positive")
        for index in range(int(low), int(high), int(step)):
            given = (np.int64(index), *carried)
            carried = interpreter.run_ssacfg_region(op.body, given, "scf.for")
        return tuple(carried)

    @impl(scf.ParallelOp)
    def parallel(self, interpreter: Interpreter, op: scf.ParallelOp, args: PythonValues) -> Any:
        count = len(op.lowerBound)
        if any(int(step) < 1 for step in args[2 * count : 3 * count]):
            raise InputError("scf.parallel: a step is not positive")
        bounds = [range(*map(int, args[n : 3 * count : count])) for n in range(count)]
        for position in np.ndindex(*map(len, bounds)):
            given = tuple(np.int64(r[i]) for r, i in zip(bounds, position, strict=True))
            interpreter.run_ssacfg_region(op.body, given, "scf.parallel")
        return ()

    @impl(scf.IfOp)
    def branch(self, interpreter: Interpreter, op: scf.IfOp, args: PythonValues) -> Any:
        region = op.true_region if args[0] else op.false_region
        return interpreter.run_ssacfg_region(region, (), "scf.if")

    @impl(scf.WhileOp)
    def while_loop(self, interpreter: Interpreter, op: scf.WhileOp, args: PythonValues) -> Any:
        carried = args
        while True:
            goes_on, *given = interpreter.run_ssacfg_region(op.before_region, carried, "scf.while")
            if not goes_on:
                return tuple(given)
            carried = interpreter.run_ssacfg_region(op.after_region, tuple(given), "scf.while")

    @impl_terminator(scf.ConditionOp)
    def decide(
        self, interpreter: Interpreter, op: scf.ConditionOp, args: PythonValues
    ) -> tuple[TerminatorValue, PythonValues]:
        return ReturnedValues(args), ()

    @impl_terminator(scf.YieldOp)
    def finish(
        self, interpreter: Interpreter, op: scf.YieldOp, args: PythonValues
    ) -> tuple[TerminatorValue, PythonValues]:
        return ReturnedValues(args), ()

    @impl_terminator(scf.ReduceOp)
    def finish_parallel(
        self, interpreter: Interpreter, op: scf.ReduceOp, args: PythonValues
    ) -> tuple[TerminatorValue, PythonValues]:
        return ReturnedValues(()), ()

    @impl(cf.AssertOp)
    def check(self, interpreter: Interpreter, op: cf.AssertOp, args: PythonValues) -> Any:
        if not args[0]:
            raise ExecutionError(op.msg.data)
        return ()
