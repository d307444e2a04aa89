"""Sizes that seem to be numbers of features: one number until another comes (`feature_sizes`)."""

from __future__ import annotations

from typing import Any

import pytest

import lamina

torch: Any = pytest.importorskip("torch")
from dynamo_calls import check  # noqa: E402

nn = torch.nn

pytestmark = pytest.mark.one_in(2)


@pytest.fixture(autouse=True)
def _fresh() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


def test_features_are_one_number_until_another_comes() -> None:
    """Updates of rows, of one width and then of others: two versions take all of them."""
    before = lamina.compile_count()

    def calls(count: int, updates: int, width: int) -> tuple[Any, ...]:
        at = torch.randint(0, count, (updates,))
        return torch.randn(count, width), at, torch.randn(updates, width)

    sizes = [(5, 7, 16), (90, 200, 16), (3, 2, 16), (5, 7, 12), (4, 9, 33), (6, 7, 16)]
    check(lambda x, i, s: x.index_add(0, i, s), [calls(*given) for given in sizes], graphs=1)
    assert lamina.compile_count() == before + 2


def test_features_of_one_batch() -> None:
    """Dynamo has no symbol for one batch: its features are numbers as those of more batches."""
    before = lamina.compile_count()
    given = [(torch.randn(1, *shape),) for shape in ((7, 16), (30, 16), (5, 12), (9, 33))]
    check(lambda x: x.softmax(-1), given, graphs=1)
    assert lamina.compile_count() == before + 2


def test_one_size_that_varies_is_no_number_of_features() -> None:
    """Of one row of one batch the last dimension may be a length."""
    before = lamina.compile_count()
    given = [(torch.randn(1, 1, length),) for length in (20, 33, 50, 64)]
    check(lambda x: x.softmax(-1), given, graphs=1)
    assert lamina.compile_count() == before + 1


def test_lengths_are_no_features() -> None:
    """Of tokens and masks the last dimension varies: one version takes all lengths."""
    before = lamina.compile_count()
    table = torch.randn(50, 8)
    given = [(table, torch.randint(0, 50, shape)) for shape in ((2, 5), (3, 9), (2, 30))]
    check(lambda table, tokens: table[tokens].cos(), given, graphs=1)
    assert lamina.compile_count() == before + 1


def test_lengths_of_waves_are_no_features() -> None:
    """Where a weight says how many channels there are, the last dimension is a length."""
    before = lamina.compile_count()
    given = [(torch.randn(2, 3, length),) for length in (20, 33, 50, 64)]
    check(nn.Sequential(nn.Conv1d(3, 4, 5), nn.ReLU()), given, graphs=1)
    assert lamina.compile_count() == before + 1


def test_pairs_of_features_are_turned_in_place() -> None:
    def rotary(x: Any, angles: Any) -> Any:
        pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * torch.view_as_complex(angles)).flatten(-2)

    shapes = [(3, 5, 6, 8), (4, 9, 2, 8), (5, 17, 4, 20)]
    calls = [(torch.randn(*s), torch.randn(s[1], 1, s[3] // 2, 2)) for s in shapes]
    before = lamina.compile_count()
    check(rotary, calls, graphs=1)
    assert lamina.compile_count() == before + 2  # of one number of features, and of any
