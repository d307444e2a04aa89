"""Which version stands for the sizes of a call, and how often that takes a look at the program."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from lamina.dialects.errors import InputError, UnsupportedError
from lamina.dialects.sizes import Range, SizeName
from lamina.lowering.choose_padding import Padding
from lamina.runtime.size_versions import VARYING, Versions


def test_sizes_with_room_in_a_version_need_no_other() -> None:
    """What room a version has is asked once: it may take a trial of the whole program."""
    asked: list[object] = []

    def largest(sizes: object) -> int:
        asked.append(sizes)
        return 1

    names = {text: SizeName(text, Range(0, 5000)) for text in ("n", "m")}
    padding = Padding({"n": "rows", "m": "masked"}, largest=largest)
    versions = Versions(
        names,
        lambda sizes: None,
        lambda sizes, numbers, padding: None,
        lambda likely: padding,
        "padded",
        len,
    )
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
    versions = Versions(
        names,
        dict,
        lambda sizes, numbers, padding: None,
        lambda likely: padding,
        policy,
        lambda sizes: 1,
    )
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

    versions = Versions(
        names, dict, padded, lambda likely: padding, VARYING, lambda sizes: 1, ["f"]
    )
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

    versions = Versions(
        names, dict, padded, lambda likely: padding, VARYING, lambda sizes: 1, ["f"]
    )
    assert dict(versions.find({"n": 3, "f": 128}).sizes) == {"n": 1024, "f": 1024}


@pytest.mark.parametrize("policy", ["padded", "auto"])
def test_other_policies_have_no_steady_sizes(policy: str) -> None:
    names = {text: SizeName(text, Range(0, 5000)) for text in ("n", "f")}
    padding = Padding({"n": "rows", "f": "rows"}, largest=lambda sizes: 1)
    versions = Versions(
        names,
        dict,
        lambda sizes, numbers, padding: None,
        lambda likely: padding,
        policy,
        lambda sizes: 1,
        ["f"],
    )
    versions.find({"n": 4, "f": 128})
    assert dict(versions.find({"n": 3, "f": 127}).sizes) == {"n": 1024, "f": 1024}
