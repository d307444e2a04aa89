"""The template command, in a copy of the project: what it writes works as it is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("codegen", "dialects", "frontends", "lowering", "passes", "runtime", "src", "tools")
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The project's sources in a folder of their own."""
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, tmp_path / name, symlinks=True, ignore=ignored)
    for name in ("pyproject.toml", "lit.cfg.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def run(copy: Path) -> Run:
    """Runs a module of the copy."""

    def run(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", module, *arguments],
            cwd=copy,
            env=os.environ | {"PYTHONPATH": str(copy / "src")},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def check_with_filecheck(test: Path, output: str) -> None:
    filecheck = Path(sys.executable).with_name("filecheck")
    done = subprocess.run(
        [filecheck, test], input=output, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def lint(*paths: Path) -> None:
    ruff = Path(sys.executable).with_name("ruff")
    if ruff.exists():
        for command in ("check", "format --check"):
            done = subprocess.run(
                [ruff, *command.split(), *paths], capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stdout


def test_new_pass_works_as_it_is(copy: Path, run: Run) -> None:
    made = run("lamina.tools.new", "pass", "drop-same-reshape", "--summary", "Drop reshapes")
    assert made.returncode == 0, made.stderr
    assert made.stdout.splitlines() == [
        "passes/drop_same_reshape.py",
        "test/passes/drop_same_reshape.mlir",
        "passes/registry.py",
    ]
    test = copy / "test" / "passes" / "drop_same_reshape.mlir"
    done = run(
        "lamina.tools.lamina_opt", str(test), "--split-input-file", "-p", "drop-same-reshape"
    )
    assert done.returncode == 0, done.stderr
    check_with_filecheck(test, done.stdout)
    lint(copy / "passes" / "drop_same_reshape.py", copy / "passes" / "registry.py")
    again = run("lamina.tools.new", "pass", "drop-same-reshape")
    assert again.returncode == 1 and "exists" in again.stderr


@pytest.mark.parametrize("name", ["Bad_Name", "fuse-elementwise", "-x", ""])
def test_bad_pass_names_are_refused(name: str, copy: Path, run: Run) -> None:
    before = (copy / "passes" / "registry.py").read_text()
    made = run("lamina.tools.new", "pass", name)
    assert made.returncode == 1
    assert "error" in made.stderr and "Traceback" not in made.stderr
    assert (copy / "passes" / "registry.py").read_text() == before


@pytest.mark.parametrize("family", ["view", "linear_algebra"])
def test_new_lowering_of_an_aten_op_works_as_it_is(family: str, copy: Path, run: Run) -> None:
    name = "linalg_matrix_exp.default"
    made = run("lamina.tools.new", "op", "aten", name, "--family", family)
    assert made.returncode == 0, made.stderr
    folder = copy / "lowering" / "aten_to_core_aten"
    lint(folder / f"{family}.py", folder / "table.py")
    test = copy / "test" / "lowering" / "aten_to_core_aten" / "linalg_matrix_exp.mlir"
    done = run("lamina.tools.lamina_opt", str(test), "-p", "convert-aten-to-core-aten")
    assert done.returncode == 1
    check_with_filecheck(test, done.stderr)
    again = run("lamina.tools.new", "op", "aten", name, "--family", family)
    assert again.returncode == 1 and "lowered already" in again.stderr


def test_new_prim_gets_a_row_first(copy: Path, run: Run) -> None:
    made = run("lamina.tools.new", "op", "prims", "my_extension", "--family", "pointwise")
    assert made.returncode == 0, made.stderr
    listed = run("lamina.tools.lamina_opt", "--list-ops", "prims")
    assert "prims.my_extension" in listed.stdout.splitlines()
    test = copy / "test" / "lowering" / "prims_to_loop" / "my_extension.mlir"
    done = run("lamina.tools.lamina_opt", str(test), "-p", "convert-prims-to-loop")
    assert done.returncode == 1
    check_with_filecheck(test, done.stderr)


def test_op_that_no_table_has_names_near_ones(run: Run) -> None:
    made = run("lamina.tools.new", "op", "aten", "hardswisch.default", "--family", "view")
    assert made.returncode == 1
    assert "aten.hardswish.default" in made.stderr
