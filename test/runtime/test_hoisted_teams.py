"""Recurrent layers whose steps are the work of one team, on several threads, beside eager mode."""

import itertools
import threading

import pytest
import torch

import lamina

KINDS = {"LSTM": torch.nn.LSTM, "GRU": torch.nn.GRU}


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_steps_of_a_team_are_what_eager_mode_has(kind: str, count: int) -> None:
    torch.manual_seed(0)
    layer = KINDS[kind](320, 320, 2, batch_first=True).eval()
    x, before = torch.randn(1, 9, 320), torch.get_num_threads()
    with torch.no_grad():
        program = torch.export.export(layer, (x,))
        wanted, _ = layer(x)
    compiled = lamina.compile(program)
    flat = lamina.compile(program, pipeline=lamina.Pipeline().drop("hoist-teams"))
    assert _team_around_loop(compiled)
    assert not _team_around_loop(flat)
    torch.set_num_threads(count)
    try:
        for _ in range(20):
            found, _ = compiled(x)
            torch.testing.assert_close(found, wanted)
            torch.testing.assert_close(found, flat(x)[0], rtol=0, atol=0)
    finally:
        torch.set_num_threads(before)


def test_callers_on_two_threads_have_steps_of_their_own() -> None:
    torch.manual_seed(0)
    layer = torch.nn.LSTM(320, 320, batch_first=True).eval()
    given = [torch.randn(1, 8, 320) for _ in range(2)]
    with torch.no_grad():
        compiled = lamina.compile(torch.export.export(layer, (given[0],)))
        wanted = [layer(x)[0] for x in given]
    found: list[torch.Tensor | None] = [None, None]

    def call(number: int) -> None:
        for _ in range(30):
            made, _ = compiled(given[number])
            if not torch.allclose(made, wanted[number], atol=1e-5):
                return
        found[number] = made

    callers = [threading.Thread(target=call, args=(n,)) for n in range(2)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    for made, right in zip(found, wanted, strict=True):
        assert made is not None
        torch.testing.assert_close(made, right)


def test_kernels_of_steps_are_measured_one_by_one() -> None:
    layer = torch.nn.LSTM(320, 320, batch_first=True).eval()
    x = torch.randn(1, 8, 320)
    with torch.no_grad():
        compiled = lamina.compile(torch.export.export(layer, (x,)))
    assert _team_around_loop(compiled)
    kernels = compiled.measure(x, repeats=3)
    assert all((kernel.measured_us or 0) >= 0 for kernel in kernels)
    assert {kernel.calls for kernel in kernels} >= {8}


def _team_around_loop(compiled: lamina.Compiled) -> bool:
    lines = [line.strip() for line in compiled.ir("scheduled").splitlines()]
    pairs = itertools.pairwise(lines)
    return any(one == "loop.team {" and two.startswith("scf.for") for one, two in pairs)
