"""The generated reference: complete, and made from what the tools use."""

from __future__ import annotations

from pathlib import Path

import pytest

from lamina.dialects.context import load_dialect
from lamina.dialects.nearest_ops import op_names
from lamina.passes.registry import PASSES
from lamina.tools.constants import constants
from lamina.tools.generate_docs import generate, main


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("generated")
    return {path.name: path.read_text() for path in generate(folder)}


@pytest.mark.parametrize("layer", ["aten", "core_aten", "prims"])
def test_every_op_has_a_row_with_its_schema(layer: str, pages: dict[str, str]) -> None:
    rows = [row for row in pages[f"{layer}.md"].splitlines() if row.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == sorted(op_names(load_dialect(layer)))
    # op, arguments, results, tags: a bar inside a cell is escaped
    assert all(row.replace("\\|", "").count("|") == 5 for row in rows)


def test_row_says_what_torch_says(pages: dict[str, str]) -> None:
    row = "| `aten.relu_.default` | `Tensor(a!) self` | `Tensor(a!)` |"
    assert row in pages["aten.md"]


def test_loop_ops_are_described(pages: dict[str, str]) -> None:
    for name in op_names(load_dialect("loop")):
        section = pages["loop.md"].partition(f"## `{name}`\n")[2].partition("## ")[0]
        assert len(section.split()) > 3, name


def test_every_pass_is_described(pages: dict[str, str]) -> None:
    for name in PASSES:
        assert f"## `{name}`\n" in pages["passes.md"]
    options = "target: str = host, print-decisions: bool = false"
    assert f"Options: `{{{options}}}`" in pages["passes.md"]


def test_constants_are_explained(pages: dict[str, str]) -> None:
    row = "| `MAX_CONTRACTIONS` | 2 | `passes/fusion/fusion_rules.py` | Products of one kernel"
    assert row in pages["constants.md"]
    assert "| `CHUNK_WORK` | 1 << 14 | `passes/cost/row_limits.py` |" in pages["constants.md"]


def test_numbers_that_passes_decide_by_say_what_they_are() -> None:
    passes = [found for found in constants() if found.path.startswith("passes/")]
    assert len(passes) > 80
    assert [found for found in passes if found.meaning is None] == []


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 0
    assert sorted(Path(line).name for line in capsys.readouterr().out.splitlines()) == [
        "aten.md",
        "chlo.md",
        "constants.md",
        "control.md",
        "core_aten.md",
        "index.md",
        "lamina.md",
        "loop.md",
        "mhlo.md",
        "passes.md",
        "prims.md",
        "sdy.md",
        "stablehlo.md",
    ]
    assert main(["--nonsense"]) == 1
