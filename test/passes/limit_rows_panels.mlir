// RUN: lamina-opt %s -p limit-rows --split-input-file | filecheck %s

// A product whose columns end at %n reads no lane of panels behind that: what packs them needs so many positions of what it reads, and the kernel in front makes no more.
// CHECK-LABEL: func.func @main(
// CHECK-LABEL: func.func private @made(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1], live = [8, arg1 of 64]>
// CHECK-LABEL: func.func private @product(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1], live = [16, arg2 of 64]>
func.func @main(%x: tensor<8x64xf32>, %w: tensor<16x8xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<16x64xf32> {lamina.sizes = [-1, 0]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @made(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %1 = func.call @pack(%0) : (tensor<8x64xf32>) -> tensor<2x8x32xf32>
  %2 = func.call @product(%1, %w) : (tensor<2x8x32xf32>, tensor<16x8xf32>) -> tensor<16x64xf32>
  %3 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %2, %3 : tensor<16x64xf32>, tensor<i64>
}
func.func private @made(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [8, 64] reads(%x[i, j] : tensor<8x64xf32>) writes([i, j] store : tensor<8x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    %b = arith.addf %a, %a : f32
    loop.yield %b : f32
  }
  func.return %0 : tensor<8x64xf32>
}
func.func private @pack(%x: tensor<8x64xf32>) -> tensor<2x8x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (g, k, n) in [2, 8, 32] reads(%x[k, g * 32 + n] : tensor<8x64xf32>) writes([g, k, n] store : tensor<2x8x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<2x8x32xf32>
}
func.func private @product(%p: tensor<2x8x32xf32>, %w: tensor<16x8xf32>) -> tensor<16x64xf32> attributes {lamina.kernel} {
  %0 = loop.generic (m, n, k) in [16, 64, 8] reads(%p[n floordiv 32, k, n mod 32] : tensor<2x8x32xf32>, %w[m, k] : tensor<16x8xf32>) writes([m, n] add : tensor<16x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32, pack_at = call>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<16x64xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// Where somebody takes all panels, all is made.
// CHECK-LABEL: func.func @whole(
// CHECK-LABEL: func.func private @made(
// CHECK-NOT:     live
// CHECK-LABEL: func.func private @pack(
func.func @whole(%x: tensor<8x64xf32>, %w: tensor<16x8xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<16x64xf32> {lamina.sizes = [-1, 0]}, tensor<i64> {lamina.kind = "size"}, tensor<2x8x32xf32>) {
  %0 = func.call @made(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %1 = func.call @pack(%0) : (tensor<8x64xf32>) -> tensor<2x8x32xf32>
  %2 = func.call @product(%1, %w) : (tensor<2x8x32xf32>, tensor<16x8xf32>) -> tensor<16x64xf32>
  %3 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %2, %3, %1 : tensor<16x64xf32>, tensor<i64>, tensor<2x8x32xf32>
}
func.func private @made(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [8, 64] reads(%x[i, j] : tensor<8x64xf32>) writes([i, j] store : tensor<8x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    %b = arith.addf %a, %a : f32
    loop.yield %b : f32
  }
  func.return %0 : tensor<8x64xf32>
}
func.func private @pack(%x: tensor<8x64xf32>) -> tensor<2x8x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (g, k, n) in [2, 8, 32] reads(%x[k, g * 32 + n] : tensor<8x64xf32>) writes([g, k, n] store : tensor<2x8x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<2x8x32xf32>
}
func.func private @product(%p: tensor<2x8x32xf32>, %w: tensor<16x8xf32>) -> tensor<16x64xf32> attributes {lamina.kernel} {
  %0 = loop.generic (m, n, k) in [16, 64, 8] reads(%p[n floordiv 32, k, n mod 32] : tensor<2x8x32xf32>, %w[m, k] : tensor<16x8xf32>) writes([m, n] add : tensor<16x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32, pack_at = call>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<16x64xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// Columns that are pairs of positions, both of which end at %n, end at the number of pairs up to the last first position:
// panels end at a number of columns, not at one of each group of 64.
// CHECK-LABEL: func.func @pairs(
// CHECK-LABEL: func.func private @product(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1], live = [4, arg2 of 4096]>
// CHECK:         arith.constant 64 : i64
// CHECK:         arith.muli
func.func @pairs(%x: tensor<4x4096xf32>, %w: tensor<4x4xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<4x64x64xf32> {lamina.sizes = [-1, 0, 0]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @product(%x, %w) : (tensor<4x4096xf32>, tensor<4x4xf32>) -> tensor<4x4096xf32>
  %1 = func.call @read(%0) : (tensor<4x4096xf32>) -> tensor<4x64x64xf32>
  %2 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %1, %2 : tensor<4x64x64xf32>, tensor<i64>
}
func.func private @product(%x: tensor<4x4096xf32>, %w: tensor<4x4xf32>) -> tensor<4x4096xf32> attributes {lamina.kernel} {
  %0 = loop.generic (m, n, k) in [4, 4096, 4] reads(%w[m, k] : tensor<4x4xf32>, %x[k, n] : tensor<4x4096xf32>) writes([m, n] add : tensor<4x4096xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32, pack_at = task>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<4x4096xf32>
}
func.func private @read(%y: tensor<4x4096xf32>) -> tensor<4x64x64xf32> attributes {lamina.kernel} {
  %0 = loop.generic (m, i, j) in [4, 64, 64] reads(%y[m, i * 64 + j] : tensor<4x4096xf32>) writes([m, i, j] store : tensor<4x64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    %e = math.exp %a : f32
    loop.yield %e : f32
  }
  func.return %0 : tensor<4x64x64xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}
