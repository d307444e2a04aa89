// RUN: lamina-opt %s -p 'pad-windows,fuse-elementwise' --split-input-file | filecheck %s

// Windows of three that overlap: the border is written once, what makes the image is computed there.
func.func @depthwise(%x: tensor<6x20x20xf32>, %w: tensor<6x3x3xf32>) -> tensor<6x20x20xf32> {
  %n = loop.generic (c, y, x) in [6, 20, 20] reads(%x[c, y, x] : tensor<6x20x20xf32>) writes([c, y, x] store : tensor<6x20x20xf32>) attributes {lamina.op = "exp"} {
  ^bb0(%a: f32):
    %v = math.exp %a : f32
    loop.yield %v : f32
  }
  %r = loop.generic (c, y, x, j, i) in [6, 20, 20, 3, 3] reads(%n[c, y + j + -1, x + i + -1] pad 0.0 : f32 : tensor<6x20x20xf32>, %w[c, j, i] : tensor<6x3x3xf32>) writes([c, y, x] add : tensor<6x20x20xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<6x20x20xf32>
}
// CHECK-LABEL: @depthwise
// CHECK-NEXT:    [[P:%\S+]] = loop.generic (d0, d1, d2) in [6, 22, 22]
// CHECK-SAME:    writes([d0, d1, d2] store : tensor<6x22x22xf32>) attributes {lamina.op = ["exp", "pad"], lamina.materialized}
// CHECK:         math.exp
// CHECK:         loop.generic (d0, d1, d2, d3, d4) in [6, 20, 20, 3, 3]
// CHECK-SAME:    reads([[P]][d0, d1 + d3, d2 + d4] : tensor<6x22x22xf32>, %w[d0, d3, d4] : tensor<6x3x3xf32>)

// -----

// Windows side by side read each element once: they test positions themselves.
func.func @apart(%x: tensor<6x19xf32>) -> tensor<6x10xf32> {
  %r = loop.generic (c, x, i) in [6, 10, 2] reads(%x[c, x * 2 + i + -1] pad 0.0 : f32 : tensor<6x19xf32>) writes([c, x] max : tensor<6x10xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %r : tensor<6x10xf32>
}
// CHECK-LABEL: @apart
// CHECK-NEXT:    loop.generic (d0, d1, d2) in [6, 10, 2] reads(%x[d0, ((d1 * 2) + d2) + -1] pad

// -----

// A padded sum of rows slides over nothing.
func.func @rows(%x: tensor<6x19xf32>) -> tensor<6xf32> {
  %r = loop.generic (c, i) in [6, 21] reads(%x[c, i + -1] pad 0.0 : f32 : tensor<6x19xf32>) writes([c] add : tensor<6xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %r : tensor<6xf32>
}
// CHECK-LABEL: @rows
// CHECK-NEXT:    loop.generic (d0, d1) in [6, 21] reads(%x[d0, d1 + -1] pad
