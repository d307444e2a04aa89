"""Sorting."""

from __future__ import annotations

from lamina.frontends.onnx.node import Node
from lamina.frontends.onnx.table import Result, imports


@imports("TopK")
def top_k(n: Node) -> Result:
    """The k largest or smallest along an axis; of equal ones the first."""
    k = int(n.known(1).ravel()[0]) if n.get(1) is not None else int(n.attr("k"))
    largest = bool(n.attr("largest", 1))
    return n.op("topk.default", n[0], k, n.axis(-1), largest, True)
