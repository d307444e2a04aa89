"""The table of passes: complete, importable, named like its files, and tested."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import is_dataclass
from pathlib import Path

import pytest
from xdsl.passes import ModulePass
from xdsl.universe import XDSL_UNIVERSE

from lamina.passes.registry import PASSES, pass_factories

ROOT = Path(__file__).resolve().parents[2]


def stem_of(name: str) -> str:
    """`fuse-elementwise` to `fuse_elementwise`; `convert-a-to-b` may be just `a_to_b`."""
    return name.replace("-", "_")


@pytest.mark.parametrize("name", PASSES)
def test_row_names_a_pass(name: str) -> None:
    pass_type = pass_factories()[name]()
    assert issubclass(pass_type, ModulePass)
    assert pass_type.name == name
    assert is_dataclass(pass_type), "options are dataclass fields"
    assert pass_type.__doc__ and not pass_type.__doc__.startswith(pass_type.__name__ + "(")
    assert pass_type.__doc__ != ModulePass.__doc__


@pytest.mark.parametrize("name", PASSES)
def test_file_is_named_like_the_pass(name: str) -> None:
    module, _, attribute = PASSES[name].partition(":")
    folder, last = module.split(".")[1], module.split(".")[-1]
    assert folder in ("passes", "lowering")
    assert last in (stem_of(name), stem_of(name).removeprefix("convert_"))
    assert attribute.endswith("Pass")


@pytest.mark.parametrize("name", PASSES)
def test_pass_has_a_test_of_the_same_name(name: str) -> None:
    found = [
        path
        for folder in ("passes", "lowering")
        for stem in {stem_of(name), stem_of(name).removeprefix("convert_")}
        for path in (ROOT / "test" / folder).rglob(f"{stem}.mlir")
    ]
    assert found, f"write test/passes/{stem_of(name)}.mlir"
    assert all("RUN: lamina-opt" in path.read_text() for path in found)


def test_every_pass_is_registered(syntax_of: Callable[[Path], ast.Module]) -> None:
    registered = set(PASSES.values())
    for folder in ("passes", "lowering"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in syntax_of(path).body:
                bases = [base.id for base in getattr(node, "bases", []) if hasattr(base, "id")]
                is_pass = any(base.endswith("Pass") for base in bases)
                if isinstance(node, ast.ClassDef) and is_pass:
                    parts = path.relative_to(ROOT).with_suffix("").parts
                    module = ".".join(("lamina", *parts)).removesuffix(".__init__")
                    abstract = node.name.startswith("_") or "ABC" in bases
                    package = module.rsplit(".", 1)[0]
                    places = {f"{module}:{node.name}", f"{package}:{node.name}"}
                    assert abstract or places & registered, f"{path}: {node.name} has no row"


def test_no_row_hides_a_pass_of_xdsl() -> None:
    assert not set(PASSES) & set(XDSL_UNIVERSE.all_passes)
