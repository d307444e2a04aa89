"""The project's source files, as the conventions' tests see them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    """The root folder of the project."""
    return ROOT


@pytest.fixture(scope="session")
def syntax_of() -> Callable[[Path], ast.Module]:
    """Parses a file, once a session."""
    cache: dict[Path, ast.Module] = {}

    def parse(path: Path) -> ast.Module:
        if path not in cache:
            cache[path] = ast.parse(path.read_text(), str(path))
        return cache[path]

    return parse
