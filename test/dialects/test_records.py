"""Records beside the frozen dataclasses that they stand for."""

from __future__ import annotations

from dataclasses import KW_ONLY, FrozenInstanceError, dataclass, field, fields, replace
from typing import Any

import pytest

from lamina.dialects.records import mutable_record, record


def _classes(decorator: Any) -> tuple[Any, Any, Any]:
    """Three classes that a decorator has made: fields of all kinds, one below it, own methods."""

    @decorator
    class Base:
        """Fields of all kinds."""

        size: int
        names: tuple[str, ...] = ()
        note: str = field(default="", compare=False)
        hidden: float = field(default=0.5, repr=False)

    @decorator
    class Below(Base):
        """One field more."""

        last: int = 3

    @decorator
    class Own:
        """Equal if parity is."""

        size: int

        def __eq__(self, other: object) -> bool:
            parity = getattr(other, "size", None)
            return isinstance(parity, int) and self.size % 2 == parity % 2

        def __hash__(self) -> int:
            return self.size % 2

        def __repr__(self) -> str:
            return "own"

    return Base, Below, Own


RECORDS = _classes(record)
FROZEN = _classes(dataclass(frozen=True))


NAN = float("nan")  # whose hash is that of the object


def _values(classes: tuple[Any, Any, Any]) -> list[Any]:
    base, below, own = classes
    return [
        base(1),
        base(1, note="other"),
        base(1, ("a",)),
        base(size=2, names=("a",)),
        base(1, hidden=NAN),
        replace(base(1), size=2, names=("a",)),
        below(1),
        below(1, ("a",), "", 0.5, 4),
        own(1),
        own(3),
        own(4),
        (1, (), 0.5),
    ]


def test_records_compare_and_hash_as_frozen_dataclasses_do() -> None:
    made, wanted = _values(RECORDS), _values(FROZEN)
    for n in range(len(made)):
        assert [made[n] == other for other in made] == [wanted[n] == other for other in wanted]
        assert hash(made[n]) == hash(wanted[n])
    assert len(set(made)) == len(set(wanted))


def test_records_have_fields_and_texts_of_dataclasses() -> None:
    for made, wanted in zip(_values(RECORDS)[:-1], _values(FROZEN)[:-1], strict=True):
        assert repr(made) == repr(wanted)
        assert [f.name for f in fields(made)] == [f.name for f in fields(wanted)]
        assert made.__match_args__ == wanted.__match_args__


def test_arguments_of_a_record_are_checked() -> None:
    for _ in range(2):  # by the constructor that is there first, too
        with pytest.raises(TypeError, match="size"):
            RECORDS[0]()


def _written(decorator: Any, base: type = object) -> Any:
    """A class whose constructor does all that one of a dataclass may do."""

    @decorator
    class Written(base):
        """Fields that are made, named, left out and followed by more work."""

        size: int
        seen: list[int] = field(default_factory=list)
        total: int = field(default=0, init=False)
        parts: dict[str, int] = field(default_factory=dict, init=False)
        _: KW_ONLY
        name: str
        note: str = "none"

        def __post_init__(self) -> None:
            self.parts["size"] = self.size

    return Written


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(record, dataclass(frozen=True)), (mutable_record, dataclass)],
)
def test_constructors_do_what_those_of_dataclasses_do(ours: Any, theirs: Any) -> None:
    made, wanted = _written(ours), _written(theirs)
    for kind in (made, wanted):
        with pytest.raises(TypeError, match="name"):
            kind(1)
        with pytest.raises(TypeError, match="total"):
            kind(1, name="a", total=2)
        with pytest.raises(TypeError, match="positional"):
            kind(1, [], "a")
    for given in ({}, {"seen": [1]}, {"note": "b"}):
        one = made(2, name="a", **given)
        assert repr(one) == repr(wanted(2, name="a", **given))
        assert one == made(2, name="a", **given) != made(3, name="a", **given)
    assert made(1, name="a").seen is not made(1, name="a").seen


def test_mutable_records_have_no_hash() -> None:
    kind = _written(mutable_record)
    one = kind(1, name="a")
    one.name = "b"
    assert one == kind(1, name="b")
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_records_of_frozen_dataclasses_are_frozen() -> None:
    @dataclass(frozen=True)
    class Base:
        """What passes inherit from."""

        size: int = 1

    one = _written(record, Base)(2, name="a")
    assert one.size == 2
    with pytest.raises(FrozenInstanceError):
        one.size = 3
