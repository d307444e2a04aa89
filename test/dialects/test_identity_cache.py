"""Functions that are called once for each object, whatever it is equal to."""

import pytest

from lamina.dialects.identity_cache import MOST, once_an_object


def test_the_same_objects_are_asked_once_and_equal_ones_anew() -> None:
    asked: list[object] = []

    @once_an_object
    def length(text: str, *others: str) -> int:
        asked.append((text, others))
        return len(text)

    one, other = "".join(["a", "b"]), "".join(["a", "b"])
    assert one is not other
    assert [length(one), length(one), length(one, other), length(one, other)] == [2] * 4
    assert asked == [(one, ()), (one, (other,))]
    assert length(other) == length(other, one) == 2
    assert len(asked) == 4


def test_an_object_that_was_dropped_is_not_taken_for_a_new_one() -> None:
    @once_an_object
    def first(items: tuple[int]) -> int:
        return items[0]

    # Python gives the memory of a dropped tuple to the next one, were it dropped.
    assert [first((number,)) for number in range(3 * MOST)] == list(range(3 * MOST))


def test_what_raises_raises_again() -> None:
    @once_an_object
    def refuse(text: str) -> None:
        raise ValueError(text)

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            refuse("no")
