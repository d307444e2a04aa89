"""Which memory the ops of scheduled programs touch, and which of them must keep their order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import IntegerAttr, MemRefType, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from lamina.dialects.op_accessors import operands_of
from lamina.dialects.op_list import list_ops
from lamina.dialects.records import record
from lamina.passes.memory.plan_memory import byte_size

ALIASES = frozenset({"loop.reshape", "loop.row", "memref.cast"})
"""Ops whose result is memory of their first operand."""

READERS = frozenset(
    {
        "memref.load",
        "vector.load",
        "vector.maskedload",
        "loop.gather",
        "loop.prefetch",
        "loop.tile_load",
    }
)
"""Ops that only read the memory they are given; any other op counts as writing it."""

EVERYTHING = 1 << 62
"""End of an access whose bytes are not known: behind any buffer."""


@record
class Access:
    """Bytes `first` to `end` of what `home` names are touched, and perhaps written.

    A home of None may be any memory.
    """

    home: object
    first: int
    end: int
    writes: bool

    def conflicts(self, other: Access) -> bool:
        """Whether one of the two writes what the other touches."""
        if not (self.writes or other.writes):
            return False
        if self.home is None or other.home is None:
            return True
        return self.home == other.home and self.first < other.end and other.first < self.end


def conflict(some: Iterable[Access], others: Sequence[Access]) -> bool:
    """Whether any access of the one conflicts with any of the other."""
    return any(one.conflicts(other) for one in some for other in others)


def root_of(value: SSAValue) -> SSAValue:
    """The memref that a chain of reshapes, casts and rows begins with."""
    while not isinstance(made := value.owner, Block) and made.name in ALIASES:
        value = made.operands[0]
    return value


def touched(ops: Iterable[Operation]) -> dict[SSAValue, bool]:
    """The roots of all memrefs that ops (and those in their regions) use: whether they write."""
    found: dict[SSAValue, bool] = {}
    for op in ops:
        for inner in list_ops(op):
            if inner.name in ALIASES or type(inner) is memref.ViewOp:
                continue
            writes = inner.name not in READERS
            for operand in operands_of(inner):
                if type(operand.type) is MemRefType:
                    root = root_of(operand)
                    found[root] = found.get(root, False) or writes
    return found


def written_arguments(function: func.FuncOp) -> dict[int, bool]:
    """The arguments that a kernel touches, by number: whether it writes them."""
    found: dict[int, bool] = {}
    for argument in function.body.block.args:
        if isinstance(argument.type, MemRefType):
            users = list(_users(argument))
            if users:
                found[argument.index] = any(user.name not in READERS for user in users)
    return found


def _users(value: SSAValue) -> Iterator[Operation]:
    """The ops that touch a memref, by this name or an alias of it."""
    for use in value.uses:
        user = use.operation
        if user.name in ALIASES:
            yield from _users(user.results[0])
        elif type(user) is not memref.ViewOp:
            yield user


@record
class EntryMemory:
    """The memory of an entry function: its arguments, and views of the arena."""

    homes: Mapping[SSAValue, object]

    @classmethod
    def of(cls, function: func.FuncOp) -> EntryMemory:
        """Arguments are apart, but an updated value may take the place of its argument."""
        homes: dict[SSAValue, object] = {}
        attributes = function.arg_attrs.data if function.arg_attrs else ()
        for number, argument in enumerate(function.body.block.args):
            entry = attributes[number].data if number < len(attributes) else {}
            name = entry.get("lamina.target", entry.get("lamina.name"))
            homes[argument] = name.data if isinstance(name, StringAttr) else number
        return cls(homes)

    def access(self, value: SSAValue, writes: bool) -> Access:
        """All bytes of one memref."""
        root = root_of(value)
        if isinstance(root.owner, memref.ViewOp):
            view = root.owner
            shift = view.byte_shift.owner
            home = self.homes.get(view.source)
            if isinstance(shift, arith.ConstantOp) and isinstance(shift.value, IntegerAttr):
                first = shift.value.value.data
                assert isinstance(root.type, MemRefType)
                return Access(home, first, first + byte_size(root.type), writes)
            return Access(home, 0, EVERYTHING, writes)
        if isinstance(root.owner, memref.AllocOp):
            return Access(root, 0, EVERYTHING, writes)
        return Access(self.homes.get(root), 0, EVERYTHING, writes)

    def of_call(self, call: func.CallOp, written: Mapping[int, bool]) -> list[Access]:
        """What a kernel call touches, given `written_arguments` of the kernel."""
        return [self.access(call.arguments[n], writes) for n, writes in written.items()]
