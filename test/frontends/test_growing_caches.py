"""`torch.compile` with caches that grow from call to call: how many versions they take."""

from __future__ import annotations

from typing import Any

import pytest

import lamina

torch: Any = pytest.importorskip("torch", reason="the front end is torch's")


class LargeCache(torch.nn.Module):
    """A cache of 4 million elements at 128 positions, which its readers mask."""

    def forward(self, x: Any, cache: Any) -> Any:
        cache = torch.cat([cache, x], 1)
        return cache.mean(2).softmax(-1), cache


def test_a_large_cache_that_grows() -> None:
    compiled = torch.compile(LargeCache(), backend="lamina")
    before = lamina.compile_count()
    cache = torch.randn(1, 60, 1 << 15)
    for _ in range(8):
        x = torch.randn(1, 1, 1 << 15)
        found, grown = compiled(x, cache)
        wanted, cache = LargeCache()(x, cache)
        torch.testing.assert_close(found, wanted)
        assert torch.equal(grown, cache)
    assert lamina.compile_count() == before + 2  # 60; up to 256, as of small ones


class Step(torch.nn.Module):
    """A step of a decoder: `groups` queries for each head of keys, none of which is masked."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, query: Any, key: Any, value: Any, keys: Any, values: Any) -> Any:
        keys, values = torch.cat([keys, key], 2), torch.cat([values, value], 2)
        seen = torch.nn.functional.scaled_dot_product_attention(
            query, self.repeated(keys), self.repeated(values)
        )
        return seen, keys, values

    def repeated(self, heads: Any) -> Any:
        """Each head for all queries of its group, one behind the other."""
        if self.groups == 1:
            return heads
        return heads.unsqueeze(2).expand(-1, -1, self.groups, -1, -1).flatten(1, 2)


def exported(count: int, least: int, most: int) -> Any:
    """A step of eight heads of 32, traced with caches of so many positions."""
    size = torch.export.Dim("size", min=least, max=most)
    shapes = [*[(1, 8, 1, 32)] * 3, *[(1, 8, count, 32)] * 2]
    return torch.export.export(
        Step(1),
        tuple(map(torch.randn, shapes)),
        dynamic_shapes=({}, {}, {}, {2: size}, {2: size}),
    )


@pytest.mark.parametrize("groups", [1, 2])
def test_one_version_for_a_long_generation(groups: int) -> None:
    """Of a call behind one full of infinities nothing is read that it has not written."""
    torch._dynamo.reset()
    model = Step(groups)
    compiled = torch.compile(model, backend="lamina")
    before = lamina.compile_count()
    shapes = [(1, 4 * groups, 1, 16), (1, 4, 1, 16), (1, 4, 1, 16)]
    keys, values = torch.randn(1, 4, 11, 16), torch.randn(1, 4, 11, 16)
    for count in (11, 12, 900, 13, 64, 300, 1000, 2, 257):
        given = [torch.randn(shape) for shape in shapes]
        keys, values = torch.randn(1, 4, count, 16), torch.randn(1, 4, count, 16)
        found = compiled(*given, keys, values)
        for one, other in zip(found, model(*given, keys, values), strict=True):
            torch.testing.assert_close(one, other)
        if count in (900, 1000):
            compiled(*given, torch.full_like(keys, torch.inf), torch.full_like(values, torch.nan))
    assert lamina.compile_count() == before + 2  # of 11 positions; of up to 1,024


def test_values_are_read_from_the_cache() -> None:
    """The sum of weights and values is cut at the positions that count, and the cache is made once,
    not again with zeros behind these."""
    compiled = lamina.compile(exported(300, least=257, most=1024), versions="padded")
    text = compiled.sizes[0].compiled.ir("fused")
    assert text.count("lamina.cut") == 1
    main = text[: text.index("func.func private")]
    calls = [line for line in main.splitlines() if "call @" in line]
    assert sum("1x8x1025x32xf32>\n" in f"{line}\n" for line in calls) == 2


def test_exported_caches_have_room() -> None:
    """A size of which a result has one more grows, whoever brings the program."""
    compiled = lamina.compile(exported(20, least=2, most=4000), versions="padded")
    for count in (3, 1000):
        given = [torch.randn(1, 8, 1, 32) for _ in range(3)]
        caches = [torch.randn(1, 8, count, 32) for _ in range(2)]
        for one, other in zip(compiled(*given, *caches), Step(1)(*given, *caches), strict=True):
            torch.testing.assert_close(one, other)
    assert [list(version.sizes.values()) for version in compiled.sizes] == [[1024]]


class Framed(torch.nn.Module):
    """An image with a frame, and how much each line has of it."""

    def forward(self, x: Any) -> Any:
        framed = torch.nn.functional.pad(x, (1, 1, 1, 1))
        return framed, framed.softmax(1)


def test_framed_images_do_not_grow() -> None:
    height, width = (torch.export.Dim(name, min=2, max=4000) for name in ("height", "width"))
    program = torch.export.export(
        Framed(), (torch.randn(3, 20, 30),), dynamic_shapes=({1: height, 2: width},)
    )
    compiled = lamina.compile(program, versions="padded")
    x = torch.randn(3, 5, 7)
    for one, other in zip(compiled(x), Framed()(x), strict=True):
        torch.testing.assert_close(one, other)
    assert all(max(version.sizes.values()) < 1024 for version in compiled.sizes)
