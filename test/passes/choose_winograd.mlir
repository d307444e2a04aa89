// RUN: lamina-opt %s -p 'choose-winograd{target=x86-64-v4}' --split-input-file | filecheck %s
// RUN: lamina-opt %s -p 'choose-winograd{target=x86-64-v4 print-decisions=true}' --split-input-file -o /dev/null 2>&1 | filecheck %s --check-prefix=LOG
// RUN: lamina-opt %s -p 'choose-winograd{target="x86-64-v4;l3_bytes=8388608"}' --split-input-file | filecheck %s --check-prefix=SMALL

// Windows of 3x3 in steps of one, channels innermost, weights constant, many channels.
func.func @main(%x: tensor<1x28x28x64xf32> {lamina.kind = "input", lamina.name = "x"}, %w: tensor<64x64x3x3xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<1x28x28x64xf32> {
  %r = loop.generic (n, y, x, o, i, j, c) in [1, 28, 28, 64, 3, 3, 64] reads(%x[n, y + i - 1, x + j - 1, c] pad 0.0 : f32 : tensor<1x28x28x64xf32>, %w[o, c, i, j] : tensor<64x64x3x3xf32>) writes([n, y, x, o] add : tensor<1x28x28x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<1x28x28x64xf32>
}
// CHECK-LABEL: @main
// CHECK:         loop.generic (d0, d1, d2, d3, d4, d5, d6) in [1, 28, 28, 64, 3, 3, 64]
// CHECK-SAME:    attributes {lamina.winograd = "line"}
// LOG: choose-winograd: {{.*}}: F(2x2, 3x3) takes {{.*}} us, windows {{.*}} us: chosen

// -----

// Of few channels, what stands around the products costs more than they save.
func.func @main(%x: tensor<1x28x28x8xf32> {lamina.kind = "input", lamina.name = "x"}, %w: tensor<8x8x3x3xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<1x28x28x8xf32> {
  %r = loop.generic (n, y, x, o, i, j, c) in [1, 28, 28, 8, 3, 3, 8] reads(%x[n, y + i - 1, x + j - 1, c] pad 0.0 : f32 : tensor<1x28x28x8xf32>, %w[o, c, i, j] : tensor<8x8x3x3xf32>) writes([n, y, x, o] add : tensor<1x28x28x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<1x28x28x8xf32>
}
// CHECK-LABEL: @main
// CHECK:         loop.generic (d0, d1, d2, d3, d4, d5, d6) in [1, 28, 28, 8, 3, 3, 8]
// CHECK-NOT:     lamina.winograd
// LOG: choose-winograd: {{.*}}: left

// -----

// Weights that come with the call, and windows in steps of two, stay.
func.func @main(%x: tensor<1x29x29x64xf32> {lamina.kind = "input", lamina.name = "x"}, %v: tensor<64x64x3x3xf32> {lamina.kind = "input", lamina.name = "v"}, %w: tensor<64x64x3x3xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> (tensor<1x26x26x64xf32>, tensor<1x14x14x64xf32>) {
  %r = loop.generic (n, y, x, o, i, j, c) in [1, 26, 26, 64, 3, 3, 64] reads(%x[n, y + i, x + j, c] : tensor<1x29x29x64xf32>, %v[o, c, i, j] : tensor<64x64x3x3xf32>) writes([n, y, x, o] add : tensor<1x26x26x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    loop.yield %p : f32
  }
  %s = loop.generic (n, y, x, o, i, j, c) in [1, 14, 14, 64, 3, 3, 64] reads(%x[n, 2 * y + i, 2 * x + j, c] : tensor<1x29x29x64xf32>, %w[o, c, i, j] : tensor<64x64x3x3xf32>) writes([n, y, x, o] add : tensor<1x14x14x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    loop.yield %p : f32
  }
  func.return %r, %s : tensor<1x26x26x64xf32>, tensor<1x14x14x64xf32>
}
// CHECK-LABEL: @main
// CHECK-NOT:     lamina.winograd

// -----

// An image stored by channels has no vectors of channels.
func.func @main(%x: tensor<1x64x28x28xf32> {lamina.kind = "input", lamina.name = "x"}, %w: tensor<64x64x3x3xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<1x64x28x28xf32> {
  %r = loop.generic (n, o, y, x, c, i, j) in [1, 64, 28, 28, 64, 3, 3] reads(%x[n, c, y + i - 1, x + j - 1] pad 0.0 : f32 : tensor<1x64x28x28xf32>, %w[o, c, i, j] : tensor<64x64x3x3xf32>) writes([n, o, y, x] add : tensor<1x64x28x28xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<1x64x28x28xf32>
}
// CHECK-LABEL: @main
// CHECK-NOT:     lamina.winograd

// -----

// Tiles and products, 6.4 MB, are stored once and read once: a last-level cache of 8 MB has them.
func.func @stored_and_read(%x: tensor<1x56x56x64xf32> {lamina.kind = "input", lamina.name = "x"}, %w: tensor<64x64x3x3xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<1x56x56x64xf32> {
  %r = loop.generic (n, y, x, o, i, j, c) in [1, 56, 56, 64, 3, 3, 64] reads(%x[n, y + i - 1, x + j - 1, c] pad 0.0 : f32 : tensor<1x56x56x64xf32>, %w[o, c, i, j] : tensor<64x64x3x3xf32>) writes([n, y, x, o] add : tensor<1x56x56x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<1x56x56x64xf32>
}
// CHECK-LABEL: @stored_and_read
// CHECK:         attributes {lamina.winograd = "line"}
// SMALL-LABEL: @stored_and_read
// SMALL:         attributes {lamina.winograd = "line"}

// -----

// Of many images tiles and products of one line are stored, in the same place for each, where one kernel makes all.
func.func @line_by_line(%x: tensor<8x112x112x64xf32> {lamina.kind = "input", lamina.name = "x"}, %w: tensor<64x64x3x3xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<8x112x112x64xf32> {
  %r = loop.generic (n, y, x, o, i, j, c) in [8, 112, 112, 64, 3, 3, 64] reads(%x[n, y + i - 1, x + j - 1, c] pad 0.0 : f32 : tensor<8x112x112x64xf32>, %w[o, c, i, j] : tensor<64x64x3x3xf32>) writes([n, y, x, o] add : tensor<8x112x112x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<8x112x112x64xf32>
}
// CHECK-LABEL: @line_by_line
// CHECK:         attributes {lamina.winograd = "line"}
// SMALL-LABEL: @line_by_line
// SMALL:         attributes {lamina.winograd = "line"}
