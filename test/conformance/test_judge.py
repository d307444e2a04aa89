"""The rule for results that eager mode itself has only roughly."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from judge import is_no_worse  # noqa: E402

INFO = SimpleNamespace(decorators=())


@pytest.mark.parametrize(
    ("exact", "expected", "actual", "admitted"),
    [
        ([1.0, 9.0], [1.2, 9.0], [1.1, 9.0], True),  # nearer where it differs
        ([1.0, 9.0], [1.1, 9.0], [1.2, 9.0], False),  # further
        ([1.0, 9.0], [1.2, 9.0], [1.1, 9.2], False),  # nearer in one, apart and further in another
        ([1.0, 900.0], [1.2, 900.1], [1.1, 900.3], True),  # further where the tolerance admits it
        ([1.0, 2.0], [1.0, float("nan")], [1.0, 2.0], False),  # NaN in another place
        ([1.0, 2.0], [1.0, float("inf")], [1.0, float("-inf")], False),
    ],
)
def test_elements_outside_the_tolerance_must_be_nearer(
    exact: list[float], expected: list[float], actual: list[float], admitted: bool
) -> None:
    """Default tolerance of f16: a thousandth."""
    one, other = (torch.tensor(values, dtype=torch.float16) for values in (expected, actual))
    assert is_no_worse(torch.tensor(exact).double(), one, other, INFO) is admitted
