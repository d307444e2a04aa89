"""Helpers of these tests stand beside them."""

import sys
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from lamina.lowering import pipeline as pipelines

sys.path.append(str(Path(__file__).parent))


@pytest.fixture
def states_asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The passes that a program is looked at for, in order, while the test runs."""
    asked: list[str] = []
    verify = pipelines.verify_state

    def noted(module: ModuleOp, name: str) -> None:
        asked.append(name)
        verify(module, name)

    monkeypatch.setattr(pipelines, "verify_state", noted)
    return asked
