"""What tests of the front ends share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))  # helpers of tests stand beside them


@pytest.fixture
def inference() -> Iterator[None]:
    """Dynamo has compiled nothing before; the same random numbers in each test; no gradients."""
    torch = pytest.importorskip("torch")
    torch._dynamo.reset()
    torch.manual_seed(0)
    with torch.no_grad():
        yield
