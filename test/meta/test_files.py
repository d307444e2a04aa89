"""Size, docstrings and names of the project's files."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = ("codegen", "dialects", "frontends", "lowering", "passes", "runtime", "tools")
OTHER = ("test", "bench", "examples")
LINES_AT_MOST = 400
LINES_EVER = 800
TABLE = re.compile(r"(^|_)(table|tables|schemas|ops_table)(_|\.py$)")
"""Files that are tables and not code may be long."""

LONGER_FOR_A_REASON: dict[str, str] = {}
"""Path to the reason why it is over the limit; `LINES_EVER` holds for it as well."""

SOURCES = sorted(p for folder in CODE for p in (ROOT / folder).rglob("*.py"))
EVERYTHING = SOURCES + sorted(p for folder in OTHER for p in (ROOT / folder).rglob("*.py"))


def identify(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_files_are_short() -> None:
    lengths = {
        identify(path): len(path.read_text().splitlines())
        for path in EVERYTHING
        if not TABLE.search(path.name)
    }
    assert [name for name, lines in lengths.items() if lines > LINES_EVER] == []
    long = {name for name, lines in lengths.items() if lines > LINES_AT_MOST}
    assert sorted(long - set(LONGER_FOR_A_REASON)) == [], "split them by family"


def test_recorded_long_files_exist() -> None:
    for name in LONGER_FOR_A_REASON:
        assert len((ROOT / name).read_text().splitlines()) > LINES_AT_MOST, f"{name}: drop the row"


def undocumented(tree: ast.Module) -> Iterator[str]:
    """Public classes and functions without a docstring, and methods of classes without bases
    (an override is documented where it is first declared)."""
    for node in tree.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef) or node.name.startswith("_"):
            continue
        if ast.get_docstring(node) is None:
            yield node.name
        if isinstance(node, ast.ClassDef) and not node.bases:
            for method in node.body:
                if (
                    isinstance(method, ast.FunctionDef)
                    and not method.name.startswith("_")
                    and ast.get_docstring(method) is None
                    and not any(getattr(d, "id", "") == "overload" for d in method.decorator_list)
                ):
                    yield f"{node.name}.{method.name}"


def test_public_names_have_docstrings(syntax_of: Callable[[Path], ast.Module]) -> None:
    missing: list[str] = []
    for path in SOURCES:
        tree = syntax_of(path)
        if (path.name != "__init__.py" or tree.body) and not ast.get_docstring(tree):
            missing.append(f"{identify(path)}: what it is for")
        missing += [f"{identify(path)}: {name}" for name in undocumented(tree)]
    assert missing == []


def test_signatures_have_types(syntax_of: Callable[[Path], ast.Module]) -> None:
    missing = [f"{identify(path)}:{at}" for path in SOURCES for at in untyped(syntax_of(path))]
    assert missing == []


def untyped(tree: ast.Module) -> Iterator[str]:
    """Functions with an argument or a result that has no type, with their lines."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        bare = [a.arg for a in arguments if a.annotation is None and a.arg not in ("self", "cls")]
        if bare or node.returns is None:
            yield f"{node.lineno}: {node.name}({', '.join(bare)})"


def test_names_say_what_is_inside() -> None:
    vague = ("utils", "util", "helpers", "misc", "common")
    names = {identify(path): path.stem for path in SOURCES}
    assert [name for name, stem in names.items() if stem in vague] == []
    usual = re.compile(r"__init__|[a-z][a-z0-9_]*")
    assert [name for name, stem in names.items() if not usual.fullmatch(stem)] == []


def test_folders_of_tests_are_no_packages() -> None:
    """A `test` package would hide the standard library's."""
    assert not list((ROOT / "test").rglob("__init__.py"))


def test_tests_mirror_the_source_folders() -> None:
    allowed = {*CODE, *OTHER, "meta", "interpreters", "end_to_end", "docs", "data", "conformance"}
    assert {path.name for path in (ROOT / "test").iterdir() if path.is_dir()} - {
        "__pycache__",
        "Output",
    } <= allowed


def test_lit_files_run_something() -> None:
    """A FileCheck file without a RUN line would pass unseen; one without CHECK checks nothing."""
    checks = re.compile(r"CHECK[A-Z_-]*:|--check-prefix|%roundtrip|%invalid|expected-error@")
    texts = {identify(path): path.read_text() for path in sorted((ROOT / "test").rglob("*.mlir"))}
    assert [name for name, text in texts.items() if "RUN:" not in text] == []
    assert [name for name, text in texts.items() if not checks.search(text)] == []


@pytest.mark.parametrize("layer", CODE)
def test_every_source_folder_is_a_package(layer: str) -> None:
    """A folder without `__init__.py` would be missing from the wheel."""
    for folder in {path.parent for path in (ROOT / layer).rglob("*.py")}:
        assert (folder / "__init__.py").is_file(), identify(folder)
