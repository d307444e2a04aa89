"""A sample of ONNX's own tests of ops; `python test/conformance/onnx_nodes.py` runs all."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx", reason="onnx is not installed")
import onnx_nodes


def test_a_sample_of_node_tests() -> None:
    """None is wrong, and what is refused stands in the list."""
    refused = onnx_nodes.read_refused()
    outcomes = [onnx_nodes.judge(case) for case in list(onnx_nodes.cases())[::24]]
    assert not [o for o in outcomes if o.verdict == "wrong"]
    assert not [o for o in outcomes if o.verdict == "refused" and o.name not in refused]
    passed = [o for o in outcomes if o.verdict in ("passed", "bound")]
    assert len(passed) > 0.7 * len(outcomes)


def test_reasons_name_what_is_refused() -> None:
    assert all(":" in reason for reason in onnx_nodes.read_refused().values())
