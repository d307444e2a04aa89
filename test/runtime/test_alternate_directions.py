"""Recurrent layers whose second step walks its weights backwards, beside eager mode."""

import numpy as np
import pytest
import torch

import lamina

TEXT = """func.func @main(%x: tensor<RxKxf32>, %w: tensor<KxCxf32> {lamina.name = "w",
    lamina.kind = "parameter"}) -> tensor<RxCxf32> {
  %0 = aten.mm.default(%x, %w) : (tensor<RxKxf32>, tensor<KxCxf32>) -> tensor<RxCxf32>
  func.return %0 : tensor<RxCxf32>
}""".replace("K", "96")
RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("steps", [4, 7])
def test_steps_of_a_large_layer_are_what_eager_mode_has(steps: int) -> None:
    layer = torch.nn.LSTM(512, 512, batch_first=True).eval()
    x = torch.randn(1, steps, 512)
    with torch.no_grad():
        compiled = lamina.compile(torch.export.export(layer, (x,)), target="host;l2_bytes=1048576")
        assert "_back(" in compiled.ir("scheduled")
        assert "lamina.backward" in compiled.ir("scheduled")
        wanted, (h, c) = layer(x)
        for _ in range(2):
            found, (own_h, own_c) = compiled(x)
            torch.testing.assert_close(found, wanted)
            torch.testing.assert_close(own_h, h)
            torch.testing.assert_close(own_c, c)
    names = [kernel.name for kernel in compiled.kernels]
    assert not any(name.endswith("_back") for name in names)  # they are calls of the same kernel


@pytest.mark.parametrize(("l2_bytes", "chosen"), [(1 << 20, True), (1 << 25, False)])
def test_a_text_forbids_or_asks_for_directions(l2_bytes: int, chosen: bool) -> None:
    layer = torch.nn.LSTM(512, 512, batch_first=True).eval()
    x, target = torch.randn(1, 5, 512), f"host;l2_bytes={l2_bytes}"
    with torch.no_grad():
        program = torch.export.export(layer, (x,))
        wanted, _ = layer(x)
    kernels = lamina.compile(program, target=target).kernels
    # the step's product has one row, that of all steps has five in a block
    products = {k.name: k.schedule for k in kernels if "#loop.products<" in (k.schedule or "")}
    ((name, schedule),) = ((n, s) for n, s in products.items() if s and "block" not in s)
    assert ("alternate>" in schedule) == chosen
    said, rest = schedule.removesuffix("]").split(">", 1)
    other = "alternate = false" if chosen else "alternate"
    given = f"{said.removesuffix(', alternate')}, {other}>{rest}]"
    compiled = lamina.compile(program, target=target, schedules={name: given})
    assert ("_back(" in compiled.ir("scheduled")) != chosen
    torch.testing.assert_close(compiled(x)[0], wanted)


def test_a_text_that_no_loop_can_carry_out_is_refused() -> None:
    text = TEXT.replace("R", "1").replace("C", "320")
    w = RANDOM.standard_normal((96, 320), np.float32)
    kernels = lamina.compile(text, constants={"w": w}).kernels
    (kernel,) = (k for k in kernels if k.schedule and "loop.products" in k.schedule)
    assert kernel.schedule is not None
    given = kernel.schedule.replace(">", ", alternate>", 1)
    with pytest.raises(lamina.InputError, match="alternate: of kernels that are called in a loop"):
        lamina.compile(text, constants={"w": w}, schedules={kernel.name: given})


@pytest.mark.parametrize("parallel", ["parallel", "parallel = false"])
@pytest.mark.parametrize(("rows", "columns", "most"), [(1, 320, 5), (3, 1000, 4), (1, 6144, 64)])
def test_products_are_the_same_in_either_direction(
    parallel: str, rows: int, columns: int, most: int
) -> None:
    text = TEXT.replace("R", str(rows)).replace("C", str(columns))
    x = RANDOM.standard_normal((rows, 96), np.float32)
    w = RANDOM.standard_normal((96, columns), np.float32)
    forward = lamina.compile(text, constants={"w": w})
    (kernel,) = (k for k in forward.kernels if k.schedule and "loop.products" in k.schedule)
    assert kernel.schedule is not None
    nests = kernel.schedule[kernel.schedule.index("#loop.schedule") :]
    for columns_of_tasks in (most, 1):
        given = f"[#loop.products<{parallel}, columns = {columns_of_tasks}, backward>, {nests}"
        backward = lamina.compile(text, constants={"w": w}, schedules={kernel.name: given})
        np.testing.assert_array_equal(backward(x), forward(x))
