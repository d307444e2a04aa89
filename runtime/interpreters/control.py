"""The `control` dialect over NumPy: regions run with what their op has as operands."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
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
from xdsl.ir import Operation

from lamina.dialects.control import CondOp, RepeatOp, ScanOp, WhileOp, YieldOp
from lamina.runtime.interpreters.values import as_type


@register_impls
class RegionFunctions(InterpreterFunctions):
    """xDSL interpreter functions of `control`."""

    @impl(CondOp)
    def cond(self, interpreter: Interpreter, op: CondOp, args: PythonValues) -> PythonValues:
        predicate, *given = args
        region = op.then_region if np.all(predicate) else op.else_region
        return interpreter.run_ssacfg_region(region, tuple(given), op.name)

    @impl(WhileOp)
    def while_loop(self, interpreter: Interpreter, op: WhileOp, args: PythonValues) -> PythonValues:
        count = len(op.starts)
        carried, fixed = tuple(args[:count]), tuple(args[count:])
        while np.all(interpreter.run_ssacfg_region(op.test_region, carried + fixed, op.name)[0]):
            carried = interpreter.run_ssacfg_region(op.body_region, carried + fixed, op.name)
        return carried

    @impl(ScanOp)
    def scan(self, interpreter: Interpreter, op: ScanOp, args: PythonValues) -> PythonValues:
        count, walked = len(op.starts), len(op.sequences)
        carried, fixed = tuple(args[:count]), tuple(args[count + walked :])
        sequences = args[count : count + walked]
        steps: list[PythonValues] = []
        for number in range(len(sequences[0])):
            rows = tuple(np.asarray(sequence[number]) for sequence in sequences)
            made = interpreter.run_ssacfg_region(op.body_region, carried + rows + fixed, op.name)
            carried = made[:count]
            steps.append(made[count:])
        stacked = [_stacked(r.type, [s[i] for s in steps]) for i, r in enumerate(op.res[count:])]
        return (*carried, *stacked)

    @impl(RepeatOp)
    def repeat(self, interpreter: Interpreter, op: RepeatOp, args: PythonValues) -> PythonValues:
        count, own = len(op.starts), len(op.own)
        carried, fixed = tuple(args[:count]), tuple(args[count + own :])
        length = own // op.times
        given: list[Any] = []
        for step in range(op.times):
            first = count + step * length
            inputs = carried + tuple(args[first : first + length]) + fixed
            made = interpreter.run_ssacfg_region(op.body_region, inputs, op.name)
            carried = made[:count]
            given += made[count:]
        return (*carried, *given)

    @impl_terminator(YieldOp)
    def finish(
        self, interpreter: Interpreter, op: YieldOp, args: PythonValues
    ) -> tuple[TerminatorValue, PythonValues]:
        return ReturnedValues(args), ()


def _stacked(kind: Any, rows: list[Any]) -> Any:
    """The rows one after the other; an empty array of the type if there are none."""
    return as_type(np.stack(rows) if rows else np.empty(kind.get_shape()), kind)


def functions(op_classes: Collection[type[Operation]]) -> InterpreterFunctions:
    """Implementations for the ops of `control`."""
    return RegionFunctions()
