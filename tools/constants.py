"""The numbers that decisions of the compiler are made with: what each is, and where it stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

FOLDERS = ("dialects/loop", "codegen", "passes", "lowering", "runtime")
"""Parts of the package that decide: the others parse, print and import."""


@dataclass(frozen=True)
class Constant:
    """A number of a module: its name, the expression that it is, the file, and what it says."""

    name: str
    value: str
    path: str
    meaning: str | None


def constants() -> list[Constant]:
    """All numbers that modules define in capitals at their top, in the order of the files."""
    spec = find_spec("lamina")
    assert spec is not None and spec.origin is not None
    root = Path(spec.origin).parent
    files = sorted(path for folder in FOLDERS for path in (root / folder).rglob("*.py"))
    return [found for path in files for found in _of_file(path, root)]


def _of_file(path: Path, root: Path) -> Iterator[Constant]:
    body = ast.parse(path.read_text()).body
    for number, statement in enumerate(body):
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            following = body[number + 1] if number + 1 < len(body) else None
            for name, value in _assigned(statement):
                if name.isupper() and not name.startswith("_") and _is_number(value):
                    place = str(path.relative_to(root))
                    yield Constant(name, ast.unparse(value), place, _text(following))


def _assigned(statement: ast.Assign | ast.AnnAssign) -> Iterator[tuple[str, ast.expr]]:
    """Names and their values, also those of `A, B = 1, 2`."""
    value = statement.value
    assert value is not None
    for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
        if isinstance(target, ast.Name):
            yield target.id, value
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for name, entry in zip(target.elts, value.elts, strict=False):
                if isinstance(name, ast.Name):
                    yield name.id, entry


def _is_number(value: ast.expr) -> bool:
    inner = [node for node in ast.walk(value) if isinstance(node, ast.expr)]
    plain = all(isinstance(node, ast.Constant | ast.BinOp | ast.UnaryOp) for node in inner)
    leaves = [node.value for node in inner if isinstance(node, ast.Constant)]
    return plain and all(type(leaf) in (int, float) for leaf in leaves)


def _text(statement: ast.stmt | None) -> str | None:
    """What a docstring under an assignment says, in one line."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return " ".join(str(statement.value.value).split())
    return None
