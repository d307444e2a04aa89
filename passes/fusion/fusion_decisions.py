"""What the passes that fuse thought of a pair of nests: bytes saved, flops added, the reason."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import field, replace
from math import prod
from typing import TextIO

from xdsl.ir import Operation, SSAValue

from lamina.codegen.roofline import Roofline
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.labels import label_of
from lamina.dialects.records import mutable_record, record
from lamina.passes.cost.fusion_cost import body_cost, value_bytes
from lamina.passes.cost.fusion_estimate import Estimate
from lamina.passes.cost.fusion_model import estimate
from lamina.passes.fusion.fusion_override import FUSE, override


@record
class Decision:
    """Whether a pair becomes one, why, and what was estimated for it."""

    fuse: bool
    reason: str
    estimate: Estimate | None = None


class Refusal(Decision):
    """Why a pair stays two."""

    def __init__(self, reason: str, estimate: Estimate | None = None) -> None:
        super().__init__(False, reason, estimate)


@mutable_record
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

    def kernels(self, names: str, said: Decision, shared: SSAValue | None = None) -> None:
        """`merge-siblings: prims.sum | prims.amax: saves 64 bytes: fused: ...`.

        What is saved is told where both read a `shared` value.
        """
        if not self.enabled:
            return
        saved = ""
        if shared is not None:
            size = value_bytes(shared) if said.estimate is None else said.estimate.bytes_saved
            saved = f"saves {size} bytes: "
        verdict = "fused" if said.fuse else "not fused"
        print(f"{self.pass_name}: {names}: {saved}{verdict}: {said.reason}", file=self.stream)

    def choice(self, about: str, *, chosen: bool) -> None:
        """`choose-layouts: 3 results, ...: saves 2.10 us, costs 0.20 us: chosen`."""
        if self.enabled:
            verdict = "chosen" if chosen else "left"
            print(f"{self.pass_name}: {about}: {verdict}", file=self.stream)


def bytes_saved(value: SSAValue) -> int:
    """Traffic that goes if one reader no longer reads `value`, and its store if it is the only."""
    size = value_bytes(value)
    return 2 * size if value.has_one_use() else size


def overridden(nests: Iterable[Operation]) -> Decision | None:
    """What the program says itself of the fusion of these; that one is never fused goes first."""
    marks = {override(nest) for nest in nests}
    said = next((mark for mark in ("never", "always") if mark in marks), None)
    return None if said is None else Decision(said == "always", f'{FUSE} = "{said}"')


def decide(
    producer: GenericOp,
    op: GenericOp,
    value: SSAValue,
    machine: Roofline,
    *,
    padded: bool = False,
) -> Decision:
    """Whether evaluating the pointwise producer inside this reader beats storing its result."""
    if (said := overridden([producer])) is not None:
        return replace(said, estimate=estimate(producer, op, value, machine, padded=padded))
    repeated = prod(op.extents) > prod(producer.extents)
    if value.has_one_use() and not repeated and not padded:
        return Decision(True, "nothing is computed twice")  # asked first: no walk over the body
    if not padded and body_cost(producer) == 0:
        return Decision(True, "it computes nothing")
    thought = estimate(producer, op, value, machine, padded=padded)
    return Decision(thought.pays, str(thought), thought)
