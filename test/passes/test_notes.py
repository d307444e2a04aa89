"""Notes on nests and kernels, changed in the text: a message, or the result that it was."""

import re

import numpy as np
import pytest
from pass_trials import trial

import lamina
from lamina.dialects.errors import LaminaError

NOTE = re.compile(
    r"lamina\.(nest|packing|stream|bounds|cost|nanoseconds)( = (#loop\.\w+<[^>]*>|\d+ : i64))?"
)
OTHERS = (
    *("#loop.nest<rows = []>", "#loop.nest<rows = [d0]>", "#loop.nest<rows = [d1]>"),
    *("#loop.nest<rows = [d1, d0]>", "#loop.nest<rows = [d0, d1]>", "#loop.nest<rows = [d7]>"),
    *("#loop.nest<rows = [d0], part = 1>", "#loop.nest<part = 3>", "#loop.nest<>"),
    *("#loop.packing<panel = 16>", "#loop.packing<panel = 4>", "#loop.packing<panel = 3>"),
    *("#loop.packing<panel = 16, pack_at = call>", "#loop.packing<panel = 16, pack_at = task>"),
    *("#loop.packing<panel = 32, pairs = 1>", "0 : i64", "16 : i64", '"x"'),
)


@pytest.mark.parametrize("state", ["merge-small-kernels", "inline-regions", "plan-memory"])
@pytest.mark.parametrize("name", ["product", "pieces"])
def test_wrong_notes(name: str, state: str) -> None:
    program = trial(name)
    text = program.texts[state]
    changes = [(note, other) for note in NOTE.finditer(text) for other in OTHERS]
    picked = np.random.default_rng(5).permutation(len(changes))[:12]
    for note, other in (changes[number] for number in picked):
        changed = f"{text[: note.start()]}lamina.{note[1]} = {other}{text[note.end() :]}"
        try:
            module = lamina.parse(changed)
            found = lamina.compile(module, cache=False)(*program.copies())
        except LaminaError:
            continue
        results = found if isinstance(found, tuple) else (found,)
        for got, wanted in zip(results, program.wanted, strict=True):
            said = f"{note[0]} became {other}\n{changed}"
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5, err_msg=said)


def test_product_stays_packed_when_layouts_are_folded_again() -> None:
    program = trial("product")
    from lamina.dialects.context import Context
    from lamina.lowering.pipeline import run_pipeline

    module = program.module("loop-cse")
    run_pipeline(module, ["pack-contractions", "fold-layout", "fold-layout"], Context())
    module.verify()
    assert "lamina.packing" in str(module)
    assert program.check(module, native=True) is None
