"""`Compiled.save` and `lamina.load`: equal results, and messages for files that are not whole."""

import json
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import lamina
from lamina.runtime import saved
from lamina.runtime.buffers import live_bytes
from lamina.runtime.saved_sums import sums_digest

TEXT = """
func.func @main(%x: tensor<4x8xf32> {lamina.name = "x"},
                %w: tensor<8x8xf32> {lamina.kind = "parameter", lamina.name = "w"})
    -> (tensor<4x8xf32>, tensor<4xi64>) {
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %0 = aten.mm.default(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = aten.add.Tensor(%0, %c) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %2 = aten.argmax.default(%1, dim = 1) : (tensor<4x8xf32>) -> tensor<4xi64>
  func.return %1, %2 : tensor<4x8xf32>, tensor<4xi64>
}
"""
COUNTER = """
func.func @main(%x: tensor<2xf32>, %n: tensor<2xf32> {lamina.kind = "buffer", lamina.name = "n"})
    -> tensor<2xf32> {
  %0 = aten.add_.Tensor(%n, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = aten.mul.Scalar(%0, 1.0) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
func.func @more(%x: tensor<2xf32>, %n: tensor<2xf32> {lamina.kind = "buffer", lamina.name = "n"})
    -> tensor<2xf32> {
  %0 = aten.add.Tensor(%n, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
"""
X = np.random.default_rng(0).standard_normal((4, 8), np.float32)


@pytest.fixture
def compiled() -> lamina.Compiled:
    w = np.random.default_rng(1).standard_normal((8, 8), np.float32)
    return lamina.compile(TEXT, constants={"w": w})


@pytest.fixture
def file(compiled: lamina.Compiled, tmp_path: Path) -> Path:
    compiled.save(tmp_path / "program.lamina")
    return tmp_path / "program.lamina"


def test_a_loaded_program_gives_the_same(compiled: lamina.Compiled, file: Path) -> None:
    loaded = lamina.load(file)
    for ours, wanted in zip(loaded(x=X), compiled(X), strict=True):
        np.testing.assert_array_equal(ours, wanted)
    assert loaded.inputs == compiled.inputs and loaded.outputs == compiled.outputs
    assert str(loaded.kernels) == str(compiled.kernels)
    with pytest.raises(lamina.ArgumentError, match=r"argument 0 \('x'\): expected shape 4x8"):
        loaded(X[:2])
    with pytest.raises(lamina.InputError, match="compile the program from its source"):
        loaded.ir("loop")
    assert [path.name for path in file.parent.iterdir()] == [file.name], "nothing else is left"


def test_a_loaded_program_can_be_saved(file: Path, tmp_path: Path) -> None:
    lamina.load(file).save(tmp_path / "again")
    np.testing.assert_array_equal(lamina.load(tmp_path / "again")(X)[0], lamina.load(file)(X)[0])


def test_entries_share_buffers_as_they_were_when_saved(tmp_path: Path) -> None:
    compiled = lamina.compile(COUNTER, constants={"n": np.zeros(2, np.float32)})
    compiled(np.ones(2, np.float32))
    compiled.save(tmp_path / "counter")
    loaded = lamina.load(tmp_path / "counter")
    one = np.ones(2, np.float32)
    np.testing.assert_array_equal(loaded(one), [2, 2])
    np.testing.assert_array_equal(loaded.entries["more"](one), [3, 3])
    np.testing.assert_array_equal(compiled.entries["more"](one), [2, 2])


LOADING = """
import sys
import numpy as np
import lamina
program = lamina.load(sys.argv[1])
lowering = any(name.startswith("lamina.lowering.prims") for name in sys.modules)
print("torch" in sys.modules, lowering)
np.save(sys.argv[2], program(np.load(sys.argv[3]))[0])
"""


def test_another_process_without_a_cache_loads_without_compiling(
    compiled: lamina.Compiled, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(tmp_path / "empty"))
    np.save(tmp_path / "x.npy", X)
    command = [sys.executable, "-c", LOADING, str(file), "y.npy", "x.npy"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert made.stdout.split() == ["False", "False"], "neither torch nor lowerings are imported"
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), compiled(X)[0])
    assert not list((tmp_path / "empty").rglob("*.lamina")), "nothing was compiled"


def refusal(path: Path) -> str:
    with pytest.raises(lamina.LaminaError) as caught:
        lamina.load(path)
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)
    return str(caught.value)


def test_every_truncation_and_change_is_told(file: Path) -> None:
    whole = file.read_bytes()
    (length,) = struct.unpack_from("<Q", whole, len(saved.MAGIC) + 4)
    head = json.loads(whole[saved._PREFIX.size :][:length])
    start = -(-(saved._PREFIX.size + length) // 64) * 64
    inside = [start + place["at"] + place["bytes"] // 2 for place in head["blocks"]]
    for size in (0, 5, len(saved.MAGIC), saved._PREFIX.size, 200, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        assert "cannot load" in refusal(file)
    for place in (0, len(saved.MAGIC) + 5, len(saved.MAGIC) + 20, saved._PREFIX.size + 7, *inside):
        bad = bytearray(whole)
        bad[place] ^= 0x10
        file.write_bytes(bytes(bad))
        assert "cannot load" in refusal(file)


def rewritten(file: Path, change: str) -> None:
    """Changes the text of the head, with a digest that fits."""
    import hashlib

    whole = file.read_bytes()
    magic, version, length, _ = saved._PREFIX.unpack_from(whole)
    head = json.loads(whole[saved._PREFIX.size :][:length])
    exec(change, {"head": head})
    text = json.dumps(head).encode()
    blocks = whole[-(-(saved._PREFIX.size + length) // 64) * 64 :]
    prefix = saved._PREFIX.pack(magic, version, len(text), hashlib.sha256(text).digest())
    file.write_bytes((prefix + text).ljust(-(-len(prefix + text) // 64) * 64, b"\0") + blocks)


def test_code_of_another_cpu(file: Path) -> None:
    rewritten(file, 'head["entries"]["main"]["target"]["features"] += ",+abacus"')
    assert "this CPU" in refusal(file) and "lacks abacus" in refusal(file)
    rewritten(file, 'head["entries"]["main"]["target"]["triple"] = "vax-unknown-linux"')
    assert "its code is for vax" in refusal(file)


def test_a_newer_form_and_other_files(file: Path, tmp_path: Path) -> None:
    whole = bytearray(file.read_bytes())
    whole[len(saved.MAGIC)] = 9
    file.write_bytes(bytes(whole))
    assert "its form is version 9" in refusal(file)
    assert "No such file" in refusal(tmp_path / "nothing")
    assert "Is a directory" in refusal(tmp_path)
    (tmp_path / "text").write_text("func.func @main() {}")
    assert "it is no program" in refusal(tmp_path / "text")


def test_what_cannot_be_saved(compiled: lamina.Compiled, tmp_path: Path) -> None:
    with pytest.raises(lamina.InputError, match=r"cannot save '.*': No such file"):
        compiled.save(tmp_path / "none" / "program")
    with pytest.raises(lamina.ExecutionError, match="another machine"):
        lamina.compile(TEXT, target="aarch64").save(tmp_path / "foreign")


WEIGHT = np.random.default_rng(2).standard_normal((1024, 2048)).astype(np.float32)
LARGE = """
func.func @main(%x: tensor<1x1024xf32>, %w: tensor<1024x2048xf32> {lamina.kind = "parameter",
    lamina.name = "w"}) -> tensor<1x2048xf32> {
  %0 = aten.mm.default(%x, %w) : (tensor<1x1024xf32>, tensor<1024x2048xf32>) -> tensor<1x2048xf32>
  func.return %0 : tensor<1x2048xf32>
}
"""


@pytest.mark.parametrize("mapped", [True, False])
def test_weights_stay_in_the_file_if_mapped(mapped: bool, tmp_path: Path) -> None:
    compiled = lamina.compile(LARGE, constants={"w": WEIGHT})
    compiled.save(tmp_path / "large")
    before = live_bytes()
    loaded = lamina.load(tmp_path / "large", mapped=mapped)
    taken = live_bytes() - before
    assert taken < 1 << 20 if mapped else taken >= WEIGHT.nbytes
    x = np.ones((1, 1024), np.float32)
    np.testing.assert_array_equal(loaded(x), compiled(x))
    compiled.save(tmp_path / "large")  # a new file; the program goes on with the one it has
    np.testing.assert_array_equal(loaded(x), compiled(x))


def test_what_a_program_writes_stays_in_memory(tmp_path: Path) -> None:
    lamina.compile(COUNTER, constants={"n": np.zeros(2, np.float32)}).save(tmp_path / "counter")
    written = (tmp_path / "counter").read_bytes()
    loaded, other = lamina.load(tmp_path / "counter"), lamina.load(tmp_path / "counter")
    one = np.ones(2, np.float32)
    np.testing.assert_array_equal(loaded(one), [1, 1])
    np.testing.assert_array_equal(loaded(one), [2, 2])
    np.testing.assert_array_equal(other(one), [1, 1])
    assert (tmp_path / "counter").read_bytes() == written


def _negated_reals(words: np.ndarray) -> None:
    np.negative(words.view(np.float64), out=words.view(np.float64))


def _swapped_pages(words: np.ndarray) -> None:
    words[:512], words[512:1024] = words[512:1024].copy(), words[:512].copy()


DAMAGE: dict[str, Callable[[np.ndarray], None]] = {
    "one bit": lambda words: words.__setitem__(77_777, words[77_777] ^ np.uint64(1 << 63)),
    "all signs": _negated_reals,
    "swapped pages": _swapped_pages,
    "moved by a word": lambda words: words.__setitem__(slice(None), np.roll(words, 1)),
    "zeros": lambda words: words[-100:].fill(0),
    "reversed": lambda words: words.__setitem__(slice(None), words[::-1].copy()),
    "bytes swapped": lambda words: words.byteswap(inplace=True).size and None,
}


@pytest.mark.parametrize("words", [1 << 17, 2047 * 64, 300_001])
@pytest.mark.parametrize("damage", DAMAGE)
def test_sums_tell_damage(damage: str, words: int) -> None:
    data = np.random.default_rng(3).integers(0, 1 << 64, words, np.uint64)
    whole = sums_digest(memoryview(data))
    assert sums_digest(memoryview(data[:-1])) != whole
    DAMAGE[damage](data)
    assert sums_digest(memoryview(data)) != whole


def nested_net() -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(8, 3)

        def forward(self, x: Any, pair: Any, *, scale: Any, mode: str = "sum") -> Any:
            total = x * pair[0] + pair[1] if mode == "sum" else x
            return {"y": self.layer(total) * scale["by"], "all": [Both(total, None), 3]}

    pair = (torch.rand(4, 8), torch.rand(4, 8))
    keywords = {"scale": {"by": torch.tensor(2.0)}, "mode": "sum"}
    return Net().eval(), (torch.randn(4, 8), pair), keywords


class Both(NamedTuple):
    """What a result nests in."""

    total: Any
    nothing: Any


def test_arguments_and_results_of_an_exported_program_nest_as_they_did(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    net, (x, pair), keywords = nested_net()
    lamina.compile(torch.export.export(net, (x, pair), keywords)).save(tmp_path / "net")
    loaded = lamina.load(tmp_path / "net")
    made, wanted = loaded(x, pair, **keywords), net(x, pair, **keywords)
    assert list(made) == ["y", "all"] and made["all"][0]._fields == ("total", "nothing")
    torch.testing.assert_close(made, {**wanted, "all": [made["all"][0], 3]})
    torch.testing.assert_close(tuple(made["all"][0]), tuple(wanted["all"][0]))
    arrays = loaded(x.numpy(), pair=tuple(p.numpy() for p in pair), scale={"by": 2.0}, mode="sum")
    np.testing.assert_array_equal(arrays["y"], made["y"].numpy())
    loaded.save(tmp_path / "again")
    torch.testing.assert_close(lamina.load(tmp_path / "again")(x, pair, **keywords)["y"], made["y"])

    by = keywords["scale"]
    for args, kwargs, said in (
        ((x,), keywords, r"expected 2 positional arguments \(x, pair\), got 1"),
        ((x, list(pair)), keywords, r"argument 'pair': expected \(\*, \*\), got \[\*, \*\]"),
        ((x, pair), {"scale": by}, r"expected keywords \['mode', 'scale'\], got \['scale'\]"),
        ((x, pair), {"scale": {}, "mode": "sum"}, r"argument 'scale': expected \{'by': \*\}"),
        ((x, pair), {"scale": by, "mode": "x"}, r"argument 'mode': .* made for 'sum' .*, got 'x'"),
    ):
        with pytest.raises(lamina.ArgumentError, match=said):
            loaded(*args, **kwargs)


def test_results_in_types_of_users_are_flat_when_loaded(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    class Pair:
        def __init__(self, a: Any, b: Any) -> None:
            self.a, self.b = a, b

    class Net(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return Pair(x + 1, x * 2)

    torch.utils._pytree.register_pytree_node(
        Pair, lambda p: ((p.a, p.b), None), lambda parts, _: Pair(*parts)
    )
    lamina.compile(torch.export.export(Net(), (torch.ones(2),))).save(tmp_path / "net")
    made = lamina.load(tmp_path / "net")(np.ones(2, np.float32))
    np.testing.assert_array_equal(made, [[2, 2], [2, 2]])


def test_extern_kernels_are_looked_up_where_the_program_is_loaded(tmp_path: Path) -> None:
    library = lamina.extend("saved_library")
    library.extern_kernel("saved_library.half")(lambda x: x / 2)
    text = """
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = prims.extern([%x], "saved_library.half", "{}") : (tensor<2xf32>) -> (tensor<2xf32>)
      func.return %0 : tensor<2xf32>
    }"""
    with library:
        lamina.compile(text).save(tmp_path / "program")
        loaded = lamina.load(tmp_path / "program")
        np.testing.assert_array_equal(loaded(np.ones(2, np.float32)), [0.5, 0.5])
    with pytest.raises(lamina.UnsupportedError, match=r"registered as 'saved_library\.half'"):
        lamina.load(tmp_path / "program")
