"""Which version stands for the sizes of a call, and how often that takes a look at the program."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest
from xdsl.dialects.builtin import ModuleOp

from lamina.dialects.errors import InputError, UnsupportedError
from lamina.dialects.sizes import Range, SizeName
from lamina.lowering.choose_padding import Padding, Tried
from lamina.runtime.size_versions import VARYING, MakePadded, Versions


def test_sizes_with_room_in_a_version_need_no_other() -> None:
    """What room a version has is asked once: it may take a trial of the whole program."""
    asked: list[object] = []

    def largest(sizes: object) -> int:
        asked.append(sizes)
        return 1

    names = {text: SizeName(text, Range(0, 5000)) for text in ("n", "m")}
    padding = Padding({"n": "rows", "m": "masked"}, largest=largest)
    versions = _versions(names, padding, "padded")
    made = versions.find({"n": 3, "m": 7})
    assert (dict(made.sizes), len(asked)) == ({"n": 1024, "m": 256}, 1)
    assert versions.find({"n": 1000, "m": 256}) is made
    assert versions.find({"n": 0, "m": 1}) is made
    assert len(asked) == 1
    assert versions.find({"n": 3, "m": 257}) is not made
    assert versions.find({"n": 3, "m": 1024}) is versions.find({"n": 3, "m": 300})
    assert len(asked) == 2


@pytest.mark.parametrize("policy", ["auto", "padded"])
def test_room_that_the_program_does_not_fit_is_not_made(policy: str) -> None:
    """Padding was tried with other numbers: where these fit alone, each set of sizes has code."""

    def largest(sizes: object) -> int:
        raise InputError("a window of 5 does not fit a padded dim of size 2")

    names = {text: SizeName(text, Range(0, 5000)) for text in ("n", "m")}
    padding = Padding({"n": "masked", "m": "exact"}, "of m", largest=largest)
    versions = _versions(names, padding, policy)
    if policy == "padded":
        with pytest.raises(UnsupportedError):
            versions.find({"n": 3, "m": 7})
        return
    for sizes in ({"n": 3, "m": 7}, {"n": 4, "m": 5}, {"n": 9, "m": 5}):
        assert versions.find(sizes).is_exact
    assert versions.sizes.reason is not None and "a window of 5" in versions.sizes.reason


def test_steady_sizes_are_numbers_until_another_comes() -> None:
    """Of features one number is known, so that arguments are read as they are; of the second number
    on a version takes all."""
    names = {text: SizeName(text, Range(0, 5000)) for text in ("n", "f")}
    padding = Padding({"n": "rows", "f": "rows"}, largest=lambda sizes: 1)
    made: list[list[str]] = []

    def padded(sizes: object, numbers: Collection[str], padding: Padding) -> None:
        made.append(list(numbers))

    versions = _versions(names, padding, VARYING, padded, ["f"])
    first = versions.find({"n": 3, "f": 128})
    assert dict(first.sizes) == {"n": 1024, "f": 128}
    assert versions.find({"n": 700, "f": 128}) is first
    second = versions.find({"n": 3, "f": 64})
    assert dict(second.sizes) == {"n": 1024, "f": 1024}
    assert versions.find({"n": 9, "f": 65}) is second
    assert versions.find({"n": 9, "f": 128}) is first
    assert made == [["f"], []]


def test_steady_sizes_that_are_no_numbers_are_padded() -> None:
    names = {text: SizeName(text, Range(0, 5000)) for text in ("n", "f")}
    padding = Padding({"n": "rows", "f": "rows"}, largest=lambda sizes: 1)

    def padded(sizes: object, numbers: Collection[str], padding: Padding) -> None:
        if numbers:
            raise UnsupportedError("an op", "takes no number there")

    versions = _versions(names, padding, VARYING, padded, ["f"])
    assert dict(versions.find({"n": 3, "f": 128}).sizes) == {"n": 1024, "f": 1024}


@pytest.mark.parametrize("policy", ["padded", "auto"])
def test_other_policies_have_no_steady_sizes(policy: str) -> None:
    names = {text: SizeName(text, Range(0, 5000)) for text in ("n", "f")}
    padding = Padding({"n": "rows", "f": "rows"}, largest=lambda sizes: 1)
    versions = _versions(names, padding, policy, steady=["f"])
    versions.find({"n": 4, "f": 128})
    assert dict(versions.find({"n": 3, "f": 127}).sizes) == {"n": 1024, "f": 1024}


@pytest.mark.parametrize("way", ["masked", "rows"])
def test_sizes_that_grow_have_room_for_a_generation(way: str) -> None:
    names = {text: SizeName(text, Range(0, 5000)) for text in ("n", "g")}
    padding = Padding({"n": "masked", "g": way}, growing=frozenset(["g"]))
    versions = _versions(names, padding, "padded")
    assert dict(versions.find({"n": 3, "g": 3}).sizes) == {"n": 256, "g": 1024}
    assert dict(versions.find({"n": 3, "g": 1025}).sizes) == {"n": 256, "g": 4096}


def test_what_was_tried_is_for_the_first_who_asks() -> None:
    """Others would change the same program, and nobody keeps one that fits no version."""
    one, other = ModuleOp([]), ModuleOp([])
    padding = Padding({"n": "rows"}, tried=Tried({"n": 64}, one))
    assert padding.taken({"n": 64}) is one
    assert padding.taken({"n": 64}) is None
    padding = Padding({"n": "rows"}, tried=Tried({"n": 64}, other))
    assert padding.taken({"n": 256}) is None
    assert padding.taken({"n": 64}) is None


def _nothing(sizes: Mapping[str, int], numbers: Collection[str], padding: Padding) -> None:
    """What a padded version is made of, of which nothing is asked."""


def _versions(
    names: Mapping[str, SizeName],
    padding: Padding,
    policy: str,
    padded: MakePadded = _nothing,
    steady: Collection[str] = (),
) -> Versions:
    """Versions of a program that is padded so, none of whose arguments has elements."""
    return Versions(names, dict, padded, lambda likely: padding, policy, lambda *_: 1, steady)
