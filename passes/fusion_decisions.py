"""What the passes that fuse thought of a pair of nests: bytes saved, flops added, the reason."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from math import prod
from typing import TextIO

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from lamina.dialects.loop import GenericOp
from lamina.passes.fusion_cost import body_cost, value_bytes
from lamina.passes.fusion_override import FUSE, override


@dataclass(frozen=True)
class Decision:
    """Whether a pair becomes one, and why; flops are in units of one add."""

    fuse: bool
    reason: str


@dataclass
class DecisionLog:
    """Prints one line for each pair that a pass looked at, if it is asked to."""

    pass_name: str
    enabled: bool
    stream: TextIO = field(default_factory=lambda: sys.stderr)

    def pair(
        self,
        producer: Operation,
        reader: GenericOp,
        value: SSAValue,
        said: Decision,
        repeats: bool = True,
    ) -> None:
        """`fuse-elementwise: prims.add -> prims.mul: saves 8 bytes, adds 0 flops: fused: ...`."""
        if not self.enabled:
            return
        flops = flops_added(producer, reader, value) if repeats else 0
        verdict = "fused" if said.fuse else "not fused"
        print(
            f"{self.pass_name}: {op_label(producer)} -> {op_label(reader)}: "
            f"saves {bytes_saved(value)} bytes, adds {flops} flops: "
            f"{verdict}: {said.reason}",
            file=self.stream,
        )

    def siblings(self, one: Operation, other: Operation, value: SSAValue, said: Decision) -> None:
        """`merge-siblings: prims.sum | prims.amax: saves 64 bytes: fused: ...`."""
        if not self.enabled:
            return
        verdict = "fused" if said.fuse else "not fused"
        print(
            f"{self.pass_name}: {op_label(one)} | {op_label(other)}: "
            f"saves {value_bytes(value)} bytes: {verdict}: {said.reason}",
            file=self.stream,
        )


def bytes_saved(value: SSAValue) -> int:
    """Traffic that goes if one reader no longer reads `value`, and its store if it is the only."""
    size = value_bytes(value)
    return 2 * size if value.has_one_use() else size


def flops_added(producer: Operation, reader: GenericOp, value: SSAValue) -> int:
    """Arithmetic done again if `producer` is computed at every point of `reader`."""
    if not isinstance(producer, GenericOp) or not producer.is_pointwise:
        return 0
    points = prod(reader.extents)
    if value.has_one_use():
        points = max(0, points - prod(producer.extents))
    return points * body_cost(producer)


def decide(producer: GenericOp, op: GenericOp, value: SSAValue, recompute_limit: int) -> Decision:
    """Whether evaluating the pointwise producer inside this reader beats storing its result."""
    said = override(producer)
    if said is not None:
        return Decision(said == "always", f'{FUSE} = "{said}"')
    repeated = prod(op.extents) > prod(producer.extents)
    if value.has_one_use() and not repeated:
        return Decision(True, "nothing is computed twice")  # asked first: no walk over the body
    cost = body_cost(producer)
    if cost == 0:
        return Decision(True, "it computes nothing")
    if repeated:
        return Decision(False, "the reader has more points than the producer")
    if cost > recompute_limit:
        return Decision(False, f"a point costs {cost}, more than {recompute_limit}, to repeat")
    if len(producer.inputs) > 1:
        return Decision(False, "repeating it reads more arrays than storing it")
    return Decision(True, f"a point costs {cost}, at most {recompute_limit}, to repeat")


def op_label(op: Operation) -> str:
    """The source ops of a nest."""
    name = op.attributes.get("lamina.op")
    return name.data if isinstance(name, StringAttr) else op.name
