"""What the passes that fuse thought of a pair of nests: bytes saved, flops added, the reason."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from math import prod
from typing import TextIO

from xdsl.ir import Operation, SSAValue

from lamina.codegen.roofline import Roofline
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.labels import label_of
from lamina.passes.cost.fusion_cost import body_cost, value_bytes
from lamina.passes.cost.fusion_estimate import Estimate
from lamina.passes.cost.fusion_model import estimate
from lamina.passes.fusion.fusion_override import FUSE, override


@dataclass(frozen=True)
class Decision:
    """Whether a pair becomes one, why, and what was estimated for it."""

    fuse: bool
    reason: str
    estimate: Estimate | None = None


@dataclass
class DecisionLog:
    """Prints one line for each pair that a pass looked at, if it is asked to."""

    pass_name: str
    enabled: bool
    stream: TextIO = field(default_factory=lambda: sys.stderr)

    def pair(self, producer: Operation, reader: Operation, value: SSAValue, said: Decision) -> None:
        """`fuse-elementwise: prims.add -> prims.mul: saves 8 bytes, adds 0 flops: fused: ...`."""
        if not self.enabled:
            return
        saved = bytes_saved(value) if said.estimate is None else said.estimate.bytes_saved
        flops = 0 if said.estimate is None else said.estimate.flops_added
        verdict = "fused" if said.fuse else "not fused"
        print(
            f"{self.pass_name}: {label_of(producer)} -> {label_of(reader)}: "
            f"saves {saved} bytes, adds {flops} flops: {verdict}: {said.reason}",
            file=self.stream,
        )

    def siblings(self, one: Operation, other: Operation, value: SSAValue, said: Decision) -> None:
        """`merge-siblings: prims.sum | prims.amax: saves 64 bytes: fused: ...`."""
        if not self.enabled:
            return
        saved = value_bytes(value) if said.estimate is None else said.estimate.bytes_saved
        verdict = "fused" if said.fuse else "not fused"
        print(
            f"{self.pass_name}: {label_of(one)} | {label_of(other)}: "
            f"saves {saved} bytes: {verdict}: {said.reason}",
            file=self.stream,
        )

    def neighbours(self, one: Operation, other: Operation, said: Decision) -> None:
        """`merge-small-kernels: join, join: fused: ...`."""
        if self.enabled:
            verdict = "fused" if said.fuse else "not fused"
            labels = f"{label_of(one)}, {label_of(other)}"
            print(f"{self.pass_name}: {labels}: {verdict}: {said.reason}", file=self.stream)


def bytes_saved(value: SSAValue) -> int:
    """Traffic that goes if one reader no longer reads `value`, and its store if it is the only."""
    size = value_bytes(value)
    return 2 * size if value.has_one_use() else size


def decide(
    producer: GenericOp,
    op: GenericOp,
    value: SSAValue,
    machine: Roofline,
    *,
    padded: bool = False,
) -> Decision:
    """Whether evaluating the pointwise producer inside this reader beats storing its result."""
    said = override(producer)
    if said is not None:
        thought = estimate(producer, op, value, machine, padded=padded)
        return Decision(said == "always", f'{FUSE} = "{said}"', thought)
    repeated = prod(op.extents) > prod(producer.extents)
    if value.has_one_use() and not repeated and not padded:
        return Decision(True, "nothing is computed twice")  # asked first: no walk over the body
    if not padded and body_cost(producer) == 0:
        return Decision(True, "it computes nothing")
    thought = estimate(producer, op, value, machine, padded=padded)
    return Decision(thought.pays, str(thought), thought)
