"""Convex groups of the ops of a block: none is both before and behind something outside of it.

The ops are nodes of a graph; a group is some of them made one node. Two nodes are joined where the
graph stays without circles, so that each group can run as one call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation, SSAValue


class _Graph:
    """Nodes are numbers of ops; a group is known by one of its ops. Sets of nodes are the bits of
    integers."""

    def __init__(self) -> None:
        self.before: dict[int, int] = {}
        """All that a node depends on, at however many removes."""
        self.inputs: dict[int, set[int]] = {}
        """What it depends on at once."""
        self._joined: dict[int, int] = {}

    def add(self, node: int, inputs: set[int]) -> None:
        """A node that nothing depends on yet."""
        self.inputs[node] = {self.group(one) for one in inputs}
        self.before[node] = 0
        for one in self.inputs[node]:
            self.before[node] |= self.before[one] | 1 << one

    def group(self, node: int) -> int:
        """The node that a node has become a part of."""
        while node in self._joined:
            node = self._joined[node]
        return node

    def join(self, a: int, b: int) -> None:
        """Makes two groups one, where nothing outside is between them; else nothing happens."""
        a, b = self.group(a), self.group(b)
        if a == b or self._between(a, b) or self._between(b, a):
            return
        self.inputs[a] = self._inputs(a) | self._inputs(b)
        self.inputs[a] -= {a, b}
        both = 1 << a | 1 << b
        self.before[a] = (self.before[a] | self.before[b]) & ~both
        self._joined[b] = a
        del self.before[b], self.inputs[b]
        for node, before in self.before.items():
            if before & both:
                self.before[node] = (before | self.before[a] | 1 << a) & ~(1 << b)

    def _between(self, a: int, b: int) -> bool:
        """Whether b depends on something that depends on a."""
        return any(one != a and self.before[one] >> a & 1 for one in self._inputs(b))

    def _inputs(self, node: int) -> set[int]:
        return {self.group(one) for one in self.inputs[node]}


def convex_groups(
    ops: Sequence[Operation], taken: Callable[[int], bool]
) -> tuple[list[list[int]], list[list[int]]]:
    """Groups of the ops that are `taken`, each joined with the producers of what it reads.

    Gives the groups, as ascending numbers of ops, and an order of all ops in which each group
    stands in one piece: a list of groups and of single others.
    """
    numbers = {op: number for number, op in enumerate(ops)}
    graph = _Graph()
    for number, op in enumerate(ops):
        read = {
            numbers[value.owner]
            for value in _read(op)
            if isinstance(value.owner, Operation) and value.owner in numbers
        }
        graph.add(number, read)
        if taken(number):
            for producer in sorted(read):
                if taken(producer):
                    graph.join(producer, number)
    members: dict[int, list[int]] = {}
    for number in range(len(ops)):
        members.setdefault(graph.group(number), []).append(number)
    ordered = sorted(members, key=lambda node: (graph.before[node].bit_count(), members[node][0]))
    order = [members[node] for node in ordered]
    groups = [group for group in order if taken(group[0])]
    return groups, order


def _read(op: Operation) -> list[SSAValue]:
    """What an op and those in its regions read."""
    return [operand for inner in op.walk() for operand in inner.operands]
