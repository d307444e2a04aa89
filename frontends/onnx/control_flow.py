"""Branches and loops that are decided at import: one branch in place, iterations one by one."""

from __future__ import annotations

import numpy as np

from lamina.frontends.onnx.node import Node
from lamina.frontends.onnx.table import Result, imports
from lamina.frontends.onnx.values import Known, Value, shape_of

MOST_ITERATIONS = 64
"""Loops are written out up to this many iterations."""


@imports("If")
def branch(n: Node) -> Result:
    """The branch that a known condition chooses."""
    taken = "then_branch" if bool(n.known(0).ravel()[0]) else "else_branch"
    return n.program.subgraph(n, n.attr(taken), [])


@imports("Loop")
def loop(n: Node) -> Result:
    """A loop whose trip count and conditions are known."""
    body = n.attr("body")
    most = int(n.known(0).ravel()[0]) if n.get(0) is not None else MOST_ITERATIONS + 1
    condition: Value = n[1] if n.get(1) is not None else n.constant(np.asarray(True))
    carried = [v for v in n.inputs[2:] if v is not None]
    scanned: list[list[Value]] = [[] for _ in range(len(body.output) - 1 - len(carried))]
    for iteration in range(most):
        if not isinstance(condition, Known):
            raise n.needs(condition, "condition")
        if not condition.array.ravel()[0]:
            break
        if iteration >= MOST_ITERATIONS:
            raise n.refuse(f"loops of more than {MOST_ITERATIONS} iterations are not written out")
        counter = n.constant(np.asarray(iteration, np.int64))
        condition, *rest = n.program.subgraph(n, body, [counter, condition, *carried])
        for parts, value in zip(scanned, rest[len(carried) :], strict=True):
            parts.append(value)
        carried = rest[: len(carried)]
    return [*carried, *(_stacked(n, parts, 0) for parts in scanned)]


def _stacked(n: Node, parts: list[Value], axis: int) -> Value:
    if not parts:
        raise n.refuse("a loop without iterations that collects results")
    return n.op("stack.default", parts, axis)


@imports("Scan", first=9)
def scan(n: Node) -> Result:
    """Slices along axes, one after the other."""
    body, count = n.attr("body"), int(n.attr("num_scan_inputs"))
    values = [v for v in n.inputs if v is not None]
    carried, scanned = values[:-count], values[-count:]
    axes = n.ints("scan_input_axes") or [0] * count
    backward = n.ints("scan_input_directions") or [0] * count
    outputs = len(body.output) - len(carried)
    collected: list[list[Value]] = [[] for _ in range(outputs)]
    length = shape_of(scanned[0])[axes[0]]
    if length > MOST_ITERATIONS:
        raise n.refuse(f"scans of more than {MOST_ITERATIONS} steps are not written out")
    for step in range(length):
        given = [
            n.op("select.int", v, axis, length - 1 - step if back else step)
            for v, axis, back in zip(scanned, axes, backward, strict=True)
        ]
        made = n.program.subgraph(n, body, [*carried, *given])
        carried = made[: len(carried)]
        for parts, value in zip(collected, made[len(carried) :], strict=True):
            parts.append(value)
    out_axes = n.ints("scan_output_axes") or [0] * outputs
    turned = n.ints("scan_output_directions") or [0] * outputs
    return [
        *carried,
        *(
            _stacked(n, parts[::-1] if back else parts, axis)
            for parts, axis, back in zip(collected, out_axes, turned, strict=True)
        ),
    ]
