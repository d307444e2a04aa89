"""docs/design.md names what exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lamina.lowering.pipeline import LAYERS, STAGES

ROOT = Path(__file__).resolve().parents[2]
DESIGN = (ROOT / "docs" / "design.md").read_text()


@pytest.mark.parametrize("name", [name for stage in STAGES for name in stage.passes])
def test_every_step_of_the_pipeline_is_described(name: str) -> None:
    assert f"`{name}`" in DESIGN


def test_layers_are_listed_in_order() -> None:
    rows = re.findall(r"^\| `(\w+)`", DESIGN.partition("## Folders")[0], re.M)
    assert tuple(row for row in rows if row in LAYERS) == LAYERS


def test_files_it_names_exist() -> None:
    for path in re.findall(r"`((?:[a-z_]+/)+[a-z_]*(?:\.\w+)?)`", DESIGN):
        assert (ROOT / path).exists(), path
    for module in re.findall(r"`lamina\.((?:\w+\.)+[a-z_]+)`", DESIGN):
        assert (ROOT / module.replace(".", "/")).with_suffix(".py").exists(), module


def test_links_lead_somewhere() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
