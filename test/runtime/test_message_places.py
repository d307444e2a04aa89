"""Programs that differ in locations only: one entry of the cache, each with its own lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina.dialects.errors import ExecutionError
from lamina.runtime.disk_cache import DiskCache
from lamina.runtime.executable import ProgramMetadata
from lamina.runtime.message_places import MessagePlaces

PROGRAM = """func.func @main(%x: tensor<7xf32>, %y: tensor<3xf32>)
    -> (tensor<3xf32>, tensor<3xf32>) {
  %m = aten.gt.Scalar(%x, other = 0) : (tensor<7xf32>) -> tensor<7xi1>
  %0 = aten.masked_select.default(%x, %m) : (tensor<7xf32>, tensor<7xi1>) -> tensor<?xf32>
  %n = aten.gt.Scalar(%x, other = 1) : (tensor<7xf32>) -> tensor<7xi1>
  %1 = aten.masked_select.default(%x, %n) : (tensor<7xf32>, tensor<7xi1>) -> tensor<?xf32>
  %2 = aten.add.Tensor(%0, %y) : (tensor<?xf32>, tensor<3xf32>) -> tensor<3xf32>
  %3 = aten.add.Tensor(%1, %y) : (tensor<?xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %2, %3 : tensor<3xf32>, tensor<3xf32>
}
"""
BOTH = PROGRAM.replace(" -> tensor<3xf32>\n", ' -> tensor<3xf32> loc("both")\n')


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(tmp_path))
    return tmp_path


def _entries(folder: Path) -> int:
    return len(list(folder.glob("??/*")))


def _message(text: str, name: str, count: int) -> str:
    """What a run says where `count` elements are above 0 and three above 1, or the other way."""
    x = np.array([2.0] * count + [-1.0] * (7 - count), np.float32)
    compiled = lamina.compile(lamina.parse(text, name=name))
    with pytest.raises(ExecutionError) as caught:
        compiled(x, np.ones(3, np.float32))
    return str(caught.value)


def test_each_program_names_its_own_line(folder: Path) -> None:
    first = _message(PROGRAM, "first.mlir", 5)
    entries = _entries(folder)
    assert first.startswith("first.mlir:7:3: aten.add.Tensor")
    second = _message("\n\n// moved\n" + PROGRAM.replace("  %2", "      %2"), "second.mlir", 5)
    assert second == first.replace("first.mlir:7:3", "second.mlir:10:7")
    assert _message(PROGRAM, "first.mlir", 5) == first
    assert _entries(folder) == entries, "the code is the same"


def test_ops_that_share_a_place_are_not_told_apart(folder: Path) -> None:
    assert "aten.add.Tensor" in _message(BOTH, "both.mlir", 5)
    apart = _message(PROGRAM, "apart.mlir", 5)
    assert apart.startswith("apart.mlir:7:3: ")


def test_places_that_begin_alike_are_kept_apart() -> None:
    places = MessagePlaces(("f:1", "f:1: g", "f:12"), "0 1 2")
    slot = {"kind": "check", "name": "c", "target": "f:12: x"}
    metadata = ProgramMetadata({"main": [slot]}, ("f:1: g: y", "f:1: y", "z", "f:13: w"))
    stored = places.numbered(metadata)
    assert stored.messages == ("{place 1}: y", "{place 0}: y", "z", "f:13: w")
    assert places.placed(stored) == metadata
    other = MessagePlaces(("a", "b", "c"), "0 1 2").placed(stored)
    assert other.arguments["main"][0]["target"] == "c: x"


def test_an_entry_that_numbers_other_places_is_compiled_anew(folder: Path) -> None:
    _message(PROGRAM, "first.mlir", 5)
    disk = DiskCache(folder)
    for path in folder.glob("??/*"):
        found = disk.get(path.stem)
        assert found is not None
        disk.put(path.stem, found[0], found[1].replace("{place 6}", "{place 600}"))
    assert _message(PROGRAM, "first.mlir", 5).startswith("first.mlir:7:3: ")
