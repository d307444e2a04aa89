"""What a scheduled kernel takes, estimated from its loops and a target.

Each round of a loop takes what its ops take by throughput, or what the longest chain from a value
carried into it to the value carried out takes by latency, if that is more. Ops that do not change
in a loop are counted in front of it. The loops take no less than the bytes that they move between
caches (`loop_traffic`). What units do in a cycle are rules of thumb for x86 cores with vectors;
nothing of it was measured. It compares schedules of one kernel; misses of branch prediction,
conflicts of cache sets and the order of memory accesses are not in it.
"""

from __future__ import annotations

from dataclasses import field
from math import ceil, log2

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import IndexType, IntegerType, MemRefType, VectorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from lamina.codegen.roofline import Roofline
from lamina.codegen.target import Target
from lamina.dialects.loop.scheduled import GatherOp, PrefetchOp
from lamina.dialects.loop.tiles import TileDotOp, TileLoadOp, TileStoreOp
from lamina.dialects.records import mutable_record, record
from lamina.passes.cost.fusion_cost import op_cost
from lamina.passes.cost.loop_traffic import Access, Level, fetched, fits
from lamina.passes.cost.loop_trips import LOOPS, share, trips
from lamina.passes.cost.team_cost import LEAST_THREADS
from lamina.passes.memory.memory_accesses import root_of

LOADS_PER_CYCLE = 2.0
"""Vectors that a core loads in a cycle, from its nearest cache."""
STORES_PER_CYCLE = 1.0
"""Vectors that a core stores in a cycle."""
SHUFFLES_PER_CYCLE = 1.0
"""Vectors whose lanes a core moves in a cycle."""
SCALARS_PER_CYCLE = 4.0
"""Integer instructions that a core begins in a cycle: most of them are addresses."""
TILE_CYCLES = 16.0
"""A product of matrix tiles, or loading or storing one."""
FLOAT_LATENCY = 4.0
"""Cycles until the result of a float operation is there, for each unit of its cost."""
LOAD_LATENCY = 5.0
"""Cycles until a loaded value is there, from the nearest cache."""
ROUND_CYCLES = 0.5
"""The count and the branch of a round, beside other work."""
ENTRY_CYCLES = 6.0
"""Beginning a loop and leaving it: constants, a branch that was not foreseen now and then."""

_FREE = (
    arith.ConstantOp,
    memref.AllocaOp,
    memref.AllocOp,
    memref.DeallocOp,
    scf.YieldOp,
    scf.ReduceOp,
    scf.ConditionOp,
)
_LOADS = (memref.LoadOp, vector.LoadOp, vector.MaskedLoadOp)
_STORES = (memref.StoreOp, vector.StoreOp, vector.MaskedStoreOp)
_TILES = (TileDotOp, TileLoadOp, TileStoreOp)
_SHUFFLES = ("vector.shuffle", "vector.insert", "vector.extract", "vector.transpose")
_FREE_NAMES = ("loop.reshape", "loop.row", "memref.cast", "memref.view", "func.return")


@record
class LoopEstimate:
    """Cycles of arithmetic, and bytes fetched into each cache, of one call on `threads` threads."""

    cycles: float
    fetched: tuple[float, ...]
    threads: int
    nanoseconds: float


def estimate_loops(kernel: FuncOp, target: Target) -> LoopEstimate:
    """The estimate of a kernel of explicit loops, on a team where its loops are parallel."""
    walk = _Walk(target)
    top = Level(None)
    took = walk.block(kernel.body.block, top)
    cycles = took.cycles + took.in_front
    machine = Roofline.of(target)
    sizes = [size for size, _ in machine.caches]
    moved = tuple(0.0 if fits(top, size) else fetched(top, size) for size in sizes)
    beyond = [bandwidth for _, bandwidth in machine.caches[1:]] + [machine.memory_bandwidth]
    threads = LEAST_THREADS if walk.is_parallel else 1
    moving = max(n / speed for n, speed in zip(moved, beyond, strict=True)) / threads
    seconds = max(cycles / target.clock_hz, moving)
    forks = target.fork_nanoseconds if walk.is_parallel else 0.0
    return LoopEstimate(cycles, moved, threads, 1e9 * seconds + forks)


@mutable_record
class _Took:
    """Cycles of one round of a block, those of ops to be run in front of its loop, and by chains:
    `ready` has when values are there that depend on what the round begins with."""

    cycles: float = 0.0
    in_front: float = 0.0
    ready: dict[SSAValue, float] = field(default_factory=dict)


class _Walk:
    def __init__(self, target: Target) -> None:
        self._target = target
        self._moves: dict[SSAValue, frozenset[Operation | None]] = {}
        self.is_parallel = False

    def block(self, block: Block, level: Level, carried: int = 0) -> _Took:
        """One round of a block, whose last `carried` arguments come from the round before it."""
        took = _Took()
        for argument in block.args:
            self._moves[argument] = frozenset({level.loop})
        took.ready = dict.fromkeys(block.args[len(block.args) - carried :], 0.0)
        for op in block.ops:
            self._op(op, level, took)
        return took

    def _op(self, op: Operation, level: Level, took: _Took) -> None:
        moves: frozenset[Operation | None] = frozenset()
        for operand in op.operands:
            moves |= self._moves.get(operand, frozenset())
        if isinstance(op, LOOPS):
            spent = self._loop(op, level)
            moves |= {level.loop}
        elif isinstance(op, scf.IfOp):
            spent = self._branch(op, level)
            moves |= {level.loop}
        else:
            spent = self._cycles(op)
            self._note_access(op, level)
        for result in op.results:
            self._moves[result] = moves
        before = [took.ready[o] for o in op.operands if o in took.ready]
        if before:
            done = max(before) + (spent if op.regions else _latency(op))
            took.ready |= dict.fromkeys(op.results, done)
        is_fixed = level.loop is not None and level.loop not in moves and not _touches_memory(op)
        if is_fixed:
            took.in_front += spent
        else:
            took.cycles += spent

    def _loop(self, op: Operation, level: Level) -> float:
        rounds = trips(op)
        inner = Level(op, rounds)
        level.inner.append(inner)
        carried = len(op.operands) - 3 if isinstance(op, scf.ForOp) else 0
        took = _Took()
        for region in op.regions:
            for block in region.blocks:
                one = self.block(block, inner, carried)
                took.cycles += one.cycles
                took.in_front += one.in_front
                took.ready |= one.ready
        chain = 0.0
        if carried:
            last = op.regions[0].block.last_op
            assert last is not None
            chain = max(took.ready.get(value, 0.0) for value in last.operands)
        if isinstance(op, scf.ParallelOp) and rounds > 1:
            self.is_parallel = True
            rounds = ceil(rounds / LEAST_THREADS)
        return ENTRY_CYCLES + took.in_front + rounds * max(took.cycles + ROUND_CYCLES, chain)

    def _branch(self, op: scf.IfOp, level: Level) -> float:
        """Each branch by how often it is taken; the one that takes longer where data decide."""
        taken = share(op.cond)
        shares = (1.0, 1.0) if taken is None else (taken, 1 - taken)
        tried = [
            part * self._one_branch(region.block, level)
            for part, region in zip(shares, op.regions, strict=True)
            if region.blocks and part
        ]
        return ROUND_CYCLES + (max(tried, default=0.0) if taken is None else sum(tried))

    def _one_branch(self, block: Block, level: Level) -> float:
        took = self.block(block, level)
        return took.cycles + took.in_front

    def _note_access(self, op: Operation, level: Level) -> None:
        for place, operand in enumerate(op.operands):
            if not isinstance(operand.type, MemRefType) or not _touches_memory(op):
                continue
            moves: frozenset[Operation | None] = frozenset()
            for index in op.operands[place + 1 :]:
                moves |= self._moves.get(index, frozenset())
            writes = 0
            if isinstance(op, (*_STORES, TileStoreOp)):
                writes = 1 if _is_streamed(op) else 2
            level.accesses.append(Access(root_of(operand), _bytes(op), moves, writes))
            return

    def _cycles(self, op: Operation) -> float:
        """Of the unit that an op keeps busy."""
        if isinstance(op, _FREE) or op.name in _FREE_NAMES:
            return 0.0
        if isinstance(op, _TILES):
            return TILE_CYCLES
        if isinstance(op, GatherOp):
            return _lanes(op.results[0].type) / LOADS_PER_CYCLE
        if isinstance(op, _STORES):
            return self._registers(op.operands[0].type) / STORES_PER_CYCLE
        if isinstance(op, (*_LOADS, PrefetchOp)):
            return max(map(self._registers, op.result_types), default=1) / LOADS_PER_CYCLE
        if not op.results:
            return 1 / SCALARS_PER_CYCLE
        kind = op.results[0].type
        if op.name in _SHUFFLES:
            return self._registers(kind) / SHUFFLES_PER_CYCLE
        if isinstance(op, vector.ReductionOp):
            steps = 2 * ceil(log2(max(2, _lanes(op.vector.type))))
            return steps / self._target.arithmetic_ports
        if isinstance(kind, IndexType | IntegerType):
            return op_cost(op) / SCALARS_PER_CYCLE
        return max(1, op_cost(op)) * self._registers(kind) / self._target.arithmetic_ports

    def _registers(self, kind: Attribute) -> int:
        return max(1, ceil(_lanes(kind) * _bits(kind) / self._target.vector_bits))


def _is_streamed(op: Operation) -> bool:
    """Whether a store goes past the caches."""
    flag = getattr(op, "nontemporal", None)
    return flag is not None and bool(flag.value.data)


def _latency(op: Operation) -> float:
    if isinstance(op, (*_LOADS, GatherOp)):
        return LOAD_LATENCY
    if isinstance(op, _TILES):
        return TILE_CYCLES
    kind = op.results[0].type if op.results else None
    element = kind.element_type if isinstance(kind, VectorType) else kind
    if isinstance(element, IndexType | IntegerType) or op.name == "arith.bitcast":
        return 1.0
    return FLOAT_LATENCY * max(1, op_cost(op))


def _touches_memory(op: Operation) -> bool:
    return isinstance(op, (*_LOADS, *_STORES, GatherOp, TileLoadOp, TileStoreOp))


def _bytes(op: Operation) -> int:
    """Bytes that an op loads or stores."""
    value = op.operands[0] if isinstance(op, (*_STORES, TileStoreOp)) else op.results[0]
    return max(1, _lanes(value.type) * max(8, _bits(value.type)) // 8)


def _lanes(kind: Attribute) -> int:
    if not isinstance(kind, VectorType):
        return 1
    count = 1
    for extent in kind.get_shape():
        count *= extent
    return count


def _bits(kind: Attribute) -> int:
    element = kind.element_type if isinstance(kind, VectorType) else kind
    return int(getattr(element, "bitwidth", 64))
