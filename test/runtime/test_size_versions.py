"""Which version stands for the sizes of a call, and how often that takes a look at the program."""

from __future__ import annotations

from lamina.dialects.sizes import Range, SizeName
from lamina.lowering.choose_padding import Padding
from lamina.runtime.size_versions import Versions


def test_sizes_with_room_in_a_version_need_no_other() -> None:
    """What room a version has is asked once: it may take a trial of the whole program."""
    asked: list[object] = []

    def largest(sizes: object) -> int:
        asked.append(sizes)
        return 1

    names = {text: SizeName(text, Range(0, 5000)) for text in ("n", "m")}
    padding = Padding({"n": "rows", "m": "masked"}, largest=largest)
    versions = Versions(
        names, lambda sizes: None, lambda sizes, numbers: None, lambda: padding, "padded", len
    )
    made = versions.find({"n": 3, "m": 7})
    assert (dict(made.sizes), len(asked)) == ({"n": 1024, "m": 256}, 1)
    assert versions.find({"n": 1000, "m": 256}) is made
    assert versions.find({"n": 0, "m": 1}) is made
    assert len(asked) == 1
    assert versions.find({"n": 3, "m": 257}) is not made
    assert versions.find({"n": 3, "m": 1024}) is versions.find({"n": 3, "m": 300})
    assert len(asked) == 2
