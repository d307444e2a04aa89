"""Teams of the scheduled level over NumPy: a team of one thread, which never waits."""

from __future__ import annotations

from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from lamina.dialects.loop import BarrierOp, NumThreadsOp, SingleOp, TeamOp, ThreadOp


@register_impls
class TeamFunctions(InterpreterFunctions):
    """xDSL interpreter functions of `loop.team` and what stands in it."""

    @impl(TeamOp)
    def team(self, interpreter: Interpreter, op: TeamOp, args: PythonValues) -> PythonValues:
        return interpreter.run_ssacfg_region(op.body, (), op.name)

    @impl(SingleOp)
    def single(self, interpreter: Interpreter, op: SingleOp, args: PythonValues) -> PythonValues:
        return interpreter.run_ssacfg_region(op.body, (), op.name)

    @impl(BarrierOp)
    def barrier(self, interpreter: Interpreter, op: BarrierOp, args: PythonValues) -> PythonValues:
        return ()

    @impl(ThreadOp)
    def thread(self, interpreter: Interpreter, op: ThreadOp, args: PythonValues) -> PythonValues:
        return (0,)

    @impl(NumThreadsOp)
    def num_threads(
        self, interpreter: Interpreter, op: NumThreadsOp, args: PythonValues
    ) -> PythonValues:
        return (1,)
