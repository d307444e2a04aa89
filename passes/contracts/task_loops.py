"""Loops around nests: what may stand there, that slices lie inside, and that tasks do not meet.

Between `bufferized` and `scheduled` the nests of a kernel may stand in loops, and run slices of
their domains. Loops are `scf.for` and `scf.parallel` between constants, or what is computed of
numbers of live rows; slices begin where index arithmetic on their counters says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from lamina.dialects.loop import GenericOp, LiveCountOp, LiveRowOp, LiveTurnsOp
from lamina.dialects.loop.access import forms_of
from lamina.dialects.loop.kernel_nests import rows_of
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.scalar_ops import constant_integer
from lamina.dialects.loop.slices import Slice
from lamina.dialects.op_list import instances_under
from lamina.dialects.records import record
from lamina.passes.refusal import invalid

INDEX_OPS = (
    arith.ConstantOp,
    arith.AddiOp,
    arith.MuliOp,
    arith.DivUIOp,
    arith.RemUIOp,
    arith.MinSIOp,
    LiveCountOp,
    LiveRowOp,
    LiveTurnsOp,
)
"""What indices are made of."""
LOOPS = (scf.ForOp, scf.ParallelOp)
"""Loops that may stand around nests."""
BETWEEN = (*LOOPS, *INDEX_OPS, scf.YieldOp, scf.ReduceOp)
"""What stands in a kernel beside nests and buffers once some of its nests are in loops."""


def verify_task_loops(function: func.FuncOp) -> None:
    """Check the loops around the nests of a kernel. Raises InputError at what is wrong."""
    if not has_tasks(function):
        return
    nests = instances_under(function, GenericOp)
    for op in ops_around(function.body.block):
        if isinstance(op, LOOPS):
            _verify_loop(op, function.body.block)
        elif isinstance(op, memref.AllocOp) and op.parent is not function.body.block:
            raise invalid(op, "buffers of a kernel stand in front of its loops")
        elif isinstance(op, INDEX_OPS) and not isinstance(op.results[0].type, IndexType):
            raise invalid(op, "only indices are computed between loops and nests")
    for nest in nests:
        for entry, symbol in zip(nest.slices, nest.symbols, strict=True):
            _verify_inside(nest, entry, symbol)
        _verify_steps(nest)
    for op in function.body.block.ops:
        if isinstance(op, memref.AllocOp):
            _verify_kept(op, function.body.block)
        if isinstance(op, scf.ParallelOp):
            _verify_apart(op)


def _verify_kept(buffer: memref.AllocOp, top: Block) -> None:
    """The nests of one parallel loop, or those that stand in none, keep a buffer to themselves."""
    tasks: dict[Operation | None, Operation] = {}
    for use in buffer.memref.uses:
        outermost = use.operation
        while outermost.parent is not top:
            above = outermost.parent_op()
            assert above is not None  # values are used where they are seen
            outermost = above
        is_parallel = isinstance(outermost, scf.ParallelOp)
        tasks.setdefault(outermost if is_parallel else None, use.operation)
    if len(tasks) > 1:
        raise invalid(list(tasks.values())[-1], "it touches what a parallel loop keeps to itself")


def has_tasks(function: func.FuncOp) -> bool:
    """Whether nests of a kernel stand in loops, or run slices."""
    nests = instances_under(function, GenericOp)
    return any(op.symbols or op.parent is not function.body.first_block for op in nests)


def ops_around(block: Block) -> Iterator[Operation]:
    """The ops of a block and of loops in it, without the bodies of nests."""
    for op in block.ops:
        yield op
        if isinstance(op, LOOPS):
            yield from ops_around(op.body.block)


def _verify_loop(loop: scf.ForOp | scf.ParallelOp, top: Block) -> None:
    if _ends(loop) is None:
        raise invalid(
            loop, "a loop around nests has one counter, between known numbers, and no values"
        )
    if isinstance(loop, scf.ParallelOp) and loop.parent is not top:
        raise invalid(loop, "parallel loops stand at the top of a kernel")


def _ends(loop: Operation | Block | None) -> tuple[int, int] | None:
    """The least and largest number that a loop counts, if they are known. It runs at least once,
    but for one whose end is computed."""
    if not isinstance(loop, LOOPS) or len(loop.operands) != 3 or loop.results:
        return None
    first, step = index_range(loop.operands[0]), constant_integer(loop.operands[2])
    ends = index_range(loop.operands[1])
    if first is None or step is None or step < 1 or ends is None:
        return None
    low, is_known = first[0], constant_integer(loop.operands[1]) is not None
    if not 0 <= low < (ends[0] if is_known else ends[1]):
        return None
    return low, low + (ends[1] - 1 - low) // step * step


def index_range(value: SSAValue) -> tuple[int, int] | None:
    """The least and largest number that an index between loops and nests may be, if known."""
    if isinstance(value, BlockArgument):
        return _ends(value.block.parent_op())
    op = value.owner
    if (number := constant_integer(value)) is not None:
        return number, number
    if isinstance(op, LiveCountOp):
        return 1, op.live.data.rows
    if isinstance(op, LiveTurnsOp):
        return 0, op.rows
    if isinstance(op, LiveRowOp):
        return 0, op.live.data.rows - 1
    if not isinstance(op, INDEX_OPS):
        return None
    ranges = [index_range(operand) for operand in op.operands]
    if ranges[0] is None or ranges[1] is None or ranges[0][0] < 0 or ranges[1][0] < 0:
        return None
    (low, high), (least, most) = ranges[0], ranges[1]
    match op:
        case arith.AddiOp():
            return low + least, high + most
        case arith.MuliOp():
            return low * least, high * most
        case arith.MinSIOp():
            return min(low, least), min(high, most)
        case arith.DivUIOp() if least > 0:
            return low // most, high // least
        case arith.RemUIOp() if least > 0:
            return (low, high) if high < least else (0, most - 1)
        case _:
            return None


def _verify_inside(nest: GenericOp, entry: Slice, symbol: SSAValue) -> None:
    extent, ends = entry.extent(nest.extents), index_range(symbol)
    if ends is None or not 0 <= ends[0] <= ends[1] < extent:
        said = "anywhere" if ends is None else f"at {ends[0]} to {ends[1]}"
        raise invalid(nest, f"slice of {entry.name}: begins {said}, there are {extent} positions")


def _verify_steps(nest: GenericOp) -> None:
    """A step that is computed is a share of no more positions than there are, and the number that
    a loop ends at, the counter of which begins the slice: so slices meet nowhere, and end inside.
    """
    slices = zip(nest.slices, nest.symbols, strict=True)
    computed = [entry for entry in slices if entry[0].step is None]
    for (entry, symbol), step in zip(computed, nest.steps, strict=True):
        loop = symbol.block.parent_op() if isinstance(symbol, BlockArgument) else None
        ends = index_range(step)
        share = step.owner if isinstance(step.owner, arith.DivUIOp) else None
        shares = None if share is None else constant_integer(share.rhs)
        whole = None if share is None else index_range(share.lhs)
        if (
            not isinstance(loop, LOOPS)
            or len(loop.operands) != 3
            or loop.operands[1] is not step
            or [constant_integer(loop.operands[0]), constant_integer(loop.operands[2])] != [0, 1]
            or ends is None
            or shares is None
            or whole is None
            or shares < entry.size
            or whole[1] > entry.extent(nest.extents)
        ):
            raise invalid(
                nest,
                f"slice of {entry.name}: a step that is computed is arith.divui of a number of "
                f"rows by {entry.size}, and ends the loop whose counter the slice begins at",
            )


@record
class _Digit:
    """A number `counter / divisor % modulus * scale`: a digit of what a loop counts.

    One that is the quotient or the remainder `of` the counter by a value has no divisor.
    """

    divisor: int
    modulus: int
    scale: int = 1
    of: tuple[type[Operation], SSAValue] | None = None


def _digit(value: SSAValue, counter: SSAValue, count: int) -> _Digit | None:
    """The digit of a counter that is below `count` that an index is."""
    if value is counter:
        return _Digit(1, count)
    op = value.owner
    if isinstance(op, LiveRowOp):
        return _digit(op.number, counter, count)  # another row for each number
    if isinstance(op, arith.AddiOp):
        return _dealt(_digit(op.lhs, counter, count), _digit(op.rhs, counter, count), count)
    if not isinstance(op, arith.MuliOp | arith.DivUIOp | arith.RemUIOp):
        return None
    inner, factor = _digit(op.operands[0], counter, count), constant_integer(op.operands[1])
    if inner == _Digit(1, count) and factor is None and not isinstance(op, arith.MuliOp):
        return _Digit(0, count, of=(type(op), op.rhs))
    if inner is None or factor is None or factor < 1:
        return None
    if isinstance(op, arith.MuliOp):
        return replace(inner, scale=inner.scale * factor)
    if inner.scale != 1 or inner.of is not None:
        return None
    if isinstance(op, arith.DivUIOp):
        return _Digit(inner.divisor * factor, -(-inner.modulus // factor))
    fits = inner.modulus <= factor or inner.modulus % factor == 0
    return _Digit(inner.divisor, min(inner.modulus, factor)) if fits else None


def _dealt(one: _Digit | None, other: _Digit | None, count: int) -> _Digit | None:
    """The whole counter, if two digits of it are put together in the other order."""
    if one is None or other is None or one.of is not None or other.of is not None:
        return None
    low, high = sorted((one, other), key=lambda digit: digit.divisor)
    whole = low.divisor == 1 and high.divisor == low.modulus
    whole = whole and low.modulus * high.modulus == count
    turned = high.scale == 1 and low.scale == high.modulus
    return _Digit(1, count) if whole and turned else None


def _verify_apart(loop: scf.ParallelOp) -> None:
    """No two steps of a parallel loop touch what one of them writes.

    Nests of one part touch each other's results at the same rows only (see `verify_kernel`). So it
    is enough that each step has rows, or parts of a shared loop, of its own.
    """
    counter, ends = loop.body.block.args[0], _ends(loop)
    assert ends is not None  # verified before
    nests = instances_under(loop, GenericOp)
    said: list[object] | None = None
    for nest in nests:
        places = {d: place for place, d in enumerate(rows_of(nest))}
        digits: list[_Digit] = []
        binds: list[object] = []
        for entry, symbol in zip(nest.slices, nest.symbols, strict=True):
            digit = _digit(symbol, counter, ends[1] + 1)
            if digit is None or digit.scale < (entry.size if entry.step == 1 else 1):
                continue
            if entry.step not in (1, None) and digit.modulus * digit.scale > entry.step:
                continue  # one that is computed ends the loop
            if not set(entry.dims) <= set(nest.reduction_dims):
                digits.append(digit)
                binds.append((digit, [places.get(d) for d in entry.dims]))
            if not set(entry.dims) <= places.keys():
                _verify_columns(nest, entry, nests)
        if not _counts(digits, ends[1] + 1):
            raise invalid(nest, "steps of the parallel loop around it run the same points")
        if said is not None and binds != said:
            raise invalid(nest, "steps of the parallel loop run other rows of it than of others")
        said = binds


def _counts(digits: Sequence[_Digit], count: int) -> bool:
    """Whether digits tell all numbers below `count` apart."""
    parts = {digit.of for digit in digits if digit.of is not None}
    if any({(arith.DivUIOp, by), (arith.RemUIOp, by)} <= parts for _, by in parts):
        return True
    known = 1
    for digit in sorted((d for d in digits if d.of is None), key=lambda d: d.divisor):
        if digit.divisor > known:
            return False
        known = max(known, digit.divisor * digit.modulus)
    return known >= count


def _verify_columns(nest: GenericOp, entry: Slice, nests: Sequence[GenericOp]) -> None:
    """What nests share is divided along an axis as their loop is."""
    touched = {value for other in nests if other is not nest for value in other.operands}
    for value in nest.outs:
        if value in touched and _axes(nest, value, entry.dims) == set():
            raise invalid(nest, f"slice of {entry.name}: others touch what it writes elsewhere")
    made = {value for other in nests if other is not nest for value in other.outs}
    for value in (*nest.inputs, *nest.sources):
        if value in made and _axes(nest, value, entry.dims) == set():
            raise invalid(nest, f"slice of {entry.name}: it reads elsewhere what others write")


def _axes(nest: GenericOp, memory: SSAValue, dims: Sequence[int]) -> set[int]:
    """The axes that all accesses of a nest to some memory index by these dimensions alone."""
    values = [*nest.inputs, *nest.outs]
    maps = [*nest.read_maps, *nest.write_maps]
    alone = tuple(Linear.dim(d) for d in dims)
    found: set[int] | None = None if memory not in nest.sources else set()
    for value, index_map in zip(values, maps, strict=True):
        if value is memory:
            forms = forms_of(index_map, nest.extents) or ()
            own = {n for n, form in enumerate(forms) if form in alone}
            found = own if found is None else found & own
    return set() if found is None else found
