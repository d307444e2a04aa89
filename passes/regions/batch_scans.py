"""`batch-scans`: what the steps of a scan need not wait for is computed for all of them at once.

A step may begin when what it carries is there. Ops that do not depend on it, such as the product of
an input by weights in a recurrent cell, become one op on all elements in front of the scan, and a
scan that carries nothing (a map) disappears altogether. Ops whose results no later step waits for,
such as the product that makes a cell's output, become one op behind the scan. Cheap pointwise ops
of a scan that stays are left in it: to store their operands for all steps would cost more.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects.control import ScanOp
from lamina.dialects.loop import GenericOp
from lamina.passes.regions.batching import BATCHABLE, Batch, batched, broadcast
from lamina.passes.regions.region_functions import Outlined, outlined_ops


class BatchScansPass(ModulePass):
    """Move ops that no step waits for, or that wait for no step, out of scans."""

    name = "batch-scans"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for outlined in outlined_ops(op):
            if isinstance(outlined.op, ScanOp) and outlined.op.length > 0:
                _Batching(outlined, outlined.op).run()


class _Batching:
    """One scan, whose function's body is `body`; `values` says what is known outside of it."""

    def __init__(self, outlined: Outlined, scan: ScanOp) -> None:
        self.outlined = outlined
        self.length = scan.length
        self.carried = len(scan.starts)
        (self.body,) = outlined.bodies
        arguments = list(self.body.args)[self.carried :]
        operands = [*scan.sequences, *scan.inputs]
        self.values: dict[SSAValue, Batch] = {
            argument: Batch(value, number < len(scan.sequences))
            for number, (argument, value) in enumerate(zip(arguments, operands, strict=True))
        }

    def run(self) -> None:
        """Move what may move and pays, then give the scan what it still needs of that."""
        self._move_up(self._moved())
        if self.outlined.op.parent is not None:
            self._move_down(self._sunk())
            self.outlined.drop_unused()

    def _move_up(self, moved: dict[Operation, None]) -> None:
        for op in moved:
            self._insert(self._batch(op))
        self._replace_results()
        if not any(result.uses for result in self.outlined.op.results):
            self._erase()
            return
        for op in moved:
            for result in op.results:
                if any(use.operation not in moved for use in result.uses):
                    result.replace_uses_with_if(
                        self._argument(result), lambda use: use.operation not in moved
                    )
        for op in reversed(list(moved)):
            self.body.erase_op(op)

    def _batch(self, op: Operation) -> Operation:
        """`op` for all steps; from now on its results are known."""
        made = batched(op, self.values, self.length)
        is_stacked = any(self.values[operand].is_stacked for operand in op.operands)
        for old, new in zip(op.results, made.results, strict=True):
            self.values[old] = Batch(new, is_stacked)
        return made

    def _sunk(self) -> dict[Operation, None]:
        """The ops to move behind the scan: what reduces, and all that reads it."""
        end = self.body.last_op
        assert end is not None
        fixed: set[Operation] = {end}
        waited = [v.owner for v in end.operands[: self.carried]]
        while waited:
            op = waited.pop()
            if isinstance(op, Operation) and op not in fixed:
                fixed.add(op)
                waited += [operand.owner for operand in op.operands]
        free: set[Operation] = set()
        for op in reversed(list(self.body.ops)):
            users = [use.operation for result in op.results for use in result.uses]
            movable = op not in fixed and isinstance(op, BATCHABLE)
            if movable and all(user is end or user in free for user in users):
                free.add(op)
        sunk: dict[Operation, None] = {}
        for op in self.body.ops:
            reads = any(operand.owner in sunk for operand in op.operands)
            if op in free and (reads or (isinstance(op, GenericOp) and not op.is_pointwise)):
                sunk[op] = None
        return sunk

    def _move_down(self, sunk: dict[Operation, None]) -> None:
        """Stack what `sunk` reads of the steps, and compute the results from that."""
        if not sunk:
            return
        end = self.body.last_op
        assert end is not None
        made = [(n, v) for n, v in enumerate(end.operands) if v.owner in sunk]
        needed = dict.fromkeys(
            v for op in sunk for v in op.operands if v.owner not in sunk and v not in self.values
        )
        scan = self.outlined
        results = scan.change_results([], list(needed), self.length)
        self.values |= {v: Batch(r, True) for v, r in zip(needed, results, strict=True)}
        block, after = scan.op.parent, scan.op
        assert block is not None
        for op in sunk:
            batch = self._batch(op)
            block.insert_op_after(batch, after)
            after = batch
        for number, value in made:
            batch = self.values[value]
            assert batch.is_stacked
            scan.op.results[number].replace_all_uses_with(batch.value)
        scan.change_results([number for number, _ in made], [], self.length)
        for op in reversed(list(sunk)):
            self.body.erase_op(op)

    def _moved(self) -> dict[Operation, None]:
        """The ops to move, in order: all of a map, else what reduces and what that needs."""
        free: dict[Operation, None] = {}
        known = set(self.values)
        for op in self.body.ops:
            if isinstance(op, BATCHABLE) and all(operand in known for operand in op.operands):
                free[op] = None
                known.update(op.results)
        if not self.carried and all(op in free or op is self.body.last_op for op in self.body.ops):
            return free
        wanted: set[Operation] = set()
        for op in reversed(list(free)):
            read = any(use.operation in wanted for result in op.results for use in result.uses)
            if read or (isinstance(op, GenericOp) and not op.is_pointwise):
                wanted.add(op)
        return {op: None for op in free if op in wanted}

    def _insert(self, op: Operation) -> None:
        scan = self.outlined.op
        block = scan.parent
        assert block is not None
        block.insert_op_before(op, scan)

    def _replace_results(self) -> None:
        """Stacked results that are known outside need no scan."""
        end = self.body.last_op
        assert isinstance(end, func.ReturnOp)
        known: list[int] = []
        for number, value in enumerate(end.operands):
            if number < self.carried or value not in self.values:
                continue
            batch = self.values[value]
            made = batch.value
            if not batch.is_stacked:
                copy = broadcast(made, self.length)
                self._insert(copy)
                made = copy.results[0]
            self.outlined.op.results[number].replace_all_uses_with(made)
            known.append(number)
        if known and len(known) < len(end.operands):
            self.outlined.change_results(known, [], self.length)

    def _argument(self, inner: SSAValue) -> BlockArgument:
        """The body's argument for a value that is now made outside."""
        batch = self.values[inner]
        if batch.is_stacked:
            return self.outlined.add_sequence(batch.value, inner.type)
        (argument,) = self.outlined.add_fixed(batch.value)
        return argument

    def _erase(self) -> None:
        scan = self.outlined.op
        block = scan.parent
        assert block is not None
        block.erase_op(scan)
        for function in self.outlined.functions:
            function.detach()
            function.erase()
