"""Layers import downwards only, and heavy packages stay where they belong."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

LAYERS = ("dialects", "codegen", "passes", "lowering", "runtime", "frontends", "tools")
"""Each may import itself and what stands before it."""

FOREIGN: dict[str, tuple[str, ...]] = {
    "torch": ("frontends",),
    "llvmlite": ("codegen", "runtime"),
}
"""Package to the layers that may import it."""

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))
SyntaxOf = Callable[[Path], ast.Module]


def identify(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and full dotted name of everything imported, also inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import"
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"


def test_imports_go_down(syntax_of: SyntaxOf) -> None:
    wrong = [f"{identify(path)}:{said}" for path in SOURCES for said in upwards(path, syntax_of)]
    assert wrong == []


def upwards(path: Path, syntax_of: SyntaxOf) -> Iterator[str]:
    """Imports of a file that its layer may not have, with their lines."""
    layer = path.relative_to(ROOT).parts[0]
    allowed = LAYERS[: LAYERS.index(layer) + 1]
    for line, name in imports(syntax_of(path)):
        package, *rest = name.split(".")
        if package in LAYERS:
            yield f"{line}: import it as lamina.{name}"
        if package == "lamina" and rest and rest[0] in LAYERS and rest[0] not in allowed:
            yield f"{line}: {layer} is below {rest[0]}"
        if package in FOREIGN and layer not in FOREIGN[package]:
            yield f"{line}: {layer} may not import {package}"


CIRCLES: dict[str, str] = {
    "lamina.dialects.loop.access": "a nest verifies the notes that are written on it",
    "lamina.codegen.vector_math": "functions are made of functions",
    "lamina.lowering.bound_dynamic_shapes.pointwise": "what has no row is bounded elementwise",
}
"""Modules that import one another, by the first of each group, and why."""


def module_name(path: Path) -> str:
    return ".".join(("lamina", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(
        ".__init__"
    )


def test_circles_of_imports_are_known(syntax_of: SyntaxOf) -> None:
    """Also those that imports inside functions hide; what is only for types does not count."""
    modules = {module_name(path): path for path in SOURCES}
    graph: dict[str, set[str]] = {}
    for name, path in modules.items():
        found = {imported for _, imported in imports(without_typing(syntax_of(path)))}
        graph[name] = {
            target
            for imported in found
            for target in (imported, imported.rpartition(".")[0])
            if target in modules
            and target != name
            and (target == imported or imported not in modules)
        }
    assert sorted(first for first in circles(graph)) == sorted(CIRCLES)


def without_typing(tree: ast.Module) -> ast.Module:
    body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
    ]
    return ast.Module(body, [])


def circles(graph: dict[str, set[str]]) -> Iterator[str]:
    """The first module, by name, of each group in which all reach one another."""
    reached = {name: reach(graph, name) for name in graph}
    seen: set[str] = set()
    for name in sorted(graph):
        if name not in seen and name in reached[name]:
            seen |= {other for other in reached[name] if name in reached[other]}
            yield name


def reach(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    pending = [start]
    while pending:
        for target in graph[pending.pop()]:
            if target not in found:
                found.add(target)
                pending.append(target)
    return found


def test_codegen_knows_no_tensor_ops(syntax_of: SyntaxOf) -> None:
    """Code generation starts from scheduled loops; a table dialect in it would be a short cut."""
    tables = ("lamina.dialects.aten", "lamina.dialects.core_aten", "lamina.dialects.prims")
    for path in (ROOT / "codegen").rglob("*.py"):
        for line, name in imports(syntax_of(path)):
            assert not name.startswith(tables), f"{identify(path)}:{line}: {name}"


def test_public_api_is_lazy(syntax_of: SyntaxOf) -> None:
    """`import lamina` imports nothing of ours at once: each tool would pay for it.

    But for what has to see every module of the compiler come in.
    """
    tree = syntax_of(ROOT / "src" / "lamina" / "__init__.py")
    checking = {
        id(inner)
        for node in tree.body
        if isinstance(node, ast.If)
        for inner in ast.walk(node)  # `if TYPE_CHECKING:`
    }
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in checking:
            module = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
            if [name.name for name in node.names] == ["modifications"]:
                continue
            assert not (module or "").startswith("lamina."), f"line {node.lineno}: {module}"
