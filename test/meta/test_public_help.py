"""`help()` of every public name says enough to use it: what it takes, and an example."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import lamina

CLASSES = {name: o for name in lamina.__all__ if inspect.isclass(o := getattr(lamina, name))}
FUNCTIONS = {name: o for name in lamina.__all__ if inspect.isfunction(o := getattr(lamina, name))}
USED = {n: c for n, c in CLASSES.items() if not issubclass(c, Exception)}
"""Classes of which a user makes or gets objects to call; `extend` is the class `Extension`."""
MADE_BY_LAMINA = (
    "Body",
    "Builder",
    "Compiled",
    "Conversion",
    "CoreBuilder",
    "LoopBuilder",
    "NativeEntry",
    "PrimsBuilder",
)
"""Classes whose objects come from Lamina's own functions: nobody gives their arguments."""


def _methods(kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, member in vars(kind).items():
        inner = getattr(member, "__func__", getattr(member, "fget", member))
        if not name.startswith("_") and inspect.isfunction(inner):
            yield name, inner


METHODS = {
    f"{name}.{method}": (kind, function)
    for name, kind in CLASSES.items()
    for method, function in _methods(kind)
}


def _parameters(function: Callable[..., Any]) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def _unsaid(text: str, parameters: list[str]) -> list[str]:
    return [name for name in parameters if not re.search(rf"\b{name}\b", text)]


def _examples(text: str) -> list[str]:
    """The indented pieces of a docstring."""
    pieces = re.split(r"\n\n(?=    \S)", text)[1:]
    return [inspect.cleandoc(re.split(r"\n\n(?=\S)", piece)[0]) for piece in pieces]


def test_all_public_names_are_in_the_help_of_the_package() -> None:
    text = inspect.getdoc(lamina) or ""
    assert _unsaid(text, lamina.__all__) == []


@pytest.mark.parametrize("name", [*FUNCTIONS, *CLASSES])
def test_a_public_name_says_what_it_takes(name: str) -> None:
    named: Any = getattr(lamina, name)
    text = inspect.getdoc(named) or ""
    assert len(text.split()) >= 10, text
    if name in MADE_BY_LAMINA or (name in CLASSES and name not in USED):
        return
    assert _unsaid(text, _parameters(named)) == []


@pytest.mark.parametrize("name", [*FUNCTIONS, *USED])
def test_a_public_name_has_an_example(name: str) -> None:
    examples = _examples(inspect.getdoc(getattr(lamina, name)) or "")
    assert examples
    for example in examples:
        ast.parse(example)


@pytest.mark.parametrize("name", METHODS)
def test_a_public_method_says_what_it_takes(name: str) -> None:
    kind, function = METHODS[name]
    text = inspect.getdoc(function) or ""
    assert len(text.split()) >= 5, text
    assert _unsaid(f"{text}\n{inspect.getdoc(kind)}", _parameters(function)) == []
